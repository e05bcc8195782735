use probe_api::testing::{Answer, FakeContext};
use probe_api::{Snapshot, Trigger};

use super::*;

fn probe(options: Value) -> ToolCall {
    ToolCall::new(serde_json::from_value(options).unwrap()).unwrap()
}

fn verdict(options: Value, answer: Answer) -> Verdict {
    FakeContext::new().on("tools/call", answer).check(&mut probe(options))
}

fn said(texts: &[&str]) -> Value {
    let blocks: Vec<_> = texts.iter().map(|text| json!({ "type": "text", "text": text })).collect();
    json!({ "content": blocks })
}

#[test]
fn the_tool_is_called_in_the_form_of_the_era() {
    let mut probe = probe(json!({ "tool": "status", "arguments": { "deep": true } }));
    let cx = FakeContext::new().on("tools/call", Answer::Result(said(&["ok"])));
    assert_eq!(cx.check(&mut probe), Verdict::Pass);
    assert_eq!(cx.calls()[0].params, json!({ "name": "status", "arguments": { "deep": true } }));
    let cx = FakeContext::stateless().on("tools/call", Answer::Result(said(&["ok"])));
    assert_eq!(cx.check(&mut probe), Verdict::Pass);
    let params = &cx.calls()[0].params;
    assert_eq!((&params["name"], &params["arguments"]["deep"]), (&json!("status"), &json!(true)));
    assert_eq!(params["_meta"]["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
}

#[test]
fn before_the_session_no_tool_is_run() {
    let cx = FakeContext::with_snapshot(Snapshot::new("s", 1, Trigger::Periodic));
    assert_eq!(cx.check(&mut probe(json!({ "tool": "t" }))), Verdict::Unsupported);
    assert!(cx.calls().is_empty());
    assert_eq!(verdict(json!({ "tool": "t" }), Answer::Invalid), Verdict::Unsupported);
}

#[test]
fn the_answer_has_to_match_anywhere_in_its_text() {
    let expecting =
        |pattern: &str, texts: &[&str]| verdict(json!({ "tool": "t", "expect": pattern }), Answer::Result(said(texts)));
    assert_eq!(expecting("up", &["it is up"]), Verdict::Pass);
    assert_eq!(expecting("^a\nb$", &["a", "b"]), Verdict::Pass, "blocks are joined by newlines");
    assert_eq!(
        expecting("^up$", &["it is down"]),
        Verdict::Fail("the answer of t does not match \"^up$\": \"it is down\"".into())
    );
    let Verdict::Fail(reason) = expecting("y", &[&"x".repeat(5000)]) else { panic!() };
    assert!(reason.len() < 250, "{reason}");
    let image = json!({ "content": [{ "type": "image", "data": "up" }] });
    assert!(matches!(verdict(json!({ "tool": "t", "expect": "up" }), Answer::Result(image)), Verdict::Fail(_)));
}

#[test]
fn a_result_that_is_no_object_is_no_panic() {
    for result in [Value::Null, json!([1]), json!({ "content": 3 }), json!({ "content": [1, { "text": 2 }] })] {
        assert_eq!(verdict(json!({ "tool": "t" }), Answer::Result(result.clone())), Verdict::Pass, "{result}");
    }
}

#[test]
fn only_so_much_text_is_searched() {
    let long = "é".repeat(SEARCHED);
    let joined = text(&said(&[&long, &long, "end"]));
    assert!(joined.len() <= SEARCHED + 2 && joined.starts_with("éé"), "{}", joined.len());
}

#[test]
fn an_error_of_the_tool_fails_unless_it_is_allowed() {
    let result = json!({ "content": [{ "type": "text", "text": "no database" }], "isError": true });
    let verdict = |options| verdict(options, Answer::Result(result.clone()));
    let failed = Verdict::Fail("t reports an error: \"no database\"".into());
    assert_eq!(verdict(json!({ "tool": "t" })), failed);
    assert_eq!(verdict(json!({ "tool": "t", "expect": "database" })), failed);
    assert_eq!(verdict(json!({ "tool": "t", "allow_error": true })), Verdict::Pass);
    let unmatched = verdict(json!({ "tool": "t", "allow_error": true, "expect": "^fine$" }));
    assert!(matches!(unmatched, Verdict::Fail(_)));
}

#[test]
fn a_refusal_is_a_failure_with_its_code() {
    let refused = Verdict::Fail("the call of t was refused with -32602: \"scripted\"".into());
    assert_eq!(verdict(json!({ "tool": "t" }), Answer::Error(-32602)), refused);
    assert_eq!(verdict(json!({ "tool": "t", "allow_error": true }), Answer::Error(-32602)), refused);
}

#[test]
fn silence_and_death_are_failures() {
    let verdict = |answer| verdict(json!({ "tool": "t" }), answer);
    assert_eq!(verdict(Answer::Silence), Verdict::Fail("no answer to tools/call within 3s".into()));
    assert_eq!(verdict(Answer::Gone), Verdict::Fail("the server is gone".into()));
}

#[test]
fn a_tool_that_wants_something_of_the_user_says_nothing_of_the_server() {
    for kind in ["input_required", "task"] {
        let verdict = verdict(json!({ "tool": "t", "expect": "x" }), Answer::Result(json!({ "resultType": kind })));
        let told = format!("t did not finish but answered \"{kind}\"; choose a tool that does");
        assert_eq!(verdict, Verdict::Inconclusive(told));
    }
    let complete = json!({ "resultType": "complete", "content": [] });
    assert_eq!(verdict(json!({ "tool": "t" }), Answer::Result(complete)), Verdict::Pass);
    assert!(matches!(verdict(json!({ "tool": "t" }), Answer::Error(-32042)), Verdict::Inconclusive(_)));
}

#[test]
fn options_that_cannot_work_are_refused() {
    let refusal = |options| ToolCall::new(serde_json::from_value(options).unwrap()).unwrap_err().0;
    assert_eq!(refusal(json!({ "tool": "" })), "`tool` is empty: name one of the server's tools");
    let error = refusal(json!({ "tool": "t", "expect": "a(b" }));
    assert!(error.starts_with("`expect` is not a regular expression: \"a(b\" ("), "{error}");
}
