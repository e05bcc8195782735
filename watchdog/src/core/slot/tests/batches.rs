//! Batches, which 2025-03-26 alone has.

use std::time::Duration;

use nix::time::ClockId;

use crate::config::OnCall;
use crate::core::ending::Ending;
use crate::core::ids::CallId;
use crate::core::slot::Lost;
use crate::core::testing::{
    INITIALIZE, INITIALIZED, Script, World, answer_line, call_line, cancel_line, ids, refused, secs,
};
use crate::wire::id::Id;
use crate::wire::lines::{Oversized, OversizedKind, OversizedMessage};

const CALLS: &str = r#"[ {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}} , {"jsonrpc":"2.0","id":2,"method":"resources/read"} ]"#;

fn script() -> Script {
    Script { version: "2025-03-26", ..Script::default() }
}

fn open() -> World {
    let mut world = World::with_servers([script()], |_| ());
    world.script = script();
    world.open();
    world
}

#[test]
fn a_batch_goes_through_as_it_is_and_each_request_is_owed_an_answer() {
    let mut world = open();
    world.say(CALLS);
    assert_eq!(world.server_got(), [CALLS]);
    assert_eq!(world.slot.in_flight(), 2);
    let answers = format!("[{} ,{}]", answer_line("2"), answer_line("1"));
    world.server_says(&answers);
    assert_eq!((world.client_got(), world.slot.in_flight()), (vec![answers], 0));
}

#[test]
fn its_answers_may_come_apart_and_what_the_client_must_not_see_is_taken_out() {
    let mut world = open();
    world.say(CALLS);
    world.cancel("1");
    world.server_says(&format!("[{},{}]", answer_line("1"), answer_line("2")));
    assert_eq!(world.client_got(), [format!("[{}]", answer_line("2"))]);
    world.server_says(&format!("[{}]", answer_line("2")));
    assert_eq!(world.client_got(), [""; 0]);
}

#[test]
fn a_request_that_its_own_batch_cancels_is_owed_no_answer() {
    let mut world = open();
    let batch = format!("[{},{},{}]", call_line("1", "t"), cancel_line("1"), call_line("2", "t"));
    world.say(&batch);
    assert_eq!((world.server_got(), world.slot.in_flight()), (vec![batch], 1));
    world.server_answers("1");
    assert_eq!(world.client_got(), [""; 0]);
    world.server_answers("2");
    assert_eq!(world.client_got(), [answer_line("2")]);
}

