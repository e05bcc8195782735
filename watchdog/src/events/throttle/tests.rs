use proptest::prelude::*;

use super::*;

/// What the built-in configuration says.
const BUILT_IN: EventThrottle = EventThrottle { burst: 10, every: Duration::from_secs(15 * 60) };

const SAME: Attempt<'static> = Attempt { error: "exit", at_longest: false };

#[test]
fn a_burst_and_then_one_in_a_while_with_the_count() {
    let start = Instant::now();
    let mut throttle = Throttle::for_events(BUILT_IN);
    for n in 0..10 {
        assert_eq!(throttle.admit(start + Duration::from_secs(n), SAME), Some(0));
    }
    let minute = |n: u64| start + Duration::from_secs(9 + 60 * n);
    for n in 1..15 {
        assert_eq!(throttle.admit(minute(n), SAME), None, "minute {n}");
    }
    assert_eq!(throttle.admit(minute(15), SAME), Some(14));
    assert_eq!(throttle.admit(minute(16), SAME), None);
}

/// The numbers of events.md, section 3: a server tried once a minute.
#[test]
fn a_dead_server_makes_about_a_hundred_events_a_day() {
    let start = Instant::now();
    let mut throttle = Throttle::for_events(BUILT_IN);
    let day = (0..24 * 60).filter(|n| throttle.admit(start + Duration::from_secs(60 * n), SAME).is_some()).count();
    assert!((10 + 90..=10 + 96).contains(&day), "{day}");
}

#[test]
fn news_is_admitted() {
    let start = Instant::now();
    let mut throttle = Throttle::new(1, Duration::from_secs(900));
    assert_eq!(throttle.admit(start, SAME), Some(0));
    assert_eq!(throttle.admit(start, SAME), None);
    assert_eq!(throttle.admit(start, Attempt { error: "timeout", ..SAME }), Some(1), "another kind of error");
    assert_eq!(throttle.admit(start, Attempt { error: "timeout", at_longest: true }), Some(0), "the longest delay");
    assert_eq!(throttle.admit(start, Attempt { error: "timeout", at_longest: true }), None, "reached before");
    throttle.reset();
    assert_eq!(throttle.admit(start, SAME), Some(0), "another outage");
}

#[test]
fn a_clock_that_goes_back_does_not_panic() {
    let start = Instant::now() + Duration::from_secs(60);
    let mut throttle = Throttle::new(1, Duration::from_secs(900));
    throttle.admit(start, SAME);
    assert_eq!(throttle.admit(start - Duration::from_secs(60), SAME), None);
}

proptest! {
    #[test]
    fn every_attempt_is_emitted_or_counted(
        attempts in proptest::collection::vec((0_u64..2000, 0_usize..3, any::<bool>()), 0..200),
        burst in 0_u32..20,
    ) {
        let mut now = Instant::now();
        let mut throttle = Throttle::new(burst, Duration::from_secs(900));
        let mut told = 0;
        for (seconds, error, at_longest) in &attempts {
            now += Duration::from_secs(*seconds);
            let attempt = Attempt { error: ["a", "b", "c"][*error], at_longest: *at_longest };
            if let Some(suppressed) = throttle.admit(now, attempt) {
                told += 1 + suppressed;
            }
        }
        prop_assert_eq!(told + throttle.suppressed, u64::try_from(attempts.len()).unwrap());
    }
}
