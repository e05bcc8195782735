use std::time::Duration;

use super::*;
use crate::config::load::{Input, Setting, load};
use crate::config::{Delays, OnCall, OnProbeFailure, OnUnhealthy, Server};

fn server(preset: Preset) -> Server {
    let setting = Setting::Named { flag: "--preset", key: "preset", value: preset.name().into() };
    let input = Input { command: vec!["server".into()], settings: vec![setting], ..Input::default() };
    load(&input, &|_, _| Ok(())).unwrap().config.only().clone()
}

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// requirements.md, section 3.
#[test]
fn presets_are_as_in_the_table() {
    let growing = |max| Delays::Exponential { initial: secs(1), multiplier: 2.0, max: secs(max) };
    let schedule = |delays: &[u64]| Delays::Schedule(delays.iter().map(|delay| secs(*delay)).collect());
    use OnCall::{Attempt, Error, Wait};
    use OnProbeFailure::{Close, Count, Restart, Warn};
    let rows = [
        (Preset::Relentless, schedule(&[0, 1, 2, 5, 10, 30, 60]), None, 0.0, Restart, Attempt, true),
        (Preset::Patient, growing(180), None, 0.1, Warn, Attempt, false),
        (Preset::Bounded, growing(16), Some(5), 0.1, Count, Attempt, false),
        (Preset::Network, growing(60), Some(5), 0.1, Restart, Wait, false),
        (Preset::Private, schedule(&[0]), Some(1), 0.0, Close, Error, true),
    ];
    for (preset, delays, max_attempts, jitter, on_failure, on_call, attempts_are_errors) in rows {
        let Server { restart, probe, .. } = server(preset);
        let found = (restart.delays, restart.max_attempts, restart.jitter, probe.on_failure);
        assert_eq!(found, (delays, max_attempts, jitter, on_failure), "{preset:?}");
        assert_eq!((restart.on_call, restart.attempts_are_errors), (on_call, attempts_are_errors), "{preset:?}");
        assert_eq!((restart.min_uptime, restart.min_attempt_interval), (secs(10), secs(1)), "{preset:?}");
    }
}

#[test]
fn health_is_as_in_the_table() {
    for (preset, interval, threshold, on_unhealthy) in [
        (Preset::Relentless, Some(120), 3, OnUnhealthy::Warn),
        (Preset::Patient, Some(120), 3, OnUnhealthy::Warn),
        (Preset::Bounded, Some(60), 3, OnUnhealthy::Restart),
        (Preset::Network, Some(60), 1, OnUnhealthy::Restart),
        (Preset::Private, None, 3, OnUnhealthy::Warn),
    ] {
        let health = server(preset).health;
        assert_eq!(health.interval, interval.map(secs), "{preset:?}");
        assert_eq!((health.threshold, health.on_unhealthy), (threshold, on_unhealthy), "{preset:?}");
        assert_eq!((health.timeout, health.jitter), (secs(60), 0.1), "{preset:?}");
    }
}

#[test]
fn relentless_is_the_default() {
    let input = Input { command: vec!["server".into()], ..Input::default() };
    let default = load(&input, &|_, _| Ok(())).unwrap().config.only().clone();
    assert_eq!(format!("{default:?}"), format!("{:?}", server(Preset::Relentless)));
}
