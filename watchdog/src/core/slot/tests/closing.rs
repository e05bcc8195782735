//! The end: by the client, by a signal, and in what order.

use crate::core::testing::{INITIALIZE, Script, World, answer_line, millis, raw_id, refused, secs};
use crate::exit::Exit;

fn open() -> World {
    let mut world = World::new(|_| ());
    world.open();
    world
}

fn eof(world: &mut World) {
    world.tell(|slot, now, out| slot.client_eof(now, out));
}

fn signal(world: &mut World, number: i32) {
    world.tell(|slot, now, out| slot.signal(now, number, out));
}

#[test]
fn an_idle_client_that_leaves_ends_everything() {
    let mut world = open();
    eof(&mut world);
    assert_eq!((world.exit, world.generation().0), (Some(Exit::Done), 1));
    assert_eq!(world.client_got(), [""; 0]);
}

#[test]
fn what_is_in_flight_is_drained_first() {
    let mut world = open();
    world.call("1", "t");
    world.call("2", "t");
    eof(&mut world);
    world.advance(secs(1));
    world.server_answers("1");
    assert_eq!(world.exit, None);
    world.server_answers("2");
    assert_eq!((world.client_got().len(), world.exit), (2, Some(Exit::Done)));
}

#[test]
fn a_drain_has_a_limit_and_then_the_answers_of_the_ladder_still_count() {
    let mut world = open();
    world.lingering = true;
    world.call("1", "t");
    world.call("2", "t");
    eof(&mut world);
    world.advance(secs(5));
    assert_eq!(world.client_got(), [""; 0]);
    world.server_answers("1");
    assert_eq!(world.client_got(), [answer_line("1")], "the server was asked to end and says a last word");
    world.gone();
    let data = refused(&world.client_got_one(), "2", -31000);
    assert_eq!((&data["reason"], &data["sent"]), (&"shutdown".into(), &true.into()));
    assert_eq!(world.exit, Some(Exit::Done));
}

#[test]
fn what_waits_for_a_server_is_drained_by_the_attempt_that_runs() {
    let mut world = open();
    world.next.push_back(Script::deaf());
    world.server_dies();
    let replay = world.server_got().remove(0);
    world.call("1", "t");
    eof(&mut world);
    let id = raw_id(&replay);
    world.server_says(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"protocolVersion":"2025-06-18"}}}}"#));
    world.server_answers("1");
    assert_eq!((world.client_got(), world.exit), (vec![answer_line("1")], Some(Exit::Done)));
}

