use super::*;

const ALL: [Code; 10] = [
    Code::ServerDisconnected,
    Code::RequestTimeout,
    Code::RestartInProgress,
    Code::RestartFailed,
    Code::ServerDisabled,
    Code::PermanentlyFailed,
    Code::Reconnecting,
    Code::Overloaded,
    Code::MessageTooLarge,
    Code::ServerNotFound,
];

fn refusal(code: Code) -> Refusal {
    Refusal { code, reason: "why", message: "what".to_owned(), sent: true, read_only: false, restarted: None }
}

/// The table of contract.md.
#[test]
fn the_codes_are_those_of_the_contract() {
    let table: Vec<_> = ALL.map(|code| (code.number(), code.name(), code.retryable(false))).to_vec();
    assert_eq!(
        table,
        [
            (-31000, "server_disconnected", false),
            (-31001, "request_timeout", false),
            (-31002, "mcp_restart_in_progress", true),
            (-31003, "mcp_restart_failed", true),
            (-31004, "server_disabled", false),
            (-31005, "server_permanently_failed", true),
            (-31006, "server_reconnecting", true),
            (-31007, "overloaded", true),
            (-31008, "message_too_large", false),
            (-31009, "server_not_found", false),
        ]
    );
    assert!(ALL.iter().all(|code| !(-32768..=-32000).contains(&code.number())), "MCP reserves that range");
    let read_only: Vec<_> = ALL.iter().filter(|code| code.retryable(true) != code.retryable(false)).collect();
    assert_eq!(read_only, [&Code::ServerDisconnected], "only a lost request depends on what it was");
}

#[test]
fn data_always_holds_what_the_contract_promises() {
    let bare = refusal(Code::Overloaded).data(&Circumstances { server: "s", state: "Connected", ..Default::default() });
    assert_eq!(
        bare,
        json!({
            "source": "mcp-watchdog", "code": "overloaded", "server": "s", "state": "Connected", "status": "",
            "generation": 0, "sent": true, "retryable": true, "reason": "why",
        })
    );
}

#[test]
fn data_holds_the_rest_where_it_is_known() {
    let tail = ["last words".to_owned()];
    let slot = Circumstances {
        last_attempt: 2,
        max_attempts: Some(5),
        next_retry_ms: Some(2000),
        last_error: Some("signal SIGKILL"),
        ending: Some(Ending::Signal(9)),
        stderr_tail: &tail,
        ..Default::default()
    };
    let data = refusal(Code::Reconnecting).data(&slot);
    assert_eq!(
        (&data["lastAttempt"], &data["maxAttempts"], &data["nextRetryMs"]),
        (&json!(2), &json!(5), &json!(2000))
    );
    assert_eq!((&data["lastError"], &data["exit"]), (&json!("signal SIGKILL"), &json!({"signal": "SIGKILL"})));
    assert_eq!(data["stderrTail"], json!(["last words"]));
    assert_eq!(Ending::Code(3).to_json(), json!({"code": 3}));
}

#[test]
fn s64_the_same_as_a_tool_result_that_hosts_show_to_the_model() {
    let slot = Circumstances { status: "retrying", last_attempt: 1, last_error: Some("gone"), ..Default::default() };
    let result = refusal(Code::Reconnecting).tool_result(&slot, false);
    assert_eq!(result["isError"], true);
    let text: Value = serde_json::from_str(result["content"][0]["text"].as_str().expect("text")).expect("JSON");
    let expected =
        json!({"error": "what", "status": "retrying", "lastAttempt": 1, "nextRetryMs": null, "lastError": "gone"});
    assert_eq!(text, expected);
    assert_eq!(result["_meta"]["mcp-watchdog/error"]["code"], -31006);
    assert!(result.get("resultType").is_none(), "a key of the stateless revision");
    assert_eq!(refusal(Code::Reconnecting).tool_result(&slot, true)["resultType"], "complete");
}
