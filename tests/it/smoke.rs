//! The shortest story: a call is answered, the server is killed, the next call is answered by the next server.

use harness::{Setup, json, tool_call};

use crate::rig::{JSON_LOG, setup, wait_event};

#[test]
fn a_call_before_and_after_the_death_of_the_server() {
    let session = Setup::new(env!("CARGO_BIN_EXE_mcp-watchdog-under-test"), env!("CARGO_BIN_EXE_mcp-fixture")).start();
    let opening = session.initialize();
    assert_eq!(opening.result()["serverInfo"]["name"], "mcp-fixture");
    session.send(tool_call(1, "life", json!({})));
    assert_eq!(session.answer(1).text(), "1");

    session.kill_server();
    session.wait_life(2);
    session.send(tool_call("two", "life", json!({})));
    assert_eq!(session.answer("two").text(), "2");
    assert_eq!(session.read_by(Some(2), "initialize").len(), 1, "the handshake is replayed");
    session.finish();
}

#[test]
fn a_server_is_connected_only_when_its_process_is_known_however_soon_it_answers() {
    for _ in 0..5 {
        let session = setup().options(JSON_LOG).start();
        session.initialize();
        let connected = wait_event(&session, "server_connected");
        assert!(connected["data"]["pid"].is_u64(), "{connected}");
        session.finish();
    }
}
