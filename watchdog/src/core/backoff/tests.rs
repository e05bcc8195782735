use super::*;

fn backoff(delays: Delays, jitter: f64, max: Option<u32>) -> Backoff {
    Backoff { delays, jitter, max_attempts: max, attempts: 0, scheduled: 0 }
}

fn secs(list: &[u64]) -> Vec<Duration> {
    list.iter().map(|s| Duration::from_secs(*s)).collect()
}

#[test]
fn s244_the_last_delay_of_a_schedule_is_held() {
    let mut row = backoff(Delays::Schedule(secs(&[0, 1, 2, 5])), 0.0, None);
    let taken: Vec<_> = (0..6).map(|_| row.next_delay(0.5)).collect();
    assert_eq!(taken, secs(&[0, 1, 2, 5, 5, 5]));
    row.reset();
    assert_eq!(row.next_delay(0.5), Duration::ZERO);
}

#[test]
fn s54_exponential_delays_grow_to_the_cap_with_ten_percent_of_jitter() {
    let delays =
        Delays::Exponential { initial: Duration::from_secs(1), multiplier: 2.0, max: Duration::from_secs(180) };
    let row = backoff(delays.clone(), 0.1, None);
    let plain: Vec<_> = (0..10).map(|n| row.delay(n)).collect();
    assert_eq!(plain, secs(&[1, 2, 4, 8, 16, 32, 64, 128, 180, 180]));
    assert_eq!(row.delay(u32::MAX), Duration::from_secs(180));
    let mut low = backoff(delays.clone(), 0.1, None);
    let mut high = backoff(delays, 0.1, None);
    assert_eq!(low.next_delay(0.0), Duration::from_millis(900));
    assert_eq!(high.next_delay(1.0), Duration::from_millis(1100));
}

#[test]
fn s82_the_budget_counts_attempts_until_it_is_reset() {
    let mut row = backoff(Delays::Schedule(secs(&[0])), 0.0, Some(2));
    assert!(!row.exhausted());
    row.attempt();
    row.attempt();
    assert!(row.exhausted());
    row.reset();
    assert!(!row.exhausted());
    let mut endless = backoff(Delays::Schedule(secs(&[0])), 0.0, None);
    for _ in 0..1000 {
        endless.attempt();
    }
    assert!(!endless.exhausted());
}
