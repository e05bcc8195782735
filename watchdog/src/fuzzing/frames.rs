//! What processes of the same binary say to each other, one of which may have been taken over by a plugin.

use super::feed::{Feed, cut};
use crate::guard::message::{self as guarded, Frames};

/// Frames and bodies between engine and guard: what is read is what was written, however the stream is cut.
pub fn guard(bytes: &[u8]) {
    for body in bodies(bytes, Frames::default(), Frames::default()) {
        if let Ok(order) = guarded::Order::from_body(&body) {
            let frame = order.to_frame().unwrap_or_else(|| panic!("what came in a frame goes into one"));
            assert_eq!(guarded::Order::from_body(&frame[4..]), Ok(order));
        }
        if let Ok(event) = guarded::ChildEvent::from_body(&body) {
            let frame = event.to_frame().unwrap_or_else(|| panic!("what came in a frame goes into one"));
            assert_eq!(frame[4..], body, "an event has one form");
        }
    }
}

/// The bodies of a stream, which are the same however it is cut; and all of the input as one body, so that a target is not kept
/// busy by lengths.
fn bodies(bytes: &[u8], mut whole: Frames, mut pieces: Frames) -> Vec<Vec<u8>> {
    let mut feed = Feed::new(bytes);
    let lengths = feed.lengths();
    let stream = feed.rest();
    let mut found = Vec::new();
    whole.push(stream);
    while let Ok(Some(body)) = whole.next() {
        found.push(body);
    }
    let mut same = Vec::new();
    for piece in cut(stream, &lengths) {
        pieces.push(piece);
        while let Ok(Some(body)) = pieces.next() {
            same.push(body);
        }
    }
    assert_eq!(same, found);
    assert_eq!(pieces.next().is_err(), whole.next().is_err());
    found.push(stream.to_vec());
    found
}

#[cfg(feature = "plugins")]
pub use hosted::plugin;

#[cfg(feature = "plugins")]
mod hosted {
    use serde::Serialize;
    use serde::de::DeserializeOwned;

    use super::{Frames, bodies};
    use crate::probe_host::message::{LONGEST_REPORT, Order, Report, from_body, to_frame};

    /// The same between engine and probe host, whose frames are JSON.
    pub fn plugin(bytes: &[u8]) {
        let frames = || Frames::new(LONGEST_REPORT);
        for body in bodies(bytes, frames(), frames()) {
            round_trip::<Report>(&body);
            round_trip::<Order>(&body);
        }
    }

    fn round_trip<T: Serialize + DeserializeOwned>(body: &[u8]) {
        let Some(message) = from_body::<T>(body) else { return };
        // Numbers and escapes may be longer than they were.
        let Some(frame) = to_frame(&message, u32::MAX) else { return };
        let Some(again) = from_body::<T>(&frame[4..]) else { panic!("what we write is not read") };
        assert_eq!(to_frame(&again, u32::MAX), Some(frame));
    }
}
