//! Lines as they are: odd spellings, no messages, and too long ones.

use crate::config::StrayStdout;
use crate::core::slot::{Effect, Slot};
use crate::core::testing::{
    INITIALIZE, Script, World, answer_line, call_line, id, ids, millis, raw_id, refused, secs, stateless, value,
};
use crate::wire::lines::{Oversized, OversizedKind, OversizedMessage};

fn open() -> World {
    let mut world = World::new(|_| ());
    world.open();
    world
}

fn too_long(kind: OversizedKind, raw: Option<&str>) -> Oversized {
    too_long_a_batch(&[(kind, raw)])
}

fn too_long_a_batch(messages: &[(OversizedKind, Option<&str>)]) -> Oversized {
    let message = |&(kind, raw): &(_, Option<&str>)| OversizedMessage { kind, id: raw.map(id) };
    Oversized { len: 70_000_000, messages: messages.iter().map(message).collect() }
}

/// Ids as clients spell them (wire.md, "Framing").
const SPELLINGS: [&str; 12] = [
    "0",
    "-7",
    "0.0",
    "1e3",
    "9007199254740993",
    "-9223372036854775808",
    "18446744073709551616",
    "1.5",
    "\"\"",
    "\"1\"",
    "\"\\u0041\\/\"",
    "\"\\ud83d\\ude00\"",
];

#[test]
fn ids_of_any_spelling_go_through_and_come_back_as_they_were_sent() {
    let mut world = open();
    for raw in SPELLINGS {
        world.call(raw, "t");
        assert_eq!(world.server_got(), [call_line(raw, "t")]);
        world.server_answers(raw);
        assert_eq!(world.client_got(), [answer_line(raw)]);
    }
    // 0 and 0.0 are one id.
    let different = SPELLINGS.iter().filter(|raw| **raw != "0");
    for raw in different.clone() {
        world.call(raw, "t");
    }
    world.server_dies();
    let refusals = world.client_got();
    assert_eq!(refusals.len(), different.clone().count());
    for (line, raw) in refusals.iter().zip(different) {
        refused(line, raw, -31000);
    }
}

#[test]
fn an_answer_may_spell_the_id_in_another_way() {
    let mut world = open();
    world.call("1000", "t");
    world.server_answers("1e3");
    assert_eq!(world.client_got(), [answer_line("1e3")], "the bytes of the server");
    world.call("\"A/\"", "t");
    world.server_answers("\"\\u0041\\/\"");
    assert_eq!(world.slot.in_flight(), 0);
}

#[test]
fn a_line_of_the_server_that_is_no_message_goes_to_the_log() {
    let mut world = open();
    let strays = ["Server listening", "{\"jsonrpc\":\"2.0\"}", "[1,2]", "{\"id\":1,\"result\":{}", "42", "null"];
    for stray in strays {
        world.server_says(stray);
    }
    assert_eq!(world.client_got(), [""; 0]);
    assert_eq!(world.strays, strays);
    let mut world = World::new(|server| server.limits.stray_stdout = StrayStdout::Drop);
    world.open();
    world.server_says("Server listening");
    assert!(world.strays.is_empty() && world.client_got().is_empty());
}

#[test]
fn a_line_of_the_client_that_is_no_message_is_answered_as_json_rpc_says() {
    let mut world = open();
    for (line, code, raw) in [
        ("hello", -32700, "null"),
        ("{\"id\":1,", -32700, "null"),
        ("7", -32700, "null"),
        (r#"{"jsonrpc":"2.0","id":"x"}"#, -32600, "\"x\""),
        (r#"{"jsonrpc":"2.0","id":null,"x":1}"#, -32600, "null"),
    ] {
        world.say(line);
        let got = world.client_got_one();
        assert_eq!(value(&got)["error"]["code"], code, "{line}");
        assert!(got.contains(&format!("\"id\":{raw},")), "{got}");
    }
    assert_eq!(world.server_got(), [""; 0]);
}

#[test]
fn an_error_without_an_id_is_passed_on() {
    let mut world = open();
    for line in [
        r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"?"}}"#,
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"?"}}"#,
    ] {
        world.server_says(line);
        assert_eq!(world.client_got(), [line]);
    }
    world.server_says(r#"{"jsonrpc":"2.0","result":{}}"#);
    assert_eq!(world.client_got(), [""; 0], "a result for nobody");
}

