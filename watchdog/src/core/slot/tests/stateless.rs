//! The stateless era: readiness, and listen streams that outlive processes.

use crate::core::testing::{Script, World, acknowledged, answer_line, raw_id, refused, secs, stateless, value};

const FILTER: &str = r#""notifications":{"toolsListChanged":true},"#;

fn listen(id: &str) -> String {
    stateless(id, "subscriptions/listen", FILTER)
}

fn tools_changed(id: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}}}}}"#
    )
}

fn open() -> World {
    let mut world = World::new(|_| ());
    world.open_stateless();
    world
}

/// A world with an acknowledged listen under this id.
fn listening(id: &str) -> World {
    let mut world = open();
    world.say(&listen(id));
    assert_eq!(world.client_got(), [acknowledged(id, &serde_json::json!({"toolsListChanged": true}))]);
    world.forget();
    world
}

#[test]
fn a_new_process_shows_that_it_is_ready_and_nothing_else_is_replayed() {
    let mut world = open();
    world.server_dies();
    let got = world.server_got();
    assert_eq!(value(&got[0])["method"], "server/discover");
    assert!(world.slot.lifecycle().is_connected());
    assert_eq!(world.client_got(), [""; 0]);
}

#[test]
fn an_error_is_readiness_too_and_silence_is_not() {
    let mut world = open();
    world.next.push_back(Script { refuses: &["server/discover"], ..Script::default() });
    world.server_dies();
    assert!(world.slot.lifecycle().is_connected());
    world.next.push_back(Script::deaf());
    world.server_dies();
    world.advance(secs(20));
    assert!(!world.slot.lifecycle().is_connected());
    world.advance(secs(20));
    assert!(world.slot.lifecycle().is_connected(), "the next one");
}

#[test]
fn requests_wait_for_readiness() {
    let mut world = open();
    world.next.push_back(Script::deaf());
    world.server_dies();
    let discover = world.server_got().remove(0);
    let call = stateless("5", "tools/call", "\"name\":\"t\",");
    world.say(&call);
    assert_eq!(world.server_got(), [""; 0]);
    world.server_answers(&raw_id(&discover));
    assert!(world.server_got().contains(&call));
}

#[test]
fn a_listen_is_re_established_and_its_second_acknowledgement_is_swallowed() {
    let mut world = listening("\"l\\u0031\"");
    world.server_dies();
    assert_eq!(world.client_got(), [""; 0]);
    assert!(world.server_got().contains(&listen("\"l\\u0031\"")), "the same bytes, the same id");
    let notification = tools_changed("\"l1\"");
    world.server_says(&notification);
    assert_eq!(world.client_got(), [notification], "the stream goes on");
    assert_eq!(world.told("server_reconnected")[0]["preserved"], serde_json::json!(["listen streams"]));
}

#[test]
fn a_listen_that_was_never_acknowledged_is_acknowledged_by_the_next_server() {
    let mut world = World::with_servers([Script { ignores: &["subscriptions/listen"], ..Script::default() }], |_| ());
    world.open_stateless();
    world.say(&listen("7"));
    world.server_dies();
    assert!(world.client_got_one().contains("acknowledged"));
}

#[test]
fn a_new_server_that_refuses_the_listen_ends_it_at_the_client() {
    let mut world = listening("7");
    world.next.push_back(Script { refuses: &["subscriptions/listen"], ..Script::default() });
    world.server_dies();
    let line = value(&world.client_got_one());
    assert_eq!((&line["method"], &line["params"]["requestId"]), (&"notifications/cancelled".into(), &7.into()));
    world.server_dies();
    world.advance(secs(1));
    assert_eq!(world.server_got_methods(), ["server/discover", "tools/list"], "it is closed");
}

#[test]
fn a_listen_that_the_first_server_refuses_is_answered() {
    let mut world = World::with_servers([Script { refuses: &["subscriptions/listen"], ..Script::default() }], |_| ());
    world.open_stateless();
    world.say(&listen("7"));
    assert!(world.client_got_one().contains("-32601"));
}

