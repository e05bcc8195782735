//! Passing on what a line has led to while the line is still lent: it goes from one side's buffer to the other's, and nobody owns it
//! in between.
//!
//! What else a line leads to may touch the side that lends it, and is left to [`Driver::carry_out`].

#[cfg(doc)]
use super::Driver;
use super::Effect;
use crate::back::runtime::Runtime;
use crate::core::ids::Generation;
use crate::core::slot::{Outgoing, keep_given};
use crate::engine::Meter;
use crate::front::Front;
use crate::wire::framed::Framed;

/// Does what a line of the server leads to nearly always. Whether that was all; what is left needs the line no more.
#[inline]
pub(super) fn to_client(effects: &mut Vec<Effect>, line: &Framed<'_>, front: &mut Front, meter: &Meter) -> bool {
    let first_other = effects.iter().position(|effect| {
        match effect {
            Effect::Deliver(Outgoing::Given) => deliver(front, meter, line),
            Effect::Deliver(Outgoing::Made(line)) => deliver(front, meter, &line.into()),
            Effect::Count(count) => meter.count(*count),
            _ => return true,
        }
        false
    });
    is_all(effects, line, first_other)
}

/// The same of a line of the client.
#[inline]
pub(super) fn to_server(
    effects: &mut Vec<Effect>,
    line: &Framed<'_>,
    runtime: Option<&mut (Generation, Box<dyn Runtime>)>,
) -> bool {
    let mut runtime = runtime.map(|(_, runtime)| runtime);
    let first_other = effects.iter().position(|effect| {
        let Effect::Forward { line: outgoing, tag, urgent } = effect else { return true };
        if let Some(runtime) = &mut runtime {
            match outgoing {
                Outgoing::Given => runtime.send(line, *tag, *urgent),
                Outgoing::Made(line) => runtime.send(&line.into(), *tag, *urgent),
            }
        }
        false
    });
    is_all(effects, line, first_other)
}

#[inline]
fn is_all(effects: &mut Vec<Effect>, line: &Framed<'_>, first_other: Option<usize>) -> bool {
    match first_other {
        None => effects.clear(),
        Some(place) => leave(effects, line, place),
    }
    first_other.is_none()
}

/// Leaves the effects from a place on to who comes next.
#[cold]
#[inline(never)]
fn leave(effects: &mut Vec<Effect>, line: &Framed<'_>, place: usize) {
    effects.drain(..place);
    keep_given(effects, line);
}

/// Sends a line to the client.
#[inline]
pub(super) fn deliver(front: &mut Front, meter: &Meter, line: &Framed<'_>) {
    meter.messages_out.add(1);
    meter.bytes_out.add(line.len() as u64);
    front.send(line);
}