#[test]
fn too_long_a_request_is_answered_and_the_session_goes_on() {
    let mut world = open();
    world.tell(|slot, now, out| slot.client_oversized(now, &too_long(OversizedKind::Request, Some("5")), out));
    let data = refused(&world.client_got_one(), "5", -31008);
    assert_eq!((&data["sent"], &data["retryable"]), (&false.into(), &false.into()));
    for kind in [OversizedKind::Notification, OversizedKind::Response] {
        world.tell(|slot, now, out| slot.client_oversized(now, &too_long(kind, Some("5")), out));
    }
    world.tell(|slot, now, out| slot.client_oversized(now, &too_long(OversizedKind::Unknown, None), out));
    assert_eq!(world.client_got(), [""; 0], "nobody waits for an answer");
    world.call("6", "t");
    world.server_answers("6");
    assert_eq!(world.client_got(), [answer_line("6")]);
}

/// The live server writes a line that is too long.
fn server_writes(world: &mut World, kind: OversizedKind, raw: Option<&str>) {
    let generation = world.generation();
    let line = too_long(kind, raw);
    world.tell(|slot: &mut Slot, now, out| slot.server_oversized(now, generation, &line, out));
}

#[test]
fn too_long_an_answer_is_an_error_for_the_request_and_the_server_is_kept() {
    let mut world = open();
    world.call("5", "t");
    server_writes(&mut world, OversizedKind::Response, Some("5"));
    let data = refused(&world.client_got_one(), "5", -31008);
    assert_eq!(data["sent"], true);
    assert_eq!((world.generation().0, world.slot.in_flight()), (1, 0));
    server_writes(&mut world, OversizedKind::Response, Some("5"));
    server_writes(&mut world, OversizedKind::Notification, None);
    assert_eq!(world.client_got(), [""; 0]);
}

#[test]
fn of_too_long_a_batch_each_message_is_told_as_it_would_be_alone() {
    let mut world = World::with_servers([Script { version: "2025-03-26", ..Script::default() }], |_| ());
    world.open();
    let asked = [
        (OversizedKind::Request, Some("5")),
        (OversizedKind::Notification, None),
        (OversizedKind::Request, Some("\"5\"")),
        (OversizedKind::Response, Some("7")),
        (OversizedKind::Unknown, Some("8")),
    ];
    world.tell(|slot, now, out| slot.client_oversized(now, &too_long_a_batch(&asked), out));
    let told = world.client_got();
    assert_eq!(told.iter().map(|line| raw_id(line)).collect::<Vec<_>>(), ["5", "\"5\"", "8"]);
    for id in ["1", "2", "3"] {
        world.call(id, "t");
    }
    world.server_got();
    let generation = world.generation();
    let answers = [
        (OversizedKind::Response, Some("2")),
        (OversizedKind::Request, Some("\"q\"")),
        (OversizedKind::Response, Some("1")),
        (OversizedKind::Response, Some("9")),
    ];
    world.tell(|slot: &mut Slot, now, out| slot.server_oversized(now, generation, &too_long_a_batch(&answers), out));
    let told = world.client_got();
    for (line, id) in told.iter().zip(["2", "1"]) {
        assert_eq!(refused(line, id, -31008)["sent"], true);
    }
    assert_eq!((told.len(), world.slot.in_flight()), (2, 1));
    let answer = value(&world.server_got()[0]);
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&"q".into(), &(-31008).into()));
    world.server_answers("3");
    assert_eq!(world.client_got(), [answer_line("3")]);
}

#[test]
fn of_the_questions_in_too_long_a_batch_a_server_that_reads_nothing_cannot_fill_the_memory() {
    let mut world = open();
    world.call("1", "t");
    world.server_got();
    let generation = world.generation();
    let mut asked = vec![(OversizedKind::Request, Some("5")); 50_000];
    asked.push((OversizedKind::Response, Some("1")));
    let mut answers = 0;
    world.tell(|slot: &mut Slot, now, out| {
        slot.server_oversized(now, generation, &too_long_a_batch(&asked), out);
        answers = out.extract_if(.., |effect| matches!(effect, Effect::Forward { .. })).count();
    });
    assert_eq!(answers, 1000);
    refused(&world.client_got_one(), "1", -31008);
}

#[test]
fn of_too_long_a_batch_the_rest_is_nobodys_behind_the_answer_that_was_a_servers_end() {
    let mut world = open();
    world.next.push_back(Script::deaf());
    world.server_dies();
    let ours = ids(&world.server_got()).remove(0);
    world.lingering = true;
    let generation = world.generation();
    let answers = [(OversizedKind::Response, Some(&*ours)), (OversizedKind::Request, Some("\"q\""))];
    world.tell(|slot: &mut Slot, now, out| slot.server_oversized(now, generation, &too_long_a_batch(&answers), out));
    assert_eq!((world.client_got(), world.server_got()), (vec![], vec![]));
}

