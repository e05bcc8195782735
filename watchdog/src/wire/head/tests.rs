use proptest::prelude::*;
use serde_json::Value;

use super::super::samples;
use super::oracle::agrees;
use super::*;

fn head(line: &str) -> Head {
    match scan(line.as_bytes()) {
        Scan::Message(head) => head,
        other => panic!("{line} is {other:?}"),
    }
}

fn at<'a>(line: &'a str, span: Option<&Span>) -> Option<&'a str> {
    Some(&line[span?.clone()])
}

#[test]
fn a_call_is_read() {
    let line = r#"{"jsonrpc":"2.0","id":1.0,"method":"tools/call","params":{"name":"echo","arguments":{"id":7,"name":"x"},"_meta":{"progressToken":"p"}}}"#;
    let head = head(line);
    assert_eq!((head.kind, head.method), (Kind::Request, Method::ToolsCall));
    assert_eq!(at(line, head.id.as_ref()), Some("1.0"));
    assert_eq!(at(line, head.name.as_ref()), Some(r#""echo""#));
    assert_eq!(at(line, head.meta_progress_token.as_ref()), Some(r#""p""#));
    assert_eq!(at(line, head.method_span.as_ref()), Some(r#""tools/call""#));
    assert_eq!(text_at(line.as_bytes(), head.name.as_ref()).as_deref(), Some("echo"));
    assert!(!head.task && !head.continued && !head.meta_client_capabilities);
    assert_eq!((head.progress_token, head.body), (None, None));
}

#[test]
fn the_stateless_keys_are_read() {
    let line = r#"{"method":"subscriptions/listen","params":{"_meta":{"io.modelcontextprotocol\/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/subscriptionId":3},"requestState":"s"},"id":3}"#;
    let head = head(line);
    assert_eq!(text_at(line.as_bytes(), head.meta_protocol_version.as_ref()).as_deref(), Some("2026-07-28"));
    assert!(head.meta_client_capabilities && head.continued);
    assert_eq!(id_at(line.as_bytes(), head.meta_subscription_id.as_ref()), Some(Id::from_int(3)));
}

#[test]
fn kinds_follow_from_the_members() {
    for (line, kind) in [
        (r#"{"method":"x","id":0}"#, Kind::Request),
        (r#"{"method":"x","id":""}"#, Kind::Request),
        (r#"{"method":"x"}"#, Kind::Notification),
        (r#"{"method":"x","id":null}"#, Kind::Notification),
        (r#"{"method":"x","id":true}"#, Kind::Notification),
        (r#"{"method":"x","id":NaN}"#, Kind::Notification),
        (r#"{"method":"x","result":{},"id":1}"#, Kind::Request),
        (r#"{"id":1,"result":null}"#, Kind::Result),
        (r#"{"id":1,"result":{},"error":null}"#, Kind::Result),
        (r#"{"id":1,"error":{},"result":null}"#, Kind::Error),
        (r#"{"id":1,"error":{},"result":{}}"#, Kind::Error),
        (r#"{"error":null}"#, Kind::Error),
        (r#"{"method":7,"error":{}}"#, Kind::Error),
    ] {
        assert_eq!(head(line).kind, kind, "{line}");
    }
    let line = r#"{"id":null,"error":{"code":1}}"#;
    assert_eq!(at(line, head(line).id.as_ref()), Some("null"));
    assert_eq!(at(line, head(line).body.as_ref()), Some(r#"{"code":1}"#));
    assert_eq!(head(r#"{"error":1}"#).id, None);
}

#[test]
fn objects_that_are_no_message_show_their_id() {
    assert_eq!(scan(b"{}"), Scan::NotAMessage(None));
    assert_eq!(scan(br#"{"id":5}"#), Scan::NotAMessage(Some(6..7)));
    assert_eq!(scan(br#"{"method":["x"],"id":5}"#), Scan::NotAMessage(Some(21..22)));
}

#[test]
fn marks_and_white_space_around_are_tolerated() {
    let line = "\u{feff} \t{\"method\" : \"ping\"}\r\n ";
    assert_eq!(at(line, head(line).method_span.as_ref()), Some("\"ping\""));
    assert_eq!(scan("\u{feff}[ ]\r".as_bytes()), Scan::Batch);
}

#[test]
fn null_members_of_params_are_absent() {
    let line = r#"{"method":"tools/list","id":1,"params":{"cursor":null,"task":null,"requestState":null,"_meta":null,"name":null}}"#;
    let head = head(line);
    assert_eq!((head.cursor, head.name, head.task, head.continued), (None, None, false, false));
    let line = r#"{"method":"x","params":null}"#;
    assert_eq!(at(line, self::head(line).params.as_ref()), Some("null"));
}

#[test]
fn the_last_of_duplicate_keys_counts_whatever_it_holds() {
    let line =
        r#"{"id":1,"method":"a","params":{"name":"n","_meta":{"progressToken":1},"_meta":{}},"id":2,"method":"ping"}"#;
    let found = head(line);
    assert_eq!(at(line, found.id.as_ref()), Some("2"));
    assert_eq!((found.method, found.meta_progress_token), (Method::Ping, None));
    let found = head(r#"{"method":"a","params":{"name":"n","task":{}},"params":[1]}"#);
    assert_eq!((found.name, found.task), (None, false));
    assert_eq!(head(r#"{"method":"a","method":1,"result":1}"#).kind, Kind::Result);
}

#[test]
fn names_are_what_they_mean_wherever_they_stand() {
    let known = |name: &str, before: &str, behind: &str| {
        let line = format!(r#"{{{before}"method":"x","{name}":5{behind}}}"#);
        let head = head(&line);
        (head.id.is_some(), at(&line, head.id.as_ref()).is_none_or(|id| id == "5"))
    };
    for before in ["", r#""jsonrpc":"2.0","#, r#""jsonrpc": "2.0", "#, r#" "jsonrpc" : "2.0" , "#] {
        for behind in ["", " ", r#","a":1"#, r#","a":"a longer one, so that names stand far from the end of the line""#]
        {
            for name in ["id", r"\u0069d", r"i\u0064", r"\u0069\u0064"] {
                assert_eq!(known(name, before, behind), (true, true), "{name} {before} {behind}");
            }
            for name in [
                "i",
                "idd",
                "Id",
                "id\0",
                r"id\u0000",
                r#"id\""#,
                r"id\\",
                r"\id",
                "",
                r"\u0069d\u0000\u0000\u0000\u0000\u0000\u0000",
            ] {
                assert_eq!(known(name, before, behind), (false, true), "{name} {before} {behind}");
            }
        }
    }
}

#[test]
fn long_names_are_what_they_mean_too() {
    let is_token = |name: &str| {
        let line = format!(r#"{{"method":"x","params":{{"{name}":"5"}}}}"#);
        head(&line).progress_token.is_some()
    };
    assert!(
        is_token("progressToken")
            && is_token(r"progress\u0054oken")
            && is_token(&r"progress\u0054oken".replace('p', r"\u0070"))
    );
    for name in [
        "progressTokeN",
        "progressTok",
        "progressToken2",
        r"progressToken\u0000",
        r"progress\Token",
        r#"progressToken\""#,
    ] {
        assert!(!is_token(name), "{name}");
    }
    assert!(!is_token(&"progressToken".repeat(10)) && !is_token(&r"progress\u0054oken".repeat(10)));
}

#[test]
fn a_beginning_is_only_a_beginning() {
    assert_eq!(scan(br#"{"jsonrpc":"2.0","#), Scan::NotJson);
    assert_eq!(scan(br#"{"jsonrpc":"2.0",}"#), Scan::NotJson);
    assert_eq!(scan(br#"{"jsonrpc":"2.0"}"#), Scan::NotAMessage(None));
    assert_eq!(scan(br#"{"jsonrpc":"2.0","id":3}"#), Scan::NotAMessage(Some(22..23)));
    assert!(head(r#"{"jsonrpc":"2.0","method":"x"}"#).jsonrpc && head(r#"{"method":"x","jsonrpc":"2.0"}"#).jsonrpc);
    assert!(!head(r#"{"method":"x"}"#).jsonrpc);
}

#[test]
fn what_is_torn_or_glued_is_not_json() {
    for line in [
        "",
        " ",
        "\u{feff}",
        "ready",
        "{",
        "}",
        "[",
        "]",
        "\"a\"",
        "1",
        "null",
        "true",
        "{]",
        "[}",
        "[INFO] started",
        "[1 2]",
        "[1,]",
        "[,]",
        r#"{"method":"x"}{"method":"x"}"#,
        r#"{"method":"x"} x"#,
        r#"Listening{"method":"x"}"#,
        r#"{"method":"x",}"#,
        r#"{,"method":"x"}"#,
        r#"{"method" "x"}"#,
        r#"{"method":}"#,
        r#"{"method":"x" "id":1}"#,
        r#"{method:"x"}"#,
        r#"{"method":"x","id":01}"#,
        r#"{"method":"x","id":+1}"#,
        r#"{"method":"x","a":tru}"#,
        r#"{"method":"x","params":{"a":[}]}"#,
        r#"{"method":"x","params":{"a":[1,{"b":"}]}"#,
        r#"{"method":"x","params":{"a":1,}}"#,
        r#"{"method":"x","params":{"_meta":{"a":1 "b":2}}}"#,
        "{'method':'x'}",
        r#"{"method":"x\"}"#,
        "{\"method\":\"x\"}\0",
    ] {
        assert_eq!(scan(line.as_bytes()), Scan::NotJson, "{line}");
        assert_eq!(elements(line.as_bytes()), None, "{line}");
    }
}

#[test]
fn text_that_is_not_quite_json_is_passed_on_where_its_shape_is_sound() {
    // Python writes these, invalid UTF-8 is the peer's affair, and raw control bytes are common in logs.
    assert!(matches!(scan(br#"{"result":{"a":NaN},"b":-Infinity,"id":1}"#), Scan::Message(_)));
    assert!(matches!(scan(b"{\"result\":\"\xff\x01\",\"id\":1}"), Scan::Message(_)));
    assert!(matches!(scan(b"{\"m\xff\":1,\"result\":1}"), Scan::Message(_)));
}

#[test]
fn elements_are_given_as_they_stand() {
    let line = r#" [ {"method":"[x,"} ,1,"a,]", [2,[3]],null ] "#;
    let found: Vec<_> = elements(line.as_bytes()).expect("a batch").into_iter().map(|span| &line[span]).collect();
    assert_eq!(found, [r#"{"method":"[x,"}"#, "1", r#""a,]""#, "[2,[3]]", "null"]);
    assert_eq!(elements(b"[]"), Some(vec![]));
    assert_eq!(elements(b"{}"), None);
}

#[test]
fn names_and_promises_reach_unknown_methods() {
    let of = |line: &str| {
        let head = head(line);
        (method_name(&head, line.as_bytes()).into_owned(), is_read_only(&head, line.as_bytes()))
    };
    assert_eq!(of(r#"{"id":1,"method":"vendor\/things\/list"}"#), ("vendor/things/list".to_owned(), true));
    assert_eq!(of(r#"{"id":1,"method":"things/listen"}"#), ("things/listen".to_owned(), false));
    assert_eq!(of(r#"{"id":1,"method":"list"}"#), ("list".to_owned(), false));
    assert_eq!(of(r#"{"id":1,"method":"tools/call"}"#), ("tools/call".to_owned(), false));
    assert_eq!(of(r#"{"id":1,"method":"tasks\/get"}"#), ("tasks/get".to_owned(), false));
    assert_eq!(of(r#"{"id":1,"result":{}}"#), (String::new(), false));
}

#[test]
fn depth_is_bounded_by_the_input_alone() {
    let deep = format!(r#"{{"method":"x","params":{}{},"id":1}}"#, "[".repeat(300_000), "]".repeat(300_000));
    assert_eq!(at(&deep, head(&deep).id.as_ref()), Some("1"));
}

proptest! {
    #[test]
    fn finds_what_serde_finds(line in samples::line()) {
        let value: Value = serde_json::from_str(&line).expect("samples are JSON");
        agrees(line.as_bytes(), &value);
    }

    #[test]
    fn a_torn_line_is_no_message(line in samples::line()) {
        for end in 0..line.len() {
            prop_assert_eq!(scan(&line.as_bytes()[..end]), Scan::NotJson, "{} of {}", end, line);
        }
    }

    #[test]
    fn a_damaged_line_is_read_as_serde_reads_it_or_refused(line in samples::mutated()) {
        oracle::check(&line);
    }

    #[test]
    fn any_bytes_are_survived(line in prop_oneof![
        prop::collection::vec(any::<u8>(), 0..200),
        prop::collection::vec(prop::sample::select(&b"{}[]\":,\\ 1n"[..]), 0..200),
    ]) {
        oracle::check(&line);
    }

    #[test]
    fn elements_are_what_serde_finds(items in prop::collection::vec(samples::json(), 0..6)) {
        let line = format!(" [{}]", items.join(" , "));
        let value: Vec<Value> = serde_json::from_str(&line).expect("samples are JSON");
        let found = elements(line.as_bytes()).expect("a batch");
        let found: Vec<Value> = found.into_iter().map(|span| serde_json::from_str(&line[span]).expect("a value")).collect();
        prop_assert_eq!(found, value);
        prop_assert_eq!(scan(line.as_bytes()), Scan::Batch);
    }
}
