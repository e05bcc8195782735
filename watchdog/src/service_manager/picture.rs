//! All servers at one moment, as a service manager wants to know of them. Pure.
//!
//! `READY=1` ends the start of a service, which others may wait for and which a manager gives up after a while. It means that the
//! first start of every server that starts by itself is over, well or badly: one that never comes up must hold up neither the
//! others nor the service. (`health --startup` waits for it; what is up is what `health --ready` and `STATUS=` say.) The server of
//! a sidecar is up when its process runs, since its session begins with the client, who may wait for this service.

use std::fmt::Write;

use crate::core::slot::SlotSnapshot;

/// The words for states, in the order in which they are told.
const WORDS: [&str; 9] = [
    "connected",
    "degraded",
    "connecting",
    "reconnecting",
    "failed",
    "standby",
    "disconnected",
    "disabling",
    "disabled",
];

/// One server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Server {
    word: &'static str,
    attempt: u32,
    started: bool,
}

impl Server {
    /// A server by its picture. `connected_once` tells whether it has ever been connected, `served` whether clients come to it
    /// through a socket.
    pub(super) fn of(slot: &SlotSnapshot, connected_once: bool, served: bool) -> Self {
        let waited_for = slot.enabled && !slot.lazy;
        let over = connected_once || slot.last_error.is_some() || slot.state == "PermanentlyFailed";
        let runs = !served && slot.pid.is_some();
        Self { word: word(slot), attempt: slot.attempts, started: !waited_for || over || runs }
    }
}

fn word(slot: &SlotSnapshot) -> &'static str {
    match slot.state {
        "Connected" if slot.degraded => "degraded",
        "PermanentlyFailed" => "failed",
        "Disconnected" | "Disabling" if slot.standby => "standby",
        state => WORDS.into_iter().find(|word| word.eq_ignore_ascii_case(state)).unwrap_or(state),
    }
}

/// Whether the service is up.
pub(super) fn is_up(servers: &[Server]) -> bool {
    servers.iter().all(|server| server.started)
}

/// One line for people, such as `3 servers: 2 connected, 1 reconnecting (attempt 4)`.
pub(super) fn status(servers: &[Server]) -> String {
    let mut text = match servers.len() {
        1 => "1 server: ".to_owned(),
        count => format!("{count} servers: "),
    };
    let groups = WORDS.into_iter().filter_map(|word| {
        let members = servers.iter().filter(|server| server.word == word);
        let (count, attempt) = members.fold((0, 0), |(count, most), server| (count + 1, server.attempt.max(most)));
        (count > 0).then_some((word, count, attempt))
    });
    for (at, (word, count, attempt)) in groups.enumerate() {
        let comma = if at == 0 { "" } else { ", " };
        // Writing to a string cannot fail.
        _ = write!(text, "{comma}{count} {word}");
        if matches!(word, "connecting" | "reconnecting") && attempt > 1 {
            _ = write!(text, " ({}attempt {attempt})", if count > 1 { "up to " } else { "" });
        }
    }
    if servers.is_empty() {
        text.push_str("none is configured");
    }
    text
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::core::slot::{Role, Slot};
    use crate::core::testing::server;

    fn picture(change: impl FnOnce(&mut SlotSnapshot)) -> SlotSnapshot {
        let mut picture = Slot::new(Arc::new(server()), Role::default(), 1).snapshot();
        picture.state = "Connecting";
        change(&mut picture);
        picture
    }

    fn is_started(connected_once: bool, served: bool, change: impl FnOnce(&mut SlotSnapshot)) -> bool {
        Server::of(&picture(change), connected_once, served).started
    }

    #[test]
    fn a_start_is_over_when_it_has_gone_well_or_badly() {
        assert!(!is_started(false, true, |_| {}));
        assert!(is_started(true, true, |_| {}));
        assert!(is_started(false, true, |picture| picture.last_error = Some("exit code 1".into())));
        assert!(is_started(false, true, |picture| picture.state = "PermanentlyFailed"));
    }

    #[test]
    fn nobody_waits_for_what_is_not_started_or_waits_itself() {
        assert!(is_started(false, true, |picture| picture.enabled = false));
        assert!(is_started(false, true, |picture| picture.lazy = true));
        assert!(is_started(false, false, |picture| picture.pid = Some(7)), "a sidecar's client may wait for us");
        assert!(!is_started(false, true, |picture| picture.pid = Some(7)), "a served one has a second to fail in");
        assert!(is_up(&[]));
    }

    #[test]
    fn the_line_counts_states_and_tells_the_attempt() {
        let of = |state, attempts| {
            let picture = picture(|picture| (picture.state, picture.attempts) = (state, attempts));
            Server::of(&picture, true, true)
        };
        assert_eq!(status(&[of("Connected", 0)]), "1 server: 1 connected");
        let servers = [of("Reconnecting", 4), of("Connected", 0), of("Connected", 9)];
        assert_eq!(status(&servers), "3 servers: 2 connected, 1 reconnecting (attempt 4)");
        let servers = [of("Connecting", 1), of("Reconnecting", 4), of("Reconnecting", 7), of("PermanentlyFailed", 5)];
        assert_eq!(status(&servers), "4 servers: 1 connecting, 2 reconnecting (up to attempt 7), 1 failed");
        let idle = picture(|slot| (slot.state, slot.standby) = ("Disconnected", true));
        assert_eq!(status(&[Server::of(&idle, true, true)]), "1 server: 1 standby");
        assert_eq!(status(&[]), "0 servers: none is configured");
        let degraded = picture(|picture| (picture.state, picture.degraded) = ("Connected", true));
        assert_eq!(status(&[Server::of(&degraded, true, true)]), "1 server: 1 degraded");
    }
}

#[cfg(test)]
pub(super) mod testing {
    use super::Server;

    pub(in crate::service_manager) const fn starting() -> Server {
        Server { word: "connecting", attempt: 1, started: false }
    }

    pub(in crate::service_manager) const fn up() -> Server {
        Server { word: "connected", attempt: 0, started: true }
    }
}
