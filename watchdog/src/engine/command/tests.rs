//! What is wrong is told with what helps.

use std::sync::Arc;

use super::*;
use crate::core::slot::{Role, Slot};
use crate::core::testing::server;

/// What a probe of such a server is answered.
fn refused(opened: bool, change: impl FnOnce(&mut SlotSnapshot)) -> String {
    let mut now = Slot::new(Arc::new(server()), Role::default(), 1).snapshot();
    change(&mut now);
    CommandError::not_connected("files", &now, opened).to_string()
}

#[test]
fn a_probe_that_cannot_be_made_names_the_remedy() {
    let stopped = |now: &mut SlotSnapshot| (now.state, now.standby) = ("Disconnected", true);
    assert_eq!(
        refused(true, stopped),
        "server \"files\" has no session to probe (state standby): `mcp-watchdog retry files` starts it, as the next \
         request does"
    );
    for (opened, state, pid, remedy) in [
        (true, "Disabled", None, "`mcp-watchdog enable files` "),
        (false, "Disabling", Some(7), "`mcp-watchdog enable files` "),
        (false, "Connected", Some(7), "`mcp-watchdog probe -- COMMAND` "),
        (false, "Connecting", Some(7), "`mcp-watchdog status files --wait connected` "),
        (false, "Connecting", None, "`mcp-watchdog retry files --wait 30s` "),
        (true, "Connected", Some(7), "`mcp-watchdog retry files --wait 30s` "),
        (true, "Reconnecting", None, "`mcp-watchdog retry files --wait 30s` "),
        (true, "PermanentlyFailed", None, "`mcp-watchdog retry files --wait 30s` "),
    ] {
        let text = refused(opened, |now| (now.state, now.pid) = (state, pid));
        assert!(text.contains(&format!("(state {state})")) && text.contains(remedy), "{text}");
    }
    let lazy = refused(false, stopped);
    assert!(lazy.contains("no client has opened one yet"), "a retry would not open one: {lazy}");
}

#[test]
fn a_wait_in_vain_tells_the_last_error_on_one_line() {
    let error = |last_error| CommandError::Timeout { server: "files".into(), state: "Connecting".into(), last_error };
    assert_eq!(error(None).to_string(), "server \"files\" is still Connecting");
    assert_eq!(
        error(Some("exit code 1\u{1b}[2J\nno licence".into())).to_string(),
        "server \"files\" is still Connecting (last error: exit code 1 no licence)"
    );
}