#[test]
fn a_listen_is_neither_suspected_nor_has_it_a_deadline_nor_is_it_drained() {
    let mut world = World::new(|server| server.request_deadline = Some(secs(5)));
    world.open_stateless();
    world.say(&listen("7"));
    world.client_got();
    world.advance(secs(4000));
    assert!(world.chain.is_none() && world.client_got().is_empty());
    assert_eq!(world.slot.in_flight(), 0);
    world.tell(|slot, now, out| slot.client_eof(now, out));
    assert!(world.exit.is_some(), "nothing is owed");
}

#[test]
fn a_cancelled_listen_is_closed_and_not_replayed() {
    let mut world = listening("7");
    world.cancel("7");
    assert_eq!(world.server_got_methods(), ["notifications/cancelled"]);
    world.server_says(&tools_changed("7"));
    assert_eq!(world.client_got(), [""; 0], "a notification for a closed stream");
    world.server_dies();
    assert_eq!(world.server_got_methods(), ["server/discover", "tools/list"]);
}

#[test]
fn a_listen_that_is_cancelled_while_the_server_is_down_is_forgotten_silently() {
    for step in 0..2 {
        let mut world = listening("7");
        world.lingering = true;
        world.next.push_back(Script::deaf());
        world.server_dies();
        if step == 1 {
            // The new process has only been asked whether it is ready: this listen means nothing to it.
            world.gone();
        }
        world.server_got();
        world.cancel("7");
        assert_eq!(world.server_got(), [""; 0], "a new process never hears of it");
        if step == 0 {
            world.gone();
        }
        let ready = world.server_got();
        assert!(!ready.iter().any(|line| line.contains("listen")), "{ready:?}");
        assert_eq!(world.client_got(), [""; 0]);
    }
}

#[test]
fn the_server_may_end_a_listen_and_nothing_else() {
    let mut world = listening("7");
    let cancelled = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":8}}"#;
    world.say(&stateless("8", "tools/call", "\"name\":\"t\","));
    world.server_says(cancelled);
    assert_eq!(world.client_got(), [""; 0], "a call is not the server's to cancel");
    world.server_says(&cancelled.replace('8', "7"));
    assert_eq!(world.client_got(), [cancelled.replace('8', "7")]);
    world.server_says(&tools_changed("7"));
    assert_eq!(world.client_got(), [""; 0]);
    world.server_answers("8");
    assert_eq!(world.client_got(), [answer_line("8")]);
}

#[test]
fn a_held_listen_is_a_request_like_others() {
    let mut world = World::new(|server| server.restart.hold = secs(3));
    world.open_stateless();
    world.next.push_back(Script::deaf());
    world.server_dies();
    world.say(&listen("7"));
    world.advance(secs(3));
    refused(&world.client_got_one(), "7", -31002);
}

#[test]
fn log_messages_belong_to_a_request_in_flight() {
    let mut world = open();
    let message = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info"}}"#;
    world.server_says(message);
    assert_eq!(world.client_got(), [""; 0]);
    world.say(&stateless("8", "tools/call", "\"name\":\"t\","));
    world.server_says(message);
    assert_eq!(world.client_got(), [message]);
}

#[test]
fn input_required_is_an_ordinary_answer_and_a_continued_call_is_never_repeated() {
    let mut world = open();
    world.say(&stateless("8", "prompts/get", "\"name\":\"p\",\"requestState\":\"s\","));
    world.server_dies();
    let data = refused(&world.client_got_one(), "8", -31000);
    assert_eq!(data["retryable"], true, "by its method, as the contract says");
    assert_eq!(world.slot.in_flight(), 0, "and the next process is not asked");
    world.say(&stateless("9", "tools/call", "\"name\":\"t\","));
    let required = r#"{"jsonrpc":"2.0","id":9,"result":{"resultType":"input_required"}}"#;
    world.server_says(required);
    assert_eq!((world.client_got(), world.slot.in_flight()), (vec![required.to_owned()], 0));
}
