//! Links of the probe chain in the whole product: tools that are called, processes, memory, files and addresses.

use std::fs::File;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::{Duration, SystemTime};

use harness::{Session, Setup, Signal, Value, initialize, json, notification, tool_call};

use crate::rig::{EAGER, JSON_LOG, QUICK_STOP, SUSPICIOUS, events, setup, wait_event};

/// A call is suspect soon, and then these links are asked.
fn suspicious(chain: &str) -> Setup {
    setup()
        .options(JSON_LOG)
        .options(QUICK_STOP)
        .options(SUSPICIOUS)
        .options(["--set", &format!("probe.chain={chain}")])
}

/// All of these links have to pass at short intervals, and one failure is enough.
fn checked(chain: &str) -> Setup {
    let probe = ["probe.mode=all", &format!("probe.chain={chain}"), "health.threshold=1"];
    setup()
        .options(JSON_LOG)
        .options(QUICK_STOP)
        .options(EAGER)
        .options(["--health-interval", "150ms", "--on-unhealthy", "restart"])
        .options(probe.iter().flat_map(|setting| ["--set", setting]))
}

/// Why the chain failed.
#[track_caller]
fn failure(session: &Session) -> String {
    let event = wait_event(session, "probe_failed");
    event["data"]["error"].as_str().unwrap_or_default().to_owned()
}

fn first_reason(session: &Session) -> Value {
    wait_event(session, "server_disconnected")["data"]["reason"].clone()
}

#[test]
fn a_tool_that_answers_as_expected_is_life() {
    let session = suspicious("[{type: tool_call, tool: echo, arguments: {text: it is up}, expect: 'up$'}]").start();
    session.initialize();
    session.send(tool_call(1, "sleep_ms", json!({ "ms": 1000 })));
    assert_eq!(session.answer(1).text(), "slept 1000 ms");
    assert_eq!(session.life(), 1);
    let calls = session.read_by(Some(1), "tools/call");
    let probed = calls.iter().find(|call| call["params"]["name"] == "echo").expect("the probe has called its tool");
    assert_eq!(probed["params"]["arguments"]["text"], "it is up");
    assert_eq!(events(&session, "probe_failed").len(), 0);
    session.finish();
}

#[test]
fn a_tool_that_answers_something_else_gets_the_server_replaced() {
    let session = suspicious("[{type: tool_call, tool: echo, arguments: {text: it is down}, expect: 'up$'}]").start();
    session.initialize();
    session.send(tool_call(1, "silence", json!({})));
    let _ = session.answer(1).own_error("request_timeout");
    assert_eq!(session.life(), 2);
    assert_eq!(failure(&session), "tool_call: the answer of echo does not match \"up$\": \"it is down\"");
    assert_eq!(first_reason(&session), "probe-failure");
    session.finish();
}

#[test]
fn a_server_that_leaks_is_restarted_between_two_calls() {
    // The call is there from the beginning on, so that no check comes before it.
    let session = checked("[{type: ping}, {type: memory, limit: 1MiB}]").start();
    session.send_all([
        initialize(0, "2025-11-25"),
        notification("notifications/initialized", json!({})),
        tool_call(1, "sleep_ms", json!({ "ms": 1000 })),
    ]);
    assert_eq!(session.answer(1).text(), "slept 1000 ms", "a call is not cut short");
    let busy = wait_event(&session, "probe_busy");
    let evidence = busy["data"]["evidence"].as_str().unwrap_or_default();
    assert!(evidence.ends_with("MiB of memory in use, above the limit of 1MiB, with 1 in flight"), "{evidence}");
    session.wait_life(2);
    assert_eq!(first_reason(&session), "health");
    assert!(failure(&session).ends_with("MiB of memory in use, above the limit of 1MiB"), "{}", failure(&session));
    session.finish();
}