#[test]
fn too_long_a_question_is_refused_towards_the_server() {
    let mut world = open();
    world.server_got();
    server_writes(&mut world, OversizedKind::Request, Some("5"));
    assert_eq!(world.client_got(), [""; 0]);
    let answer = value(&world.server_got()[0]);
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&5.into(), &(-31008).into()));
}

#[test]
fn too_long_an_answer_to_initialize_opens_no_session() {
    let mut world = World::with_servers([Script::deaf()], |_| ());
    world.say(INITIALIZE);
    server_writes(&mut world, OversizedKind::Response, Some("0"));
    refused(&world.client_got_one(), "0.0", -31008);
    assert!(world.slot.session().knows().is_none());
}

#[test]
fn unknown_fields_and_methods_go_through() {
    let mut world = open();
    let line = r#"{"x":[1e400,{"":null}],"method":"x/y","id":3,"jsonrpc":"2.0","params":[1,2]}"#;
    world.say(line);
    assert_eq!(world.server_got(), [line]);
    let notification = r#"{"jsonrpc":"2.0","method":"notifications/x","params":null}"#;
    world.say(notification);
    assert_eq!(world.server_got(), [notification]);
    world.server_says(notification);
    assert_eq!(world.client_got(), [notification]);
}

#[test]
fn a_request_whose_id_is_none_is_refused_since_nobody_could_answer_it() {
    let mut world = open();
    for id in ["true", "{}", "[1]"] {
        world.say(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call"}}"#));
        let error = value(&world.client_got_one());
        assert_eq!((&error["id"], &error["error"]["code"]), (&serde_json::Value::Null, &(-32600).into()), "{id}");
    }
    assert_eq!(world.server_got(), [""; 0]);
    let notification = r#"{"jsonrpc":"2.0","id":null,"method":"notifications/x"}"#;
    world.say(notification);
    assert_eq!((world.client_got(), world.server_got()), (vec![], vec![notification.to_owned()]));
}

#[test]
fn too_long_an_answer_of_the_client_is_an_error_for_the_server_that_asked() {
    let mut world = open();
    let ask = r#"{"jsonrpc":"2.0","id":"q","method":"sampling/createMessage"}"#;
    world.server_says(ask);
    world.server_dies();
    world.server_says(ask);
    let known = raw_id(world.client_got().last().expect("the question"));
    assert_ne!(known, "\"q\"");
    world.server_got();
    for asked in ["\"q\"", &known, &known] {
        world.tell(|slot, now, out| slot.client_oversized(now, &too_long(OversizedKind::Response, Some(asked)), out));
    }
    let got = world.server_got();
    assert_eq!(got.len(), 1, "the first process's question is nobody's: {got:?}");
    let answer = value(&got[0]);
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&"q".into(), &(-31008).into()));
    assert_eq!(world.client_got(), [""; 0]);
}

#[test]
fn what_is_due_when_nothing_is_in_flight_waits_for_no_line_that_was_too_long() {
    let mut world = open();
    world.call("5", "t");
    world.tell(|slot, now, _| slot.file_changed(now, "a.py".to_owned()));
    world.advance(secs(1));
    assert_eq!(world.generation().0, 1);
    server_writes(&mut world, OversizedKind::Response, Some("5"));
    refused(&world.client_got_one(), "5", -31008);
    assert_eq!(world.generation().0, 2);

    world.server_says(r#"{"jsonrpc":"2.0","id":7,"method":"sampling/createMessage"}"#);
    world.tell(|slot, now, _| slot.file_changed(now, "a.py".to_owned()));
    world.advance(secs(1));
    world.tell(|slot, now, out| slot.client_oversized(now, &too_long(OversizedKind::Response, Some("7")), out));
    world.advance(millis(50));
    assert_eq!(world.generation().0, 3);
}

#[test]
fn a_stream_whose_last_word_is_of_no_use_has_ended() {
    let mut world = World::new(|_| ());
    world.open_stateless();
    world.say(&stateless("5", "subscriptions/listen", r#""notifications":{"toolsListChanged":true},"#));
    world.client_got_one();
    server_writes(&mut world, OversizedKind::Response, Some("5"));
    refused(&world.client_got_one(), "5", -31008);
    world.server_dies();
    assert!(!world.server_got_methods().contains(&"subscriptions/listen".to_owned()));
}
