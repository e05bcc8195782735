use proptest::prelude::*;

use super::*;

const fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

#[test]
fn nothing_is_due_until_somebody_asks() {
    let mut ladder = Ladder::default();
    assert_eq!(ladder.due(Instant::now() + FAR), None);
    assert_eq!(ladder.next(), None);
}

#[test]
fn a_stop_goes_through_both_rungs() {
    let start = Instant::now();
    let mut ladder = Ladder::default();
    ladder.stop(start, ms(100), ms(50));
    assert_eq!((ladder.due(start + ms(99)), ladder.next()), (None, Some(start + ms(100))));
    assert_eq!((ladder.due(start + ms(100)), ladder.next()), (Some(Rung::Term), Some(start + ms(150))));
    assert_eq!(ladder.due(start + ms(149)), None);
    assert_eq!(ladder.due(start + ms(150)), Some(Rung::Kill));
}

#[test]
fn a_kill_skips_the_term_rung() {
    let start = Instant::now();
    let mut ladder = Ladder::default();
    ladder.stop(start, ms(100), ms(50));
    ladder.kill(start + ms(10));
    assert_eq!(ladder.due(start + ms(10)), Some(Rung::Kill));
}

#[test]
fn the_leftovers_of_a_leader_that_ended_by_itself_get_term_and_a_short_grace() {
    let start = Instant::now();
    let mut ladder = Ladder::default();
    ladder.leader_ended(start);
    assert_eq!(ladder.due(start), Some(Rung::Term));
    assert_eq!(ladder.next(), Some(start + LEFTOVER_GRACE));
}

#[test]
fn a_leader_that_ends_in_the_eof_grace_advances_the_ladder_by_a_rung() {
    let start = Instant::now();
    let mut ladder = Ladder::default();
    ladder.stop(start, ms(1000), ms(300));
    ladder.leader_ended(start + ms(20));
    assert_eq!(ladder.due(start + ms(20)), Some(Rung::Term));
    assert_eq!(ladder.next(), Some(start + ms(320)));
}

#[test]
fn a_leader_that_ends_in_the_term_grace_repeats_term_and_leaves_the_end_where_it_was() {
    let start = Instant::now();
    let mut ladder = Ladder::default();
    ladder.stop(start, ms(0), ms(300));
    assert_eq!(ladder.due(start), Some(Rung::Term));
    ladder.leader_ended(start + ms(20));
    assert_eq!(ladder.due(start + ms(20)), Some(Rung::Term));
    assert_eq!((ladder.due(start + ms(21)), ladder.next()), (None, Some(start + ms(300))));
}

#[test]
fn a_leader_that_is_killed_at_the_end_of_the_ladder_changes_nothing() {
    let start = Instant::now();
    let mut ladder = Ladder::default();
    ladder.kill(start);
    assert_eq!(ladder.due(start), Some(Rung::Kill));
    ladder.leader_ended(start + ms(1));
    assert_eq!(ladder.due(start + ms(1)), Some(Rung::Kill));
}

#[test]
fn the_longest_durations_do_not_overflow() {
    let mut ladder = Ladder::default();
    ladder.stop(Instant::now(), Duration::MAX, Duration::MAX);
    assert_eq!(ladder.due(Instant::now()), None);
}

proptest! {
    #[test]
    fn later_stops_only_shorten(stops in proptest::collection::vec((0_u64..500, 0_u64..500, 0_u64..500), 1..8)) {
        let start = Instant::now();
        let mut ladder = Ladder::default();
        let mut now = start;
        let mut earliest = None::<Instant>;
        for (pause, eof, term) in stops {
            now += ms(pause);
            ladder.stop(now, ms(eof), ms(term));
            let kill = now + ms(eof) + ms(term);
            earliest = Some(earliest.map_or(kill, |old| old.min(kill)));
        }
        let end = earliest.unwrap();
        prop_assert!(ladder.next().unwrap() <= end);
        prop_assert_eq!(ladder.due(end), Some(Rung::Kill));
        if end > start {
            prop_assert_ne!(ladder.due(end - ms(1)), Some(Rung::Kill));
        }
    }
}
