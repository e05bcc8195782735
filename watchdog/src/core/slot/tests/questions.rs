//! Questions of the server to the client (handshake era), across the deaths of servers.

use crate::core::testing::{World, raw_id, value};

const ASK: &str = r#"{"method":"elicitation/create", "id":0,"params":{"message":"sure?"},"jsonrpc":"2.0"}"#;
const YES: &str = r#"{"jsonrpc":"2.0", "id":0,"result":{"action":"accept"}}"#;

fn open() -> World {
    let mut world = World::new(|_| ());
    world.open();
    world
}

#[test]
fn a_question_and_its_answer_go_through_unchanged() {
    let mut world = open();
    world.call("0", "t");
    world.server_got();
    world.server_says(ASK);
    assert_eq!(world.client_got(), [ASK]);
    world.say(YES);
    assert_eq!(world.server_got(), [YES], "the two directions have ids of their own");
    assert_eq!(world.slot.in_flight(), 1);
}

#[test]
fn s12_open_questions_are_withdrawn_at_death_and_late_answers_swallowed() {
    let mut world = open();
    world.server_says(ASK);
    world.server_says(&ASK.replace("\"id\":0", "\"id\":\"q\\u0031\""));
    world.client_got();
    world.server_dies();
    let withdrawn: Vec<_> = world.client_got().iter().map(|line| value(line)).collect();
    assert!(
        withdrawn
            .iter()
            .all(|line| line["method"] == "notifications/cancelled" && line["params"]["reason"].is_string())
    );
    let ids: Vec<_> = withdrawn.iter().map(|line| line["params"]["requestId"].clone()).collect();
    assert_eq!(ids, [serde_json::json!(0), serde_json::json!("q1")]);
    world.server_got();
    world.say(YES);
    assert_eq!(world.server_got(), [""; 0]);
    assert_eq!(world.told("stale_result").len(), 1);
}

#[test]
fn a_reused_id_is_replaced_towards_the_client_and_restored_towards_the_server() {
    let mut world = open();
    world.server_says(ASK);
    world.server_dies();
    world.client_got();
    world.server_got();
    world.server_says(ASK);
    let asked = world.client_got_one();
    let replaced = raw_id(&asked);
    assert_ne!(replaced, "0");
    assert_eq!(asked, ASK.replace("\"id\":0", &format!("\"id\":{replaced}")), "only the id");

    world.say(YES);
    assert_eq!(world.server_got(), [""; 0], "the answer to the old dialog");
    world.say(&YES.replace("\"id\":0", &format!("\"id\":{replaced}")));
    assert_eq!(world.server_got(), [YES]);
}

#[test]
fn a_server_withdraws_a_replaced_question_under_the_id_that_the_client_knows() {
    let mut world = open();
    world.server_says(ASK);
    world.server_dies();
    world.server_says(ASK);
    let replaced = raw_id(world.client_got().last().expect("the question"));
    let cancel = |id: &str| {
        format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}, "reason":"x"}}}}"#)
    };
    world.server_says(&cancel("0"));
    assert_eq!(world.client_got(), [cancel(&replaced)]);
    world.server_says(&cancel("0"));
    assert_eq!(world.client_got(), [""; 0], "once");
}

#[test]
fn a_replaced_question_is_withdrawn_at_the_second_death_too() {
    let mut world = open();
    world.server_says(ASK);
    world.server_dies();
    world.server_says(ASK);
    let replaced = raw_id(world.client_got().last().expect("the question"));
    world.server_dies();
    let withdrawn = value(&world.client_got_one());
    assert_eq!(withdrawn["params"]["requestId"].to_string(), replaced);
}

#[test]
fn once_the_client_has_answered_the_id_is_free_again() {
    let mut world = open();
    world.server_says(ASK);
    world.say(YES);
    world.server_dies();
    world.client_got();
    world.server_says(ASK);
    assert_eq!(world.client_got(), [ASK]);
}

#[test]
fn progress_of_the_client_for_a_dead_question_is_dropped() {
    let mut world = open();
    let ask = r#"{"jsonrpc":"2.0","id":5,"method":"sampling/createMessage","params":{"_meta":{"progressToken":"p"}}}"#;
    let progress = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":1}}"#;
    world.server_says(ask);
    world.server_got();
    world.say(progress);
    assert_eq!(world.server_got(), [progress]);
    world.server_dies();
    world.server_got();
    world.say(progress);
    assert_eq!(world.server_got(), [""; 0]);
}

#[test]
fn a_server_may_ask_while_its_session_is_being_replayed() {
    let mut world = open();
    world.next.push_back(crate::core::testing::Script::deaf());
    world.server_dies();
    world.server_got();
    world.server_says(r#"{"jsonrpc":"2.0","id":3,"method":"ping"}"#);
    assert_eq!(raw_id(&world.client_got_one()), "3");
    world.say(r#"{"jsonrpc":"2.0","id":3,"result":{}}"#);
    assert_eq!(world.server_got(), [r#"{"jsonrpc":"2.0","id":3,"result":{}}"#]);
}

#[test]
fn nobody_hears_of_questions_after_the_client_has_gone() {
    let mut world = open();
    world.server_says(ASK);
    world.client_got();
    world.tell(|slot, now, out| slot.client_gone(now, out));
    assert_eq!(world.client_got(), [""; 0]);
    assert!(world.exit.is_some());
}