#[test]
fn a_process_that_is_stopped_is_told_from_one_that_is_there() {
    let session = suspicious("[{type: process}, {type: ping}]").start();
    session.initialize();
    session.send(tool_call(1, "sleep_ms", json!({ "ms": 1000 })));
    assert_eq!(session.answer(1).text(), "slept 1000 ms");
    assert_eq!(session.life(), 1);
    assert!(!session.read_by(Some(1), "ping").is_empty(), "that it is there does not end the chain");
    session.signal_server(Signal::SIGSTOP);
    session.send(tool_call(2, "life", json!({})));
    let _ = session.answer(2).own_error("request_timeout");
    assert_eq!(session.life(), 2);
    let told = failure(&session);
    assert!(told.starts_with("process: the process is stopped, by a signal or a debugger; ping: no answer"), "{told}");
    session.finish();
}

#[test]
fn a_heartbeat_is_life_while_it_is_fresh_and_missed_once_the_server_is_old_enough() {
    let session = suspicious("[{type: file, path: beat, max_age: 200ms}]").start();
    let beat = File::create(session.folder().join("beat")).expect("the folder can be written to");
    beat.set_modified(SystemTime::now() + Duration::from_secs(3600)).expect("the file is ours");
    session.initialize();
    session.send(tool_call(1, "sleep_ms", json!({ "ms": 1000 })));
    assert_eq!(session.answer(1).text(), "slept 1000 ms");
    wait_event(&session, "tool_timeout");
    assert_eq!(session.life(), 1);

    std::fs::remove_file(session.folder().join("beat")).expect("it is there");
    session.send(tool_call(2, "silence", json!({})));
    let _ = session.answer(2).own_error("request_timeout");
    assert_eq!(failure(&session), "file: beat does not exist");
    assert_eq!(session.life(), 2);
    session.finish();
}

#[test]
fn an_http_address_and_a_port_decide() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
    let address = listener.local_addr().expect("it is bound");
    let unwell = std::thread::spawn(move || {
        // The first connection is that of the port's link.
        drop(listener.accept());
        let (mut stream, _) = listener.accept().expect("the probe connects");
        let mut asked = [0; 1024];
        let read = stream.read(&mut asked).expect("it asks");
        stream.write_all(b"HTTP/1.1 503 Unwell\r\ncontent-length: 0\r\n\r\n").expect("it listens");
        String::from_utf8_lossy(&asked[..read]).into_owned()
    });
    let chain = format!("[{{type: tcp, address: '{address}'}}, {{type: http, url: 'http://{address}/health'}}]");
    let session = suspicious(&chain).options(["--set", "probe.mode=all"]).start();
    session.initialize();
    session.send(tool_call(1, "silence", json!({})));
    let _ = session.answer(1).own_error("request_timeout");
    assert_eq!(failure(&session), format!("http: GET {address}/health answered 503, not 200-399"));
    let asked = unwell.join().expect("nobody panics");
    assert!(asked.starts_with("GET /health HTTP/1.1\r\n"), "{asked}");
    session.finish();
}

#[test]
fn a_server_that_computes_is_busy() {
    let session = suspicious("[{type: cpu, window: 100ms}]").start();
    session.initialize();
    session.send(tool_call(1, "spin", json!({ "ms": 1000 })));
    assert_eq!(session.answer(1).text(), "spun");
    let evidence = wait_event(&session, "probe_busy")["data"]["evidence"].clone();
    assert!(evidence.as_str().is_some_and(|told| told.starts_with("cpu: used ")), "{evidence}");
    assert_eq!(session.life(), 1);
    session.finish();
}

#[test]
fn options_of_links_are_read_before_anything_is_started() {
    for (chain, told) in [
        ("[{type: tool_call}]", "probe \"tool_call\": missing field `tool`"),
        ("[{type: memory, limit: much}]", "probe \"memory\": \"much\" is not a size (write 64KiB, 1MiB, 2GiB,"),
        ("[{type: http, url: 'https://localhost/'}]", "use a link of `type: exec` that runs curl"),
    ] {
        let session = suspicious(chain).start();
        session.wait_stderr(told);
        assert_eq!(session.life(), 0, "{chain}");
        session.ended(78);
    }
}
