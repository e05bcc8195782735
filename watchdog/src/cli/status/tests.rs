use serde_json::json;

use super::*;
use crate::client::Endpoint;

/// A server of the watchdog with this process.
pub(super) fn row(pid: u32, server: Server) -> Row {
    Row { watchdog: Watchdog::new(Endpoint::Unix(format!("/run/w-{pid}.sock").into()), None), server }
}

fn view(states: &[&str]) -> View {
    let server = |state: &&str| Server { state: (*state).to_owned(), ..Server::default() };
    View { rows: states.iter().map(|state| row(1, server(state))).collect(), problems: Vec::new() }
}

/// control-plane.md, section 5.
#[test]
fn the_worst_server_decides_the_exit_code() {
    let code = |states: &[&str]| view(states).exit().code();
    assert_eq!(code(&["Connected"]), 0);
    assert_eq!(code(&["Connected", "Connected"]), 0);
    assert_eq!(code(&["Connected", "Reconnecting"]), 1);
    assert_eq!((code(&["Connecting"]), code(&["Dreaming"])), (1, 1));
    assert_eq!(code(&["Reconnecting", "Disabled", "Connected"]), 3);
    assert_eq!((code(&["PermanentlyFailed"]), code(&["Disconnected"]), code(&["Disabling"])), (3, 3, 3));
}

#[test]
fn a_degraded_server_and_a_silent_watchdog_are_not_all_well() {
    let mut degraded = view(&["Connected"]);
    degraded.rows[0].server.health_status = Some("degraded".to_owned());
    assert_eq!(degraded.exit().code(), 1);
    let mut silent = view(&["Connected"]);
    silent.problems.push("it does not answer".to_owned());
    assert_eq!(silent.exit().code(), 1);
    assert!(view(&["Connected"]).satisfies(Condition::Connected) && !silent.satisfies(Condition::Connected));
}

#[test]
fn json_has_all_that_the_watchdog_says_and_who_it_is() {
    let raw = json!({ "name": "a", "state": "Connected", "mood": "fine" });
    let server = Server { raw: raw.as_object().cloned().unwrap(), ..Server::default() };
    let object = serde_json::to_value(row(7, server).object()).unwrap();
    assert_eq!(
        object,
        json!({ "name": "a", "state": "Connected", "mood": "fine",
                "watchdog": { "pid": 7, "socket": "/run/w-7.sock" } })
    );
}
