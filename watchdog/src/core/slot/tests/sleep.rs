//! Time that is none: the machine sleeps, or this process is stopped.

use crate::core::testing::{INITIALIZE, Script, World, refused, secs};
use crate::exit::Exit;

fn open() -> World {
    let mut world = World::new(|_| ());
    world.open();
    world
}

/// An hour that the monotonic clock has counted, as it does while a process is stopped.
fn stand_still(world: &mut World) {
    world.now += secs(3600);
    world.slot.stood_still(secs(3600));
    world.tell(|slot, now, out| slot.tick(now, out));
}

#[test]
fn a_standstill_is_not_held_against_a_handshake() {
    let mut world = World::with_servers([Script::deaf()], |server| server.handshake.timeout = secs(3));
    world.say(INITIALIZE);
    world.advance(secs(2));
    stand_still(&mut world);
    assert_eq!(world.generation().0, 1);
    world.advance(secs(1));
    assert_eq!(world.generation().0, 2, "its three seconds are over");
}

#[test]
fn a_standstill_is_not_held_against_what_waits_or_is_drained() {
    let mut world = open();
    world.call("1", "t");
    world.tell(|slot, now, out| slot.client_eof(now, out));
    stand_still(&mut world);
    assert_eq!(world.exit, None);
    world.server_answers("1");
    assert_eq!((world.client_got().len(), world.exit), (1, Some(Exit::Done)));

    let mut world = World::with_servers([Script::default(), Script::deaf()], |server| server.restart.hold = secs(10));
    world.open();
    world.server_dies();
    world.forget();
    world.call("1", "t");
    world.advance(secs(9));
    stand_still(&mut world);
    assert!(world.client_got().is_empty());
    world.advance(secs(1));
    refused(&world.client_got_one(), "1", -31002);
}

/// A restart that was to wait a minute does not: whatever was wrong was before the sleep (S36).
#[test]
fn s36_a_wait_is_over_when_the_machine_wakes_up_and_the_row_begins_anew() {
    let dead = || Script { dies_at_start: true, ..Script::default() };
    let mut world = World::new(|_| ());
    world.open();
    world.script = dead();
    world.server_dies();
    for delay in [1, 2, 5, 10, 30] {
        world.advance(secs(delay));
    }
    let before = world.generation().0;
    world.advance(secs(59));
    assert_eq!(world.generation().0, before, "it waits for a minute");
    world.tell(|slot, now, out| slot.wake(now, secs(3600), out));
    assert_eq!(world.generation().0, before + 2, "at once, and at once again, as in every row");
    assert_eq!(world.told("clock_jump")[0]["jumpMs"], 3_600_000);
    world.advance(secs(1));
    assert_eq!(world.generation().0, before + 3);
}