#[test]
fn at_death_each_request_has_its_own_fate() {
    let mut world = open();
    world.say(CALLS);
    world.server_dies();
    refused(&world.client_got_one(), "1", -31000);
    let again = world.server_got().pop().expect("the read");
    assert_eq!(again, r#"{"jsonrpc":"2.0","id":2,"method":"resources/read"}"#);
    world.server_answers("2");
    assert_eq!(world.client_got(), [answer_line("2")]);
}

#[test]
fn a_batch_that_was_never_written_waits_again_as_a_whole() {
    let mut world = open();
    world.say(CALLS);
    world.server_dies_unread(1);
    assert_eq!(world.client_got(), [""; 0]);
    let got: Vec<_> = world.server_got().into_iter().skip(2).collect();
    assert_eq!(got, [CALLS], "once, and not its parts beside it");
    assert_eq!(world.slot.in_flight(), 2);
}

#[test]
fn what_is_cancelled_of_a_waiting_batch_is_never_sent() {
    let mut world = open();
    world.say(CALLS);
    world.cancel("1");
    world.lingering = true;
    world.server_dies_unread(1);
    world.gone();
    let read = r#"[{"jsonrpc":"2.0","id":2,"method":"resources/read"}]"#;
    assert_eq!(world.server_got().last().map(String::as_str), Some(read));
    world.server_dies();
    world.say(CALLS.replace("\"id\":2", "\"id\":3").as_str());
    world.cancel("3");
    world.gone();
    world.advance(secs(1));
    let got = world.server_got();
    assert!(got.contains(&format!("[{}]", call_line("1", "t"))), "{got:?}");
}

#[test]
fn a_held_batch_is_sent_as_it_is_and_refused_one_by_one() {
    let mut world = World::with_servers([script(), Script::deaf()], |server| server.restart.hold_max_requests = 1);
    world.open();
    world.server_dies();
    world.say(CALLS);
    let got = world.client_got();
    assert_eq!(ids(&got), ["1", "2"]);
    refused(&got[0], "1", -31007);

    let mut world = open();
    world.lingering = true;
    world.server_dies();
    world.say(CALLS);
    world.gone();
    assert_eq!(world.server_got().last().map(String::as_str), Some(CALLS));
}

#[test]
fn answers_in_a_batch_are_restored_or_swallowed_like_others() {
    let mut world = open();
    let ask = r#"{"jsonrpc":"2.0","id":0,"method":"roots/list"}"#;
    world.server_says(ask);
    world.server_dies();
    world.server_says(ask);
    let replaced = crate::core::testing::raw_id(world.client_got().last().expect("the question"));
    world.server_got();
    world.say(&format!("[{},{}]", answer_line("0"), answer_line(&replaced)));
    assert_eq!(world.server_got(), [format!("[{}]", answer_line("0"))], "the late one is out, the other one restored");
    world.say(&format!("[{}]", answer_line("0")));
    assert_eq!(world.server_got(), [""; 0]);
}

#[test]
fn a_cancel_of_an_older_generations_request_is_taken_out() {
    let mut world = open();
    world.call("9", "t");
    world.server_dies();
    world.forget();
    world.say(&format!("[{},{}]", cancel_line("9"), call_line("10", "t")));
    assert_eq!(world.server_got(), [format!("[{}]", call_line("10", "t"))]);
}

#[test]
fn an_initialized_in_a_batch_is_remembered() {
    let mut world = World::with_servers([script()], |_| ());
    world.script = script();
    world.say(INITIALIZE);
    world.say(&format!("[{INITIALIZED}]"));
    world.server_dies();
    assert_eq!(world.server_got_methods(), ["initialize", "notifications/initialized"]);
}

#[test]
fn a_batch_of_notifications_for_nobody_is_dropped() {
    let mut world = open();
    world.lingering = true;
    world.server_dies();
    world.say(r#"[{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}]"#);
    world.gone();
    assert_eq!(world.server_got_methods(), ["initialize", "notifications/initialized"]);
}

#[test]
fn what_is_no_batch_is_refused_or_goes_to_the_log() {
    let mut world = open();
    world.say("[]");
    world.say("[{]");
    let got = world.client_got();
    assert!(got[0].contains("-32600") && got[1].contains("-32700"), "{got:?}");
    world.server_says("[]");
    world.server_says("[1]");
    assert_eq!((world.client_got(), world.strays.len()), (vec![], 2));
}

#[test]
fn other_versions_have_no_batches() {
    let mut world = World::new(|_| ());
    world.open();
    world.say(CALLS);
    assert!(world.client_got_one().contains("no batches"));
    world.server_says(&format!("[{}]", answer_line("1")));
    assert_eq!((world.client_got(), world.strays.len()), (vec![], 1));
}

#[test]
fn what_is_no_request_in_a_batch_that_was_never_written_is_not_for_the_next_server() {
    let mut world = open();
    let ask = r#"{"jsonrpc":"2.0","id":0,"method":"roots/list"}"#;
    world.server_says(ask);
    let changed = r#"{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}"#;
    world.say(&format!("[{},{},{changed}]", answer_line("0"), call_line("1", "t")));
    world.server_dies_unread(1);
    assert_eq!(world.server_got().last(), Some(&format!("[{}]", call_line("1", "t"))));
}

#[test]
fn a_batch_is_a_sign_of_life_like_any_other_line() {
    let mut world = open();
    world.call("1", "slow");
    world.advance(secs(40));
    let generation = world.generation();
    let batch = r#"[{"jsonrpc":"2.0","method":"notifications/message"}]"#;
    world.tell(|slot, now, out| slot.server_told(now, generation, batch, out));
    world.probe_meets_silence();
    world.gone();
    assert_eq!(world.generation().0, 1, "it writes");
}

/// A world in which a ping of ours under this id is not answered.
fn pinged() -> (World, String) {
    let mut world = World::with_servers([Script { ignores: &["ping"], ..script() }], |_| ());
    world.script = script();
    world.open();
    let generation = world.generation();
    world.tell(|slot, now, out| slot.probe_call(now, generation, CallId(1), "ping", None, out));
    let ours = ids(&world.server_got()).remove(0);
    (world, ours)
}

#[test]
fn a_batch_with_an_id_that_ours_has_in_flight_waits_for_it_as_a_whole() {
    let ask = r#"{"jsonrpc":"2.0","id":0,"method":"roots/list"}"#;
    let (mut world, ours) = pinged();
    world.server_says(ask);
    world.client_got_one();
    let batch = format!("[{} , {},{}]", call_line("1", "t"), call_line(&ours, "t"), answer_line("0"));
    world.say(&batch);
    world.call("2", "t");
    assert_eq!(world.server_got(), [call_line("2", "t")], "others do not wait");
    world.server_answers(&ours);
    assert_eq!((world.client_got(), world.server_got()), (vec![], vec![batch]), "ours is answered, and it goes on");
    world.server_answers(&ours);
    assert_eq!((world.client_got(), world.replies.len()), (vec![answer_line(&ours)], 1));

    let (mut world, ours) = pinged();
    let batch = format!("[{}]", call_line(&ours, "t"));
    world.say(&batch);
    world.advance(secs(10));
    assert_eq!(world.server_got(), [batch], "ours is given up");
    world.server_answers(&ours);
    assert_eq!((world.client_got(), world.replies.len()), (vec![answer_line(&ours)], 0));

    let (mut world, ours) = pinged();
    let batch = format!("[{}]", call_line(&ours, "t"));
    world.say(&batch);
    world.server_dies();
    assert_eq!((world.client_got(), world.server_got().last()), (vec![], Some(&batch)), "no process had it");
}

#[test]
fn a_request_in_a_batch_that_waits_for_ours_can_be_cancelled() {
    let (mut world, ours) = pinged();
    world.say(&format!("[{},{}]", call_line("1", "t"), call_line(&ours, "t")));
    world.cancel("1");
    world.cancel("77");
    world.server_answers(&ours);
    let got = world.server_got();
    assert_eq!(got[0], format!("[{}]", call_line(&ours, "t")));

    let (mut world, ours) = pinged();
    let changed = r#"{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}"#;
    world.say(&format!("[{}]", call_line(&ours, "t")));
    world.say(&format!("[{},{changed}]", call_line(&ours, "t")));
    world.call(&ours, "t");
    world.cancel(&ours);
    world.server_answers(&ours);
    assert_eq!((world.client_got(), world.server_got()), (vec![], vec![format!("[{changed}]")]), "the rest was not");
}

#[test]
fn what_is_no_request_in_a_batch_that_has_to_wait_is_for_the_process_that_is_there() {
    let changed = r#"{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}"#;
    let answer = answer_line("0");
    for (on_call, rest) in [(OnCall::Attempt, ""), (OnCall::Error, ""), (OnCall::Attempt, "alone")] {
        let mut world = open();
        world.tell(|slot, now, out| {
            let mut config = (**slot.config()).clone();
            config.restart.on_call = on_call;
            slot.configure(now, config.into(), false, out);
        });
        world.next.push_back(Script::deaf());
        world.server_dies();
        world.server_got();
        world.server_says(r#"{"jsonrpc":"2.0","id":0,"method":"ping"}"#);
        world.client_got_one();
        let call = if rest.is_empty() { format!(",{}", call_line("1", "t")) } else { String::new() };
        world.say(&format!("[{answer},{changed}{call}]"));
        assert_eq!(world.server_got(), [format!("[{answer}]")], "it waits for that, and takes nothing else yet");
        assert_eq!(world.client_got().len(), usize::from(on_call == OnCall::Error));
        world.server_dies();
        world.advance(secs(1));
        let got = world.server_got();
        assert!(!got.iter().any(|line| line.contains("list_changed") || line.contains(&answer)), "{got:?}");
        let waited = rest.is_empty() && on_call == OnCall::Attempt;
        assert_eq!(
            world.client_got().len() + got.iter().filter(|line| line.contains("tools/call")).count(),
            usize::from(waited)
        );
    }
}

#[test]
fn an_opening_in_a_batch_has_its_time_too() {
    let mut world = World::with_servers([Script::deaf(), script()], |server| server.handshake.timeout = secs(3));
    world.say(&format!("[{INITIALIZE}]"));
    world.advance(secs(3));
    assert_eq!(world.generation().0, 2);
    assert!(world.client_got_one().contains("\"id\":0.0"));
}

#[test]
fn what_stands_behind_the_answer_that_was_a_servers_end_is_not_heard() {
    let mut world = open();
    world.next.push_back(Script::deaf());
    world.server_dies();
    let ours = ids(&world.server_got()).remove(0);
    let other = r#""result":{"protocolVersion":"2024-11-05","capabilities":{}}"#;
    let ask = r#"{"jsonrpc":"2.0","id":0,"method":"roots/list"}"#;
    world.lingering = true;
    world.server_says(&format!(r#"[{{"jsonrpc":"2.0","id":{ours},{other}}},{ask}]"#));
    assert_eq!(world.told("handshake_incompatible").len(), 1);
    assert_eq!(world.client_got(), [""; 0]);
}

/// However the requests of one line come to be refused all at once, the last words of the server are not told in each of them.
#[test]
fn a_line_of_many_refusals_tells_the_last_words_in_the_first_of_them() {
    const MANY: usize = 20_000;
    let tail = vec!["x".repeat(500); 10];
    let end = || Lost { ending: Some(Ending::Signal(9)), tail: tail.clone(), ..Lost::default() };
    let requests: Vec<_> = (1..=MANY).map(|id| call_line(&id.to_string(), "t")).collect();
    let batch = format!("[{}]", requests.join(","));
    let failed = |world: &World| world.slot.lifecycle().state_name() == "PermanentlyFailed";
    for way in ["in flight", "more than may wait", "waits for too long", "may not wait", "for good", "too long"] {
        let mut world = open();
        world.script = Script { refuses: &["initialize"], ..script() };
        world.tell(|slot, now, out| {
            let mut config = (**slot.config()).clone();
            config.restart.on_call = if way == "may not wait" { OnCall::Error } else { OnCall::Attempt };
            config.restart.hold_max_requests = if way == "waits for too long" { MANY } else { 1000 };
            config.restart.hold_max_bytes = 1 << 26;
            config.restart.max_attempts = Some(if way == "for good" { 1 } else { 9 });
            slot.configure(now, config.into(), false, out);
        });
        if way == "in flight" {
            world.say(&batch);
        }
        world.server_ends(end());
        if way == "for good" {
            world.advance(secs(60));
            assert!(failed(&world));
        }
        match way {
            "in flight" => (),
            "too long" => {
                let message = |id: usize| OversizedMessage {
                    id: Some(Id::from_int(id.try_into().unwrap())),
                    kind: OversizedKind::Request,
                };
                let line = Oversized { len: 1 << 26, messages: (1..=MANY).map(message).collect() };
                world.tell(|slot, now, out| slot.client_oversized(now, &line, out));
            }
            _ => world.say(&batch),
        }
        world.advance(secs(600));
        let got = world.client_got();
        assert_eq!(got.len(), MANY, "{way}");
        assert!(got[0].contains("stderrTail"), "{way}: {}", got[0]);
        let bytes: usize = got.iter().map(String::len).sum();
        assert!(bytes < MANY * 1000 + 1000 * 6000, "{way}: {bytes}");
    }
}

/// One client must not hold up the others, nor the end of the program. Were each request looked for among all others, it would cost
/// many times what it may here.
#[test]
fn a_batch_costs_in_proportion_to_its_length() {
    const MANY: usize = 40_000;
    let busy = || ClockId::CLOCK_THREAD_CPUTIME_ID.now().unwrap();
    let begin = busy();
    let requests = (1..=MANY).map(|id| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"x/y"}}"#));
    let requests = requests.collect::<Vec<_>>().join(",");
    let cancels = (1..=MANY).rev().map(|id| cancel_line(&id.to_string())).collect::<Vec<_>>().join(",");
    let mut world = open();
    world.say(&format!("[{requests},{cancels}]"));
    assert_eq!((world.slot.in_flight(), world.server_got().len()), (0, 1));
    world.next.push_back(Script::deaf());
    world.server_dies();
    world.say(&format!("[{requests}]"));
    assert_eq!(world.client_got().len(), MANY, "more than may wait");
    let took = Duration::from(busy() - begin);
    assert!(took < secs(20), "{took:?}");
}
