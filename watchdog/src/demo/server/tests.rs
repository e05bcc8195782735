use super::*;

fn step(server: &mut Server, message: &Value) -> Step {
    server.step(&message.to_string())
}

/// The answer to a request.
fn said(server: &mut Server, method: &str, params: &Value) -> Value {
    let request = json!({ "jsonrpc": "2.0", "id": "x", "method": method, "params": params });
    match step(server, &request) {
        Step::Say(message) => {
            assert_eq!((&message["jsonrpc"], &message["id"]), (&json!("2.0"), &json!("x")));
            message
        }
        other => panic!("{other:?} instead of an answer"),
    }
}

fn opened() -> Server {
    let mut server = Server::default();
    let result = said(&mut server, "initialize", &json!({ "protocolVersion": HANDSHAKE }))["result"].take();
    assert_eq!(result["protocolVersion"], HANDSHAKE);
    server
}

#[test]
fn tools_are_there_after_the_handshake_only() {
    let mut server = Server::default();
    assert_eq!(said(&mut server, "tools/list", &json!({}))["error"]["code"], -32600);
    let listed = said(&mut opened(), "tools/list", &json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap();
    assert_eq!(tools.iter().map(|tool| &tool["name"]).collect::<Vec<_>>(), ["add", "pid", "slow", "hang"]);
    assert!(listed["result"].get("resultType").is_none(), "{listed}");
}

#[test]
fn the_revision_without_a_handshake_is_answered_too() {
    let meta = json!({ "_meta": { "io.modelcontextprotocol/protocolVersion": STATELESS } });
    let mut server = Server::default();
    let found = said(&mut server, "server/discover", &meta);
    assert_eq!(found["result"]["supportedVersions"][0], STATELESS);
    let listed = said(&mut server, "tools/list", &meta);
    assert_eq!(listed["result"]["resultType"], "complete");
}

#[test]
fn calls() {
    let mut server = opened();
    let mut call = |name: &str, arguments: Value| {
        let params = json!({ "name": name, "arguments": arguments });
        step(&mut server, &json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }))
    };
    let text =
        |text: &str| json!({ "jsonrpc": "2.0", "id": 1, "result": { "content": [{ "type": "text", "text": text }] } });
    assert_eq!(call("add", json!({ "a": 2, "b": -5 })), Step::Say(text("-3")));
    assert_eq!(call("add", json!({ "a": i64::MAX, "b": i64::MAX })), Step::Say(text("18446744073709551614")));
    assert_eq!(call("pid", json!({})), Step::Say(text(&std::process::id().to_string())));
    assert_eq!(call("slow", json!({ "ms": 7 })), Step::SayAfter(Duration::from_millis(7), text("done")));
    assert_eq!(call("slow", json!({ "ms": u64::MAX })), Step::SayAfter(Duration::from_secs(60), text("done")));
    assert_eq!(call("hang", json!({})), Step::Hang);
    assert!(matches!(call("add", json!({ "a": "2" })), Step::Say(error) if error["error"]["code"] == -32602));
    assert!(matches!(call("other", json!({})), Step::Say(error) if error["error"]["code"] == -32602));
}

#[test]
fn other_messages() {
    let mut server = opened();
    assert_eq!(said(&mut server, "ping", &json!({}))["result"], json!({}));
    assert_eq!(said(&mut server, "prompts/list", &json!({}))["error"]["code"], -32601);
    assert_eq!(step(&mut server, &json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })), Step::Nothing);
    assert_eq!(step(&mut server, &json!({ "jsonrpc": "2.0", "id": 1, "result": {} })), Step::Nothing);
    assert_eq!(step(&mut server, &json!([1])), Step::Nothing);
    let garbage = server.step("{");
    assert!(
        matches!(&garbage, Step::Say(error) if error["id"].is_null() && error["error"]["code"] == -32700),
        "{garbage:?}"
    );
}