#[test]
fn no_server_is_started_once_the_end_has_begun() {
    // The attempt that runs is refused.
    let mut world = open();
    world.next.push_back(Script::deaf());
    world.server_dies();
    let replay = world.server_got().remove(0);
    world.call("1", "t");
    eof(&mut world);
    let id = raw_id(&replay);
    world.server_says(&format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":1,"message":"no"}}}}"#));
    refused(&world.client_got_one(), "1", -31006);
    assert_eq!((world.generation().0, world.exit), (2, Some(Exit::Done)));

    // The attempt is scheduled.
    let mut world = open();
    world.script = Script { dies_at_start: true, ..Script::default() };
    world.server_dies();
    world.call("1", "t");
    eof(&mut world);
    refused(&world.client_got_one(), "1", -31000);
    assert_eq!((world.generation().0, world.exit), (2, Some(Exit::Done)));
}

#[test]
fn a_server_that_dies_during_the_drain_is_not_replaced() {
    let mut world = open();
    world.call("1", "t");
    world.request("2", "resources/read");
    eof(&mut world);
    world.server_dies();
    let got = world.client_got();
    refused(&got[0], "1", -31000);
    refused(&got[1], "2", -31000);
    assert_eq!((world.generation().0, world.exit), (1, Some(Exit::Done)));
}

#[test]
fn a_client_that_hung_up_with_words_unread_is_heard_to_the_end() {
    let mut world = open();
    world.tell(|slot, now, out| slot.client_hung_up(now, out));
    world.call("1", "t");
    assert_eq!(world.exit, None);
    eof(&mut world);
    world.server_answers("1");
    assert_eq!((world.client_got(), world.exit), (vec![answer_line("1")], Some(Exit::Done)));
    let mut world = open();
    world.tell(|slot, now, out| slot.client_hung_up(now, out));
    world.advance(secs(5));
    assert_eq!(world.exit, Some(Exit::Done), "but not for ever");
}

#[test]
fn a_signal_ends_at_once_and_its_number_is_the_exit_code() {
    let mut world = open();
    world.lingering = true;
    world.call("1", "t");
    signal(&mut world, 15);
    assert_eq!((world.client_got(), world.exit), (vec![], None), "the ladder runs");
    world.call("2", "t");
    refused(&world.client_got_one(), "2", -31000);
    world.cancel("1");
    world.gone();
    assert_eq!((world.client_got(), world.exit), (vec![], Some(Exit::Signal(15))));
}

#[test]
fn a_second_signal_kills() {
    let mut world = open();
    world.lingering = true;
    world.call("1", "t");
    signal(&mut world, 2);
    signal(&mut world, 2);
    refused(&world.client_got_one(), "1", -31000);
    assert_eq!(world.exit, Some(Exit::Signal(2)));
}

/// Both come at once where somebody kills the guard of the first start and ends the watchdog.
#[test]
fn a_signal_right_behind_a_failure_of_our_own_is_why_it_ended() {
    let ended = |exit: Exit, spoken: bool| {
        let mut world = World::with_servers([Script::deaf()], |_| ());
        if spoken {
            world.say(INITIALIZE);
        }
        let generation = world.generation();
        // Its tree is not known to be gone yet.
        world.lingering = true;
        world.tell(|slot, now, out| slot.cannot_start(now, generation, "broken pipe".to_owned(), exit, true, out));
        signal(&mut world, 15);
        world.gone();
        world.exit
    };
    for spoken in [false, true] {
        assert_eq!(ended(Exit::Internal, spoken), Some(Exit::Signal(15)), "the client spoke: {spoken}");
        assert_eq!(ended(Exit::NotFound, spoken), Some(Exit::NotFound), "the client spoke: {spoken}");
    }
}

#[test]
fn a_signal_during_the_drain_ends_the_drain_and_gives_the_server_its_ladder() {
    let mut world = open();
    world.lingering = true;
    world.call("1", "t");
    eof(&mut world);
    signal(&mut world, 15);
    assert!(world.lingering, "no kill yet");
    signal(&mut world, 15);
    assert_eq!(world.exit, Some(Exit::Signal(15)));
}

#[test]
fn a_client_that_does_not_read_any_more_is_told_nothing_and_nothing_is_drained() {
    let mut world = open();
    world.call("1", "t");
    world.tell(|slot, now, out| slot.client_gone(now, out));
    assert_eq!((world.client_got(), world.exit), (vec![], Some(Exit::Done)));
    let mut world = open();
    world.call("1", "t");
    eof(&mut world);
    world.tell(|slot, now, out| slot.client_gone(now, out));
    assert_eq!((world.client_got(), world.exit), (vec![], Some(Exit::Done)));
}

#[test]
fn an_end_before_the_first_answer_is_an_end_too() {
    let mut world = World::with_servers([Script::deaf()], |_| ());
    eof(&mut world);
    assert_eq!(world.exit, Some(Exit::Done), "nothing was asked");
    let mut world = World::with_servers([Script::deaf()], |_| ());
    world.say(INITIALIZE);
    eof(&mut world);
    world.advance(secs(5) - millis(1));
    assert_eq!(world.exit, None);
    world.advance(millis(1));
    refused(&world.client_got_one(), "0.0", -31000);
    assert_eq!(world.exit, Some(Exit::Done));
}

#[test]
fn a_deadline_during_the_ladder_is_not_told_to_the_server() {
    let mut world = World::new(|server| server.request_deadline = Some(secs(2)));
    world.open();
    world.lingering = true;
    world.call("1", "t");
    signal(&mut world, 15);
    world.advance(secs(2));
    refused(&world.client_got_one(), "1", -31001);
}

#[test]
fn s74_the_end_schedules_nothing() {
    let mut world = open();
    world.script = Script { dies_at_start: true, ..Script::default() };
    world.server_dies();
    signal(&mut world, 15);
    assert_eq!((world.exit, world.slot.next_wake()), (Some(Exit::Signal(15)), None));
}

#[test]
fn a_signal_after_the_budget_was_used_up_during_the_drain_kills() {
    let mut world = World::that_exits([], |server| server.restart.max_attempts = Some(1));
    world.open();
    world.next.push_back(Script::deaf());
    world.server_dies();
    let replay = world.server_got().remove(0);
    world.call("1", "t");
    eof(&mut world);
    world.lingering = true;
    let id = raw_id(&replay);
    world.server_says(&format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":1,"message":"no"}}}}"#));
    refused(&world.client_got_one(), "1", -31005);
    signal(&mut world, 15);
    assert_eq!(world.exit, Some(Exit::PermanentFailure), "nothing was left to drain");
}

#[test]
fn the_end_waits_no_longer_once_an_overdue_caller_knows_of_the_new_server() {
    let mut world = World::new(|_| ());
    world.open();
    world.call("1", "hangs");
    world.advance(secs(40));
    world.next.push_back(Script::deaf());
    world.probe_meets_silence();
    world.gone();
    world.tell(|slot, now, out| slot.client_eof(now, out));
    assert_eq!((world.client_got(), world.exit), (vec![], None), "the outcome is awaited");
    let replayed = raw_id(world.server_got().last().expect("the handshake"));
    world.server_says(&format!(
        r#"{{"jsonrpc":"2.0","id":{replayed},"result":{{"protocolVersion":"2025-06-18","capabilities":{{}}}}}}"#
    ));
    refused(&world.client_got_one(), "1", -31001);
    world.gone();
    assert_eq!(world.exit, Some(Exit::Done), "without shutdown.drain");
}
