//! The presets: named bundles of restart, health and probe values, each after one school of supervision.
//!
//! A preset lies between the built-in values and everything that is written, so any key may still be overridden.

use super::text::words;

/// `preset`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Preset {
    /// Probes before it restarts, restarts at fixed delays, never gives up. The default.
    Relentless,
    /// Grows its delays up to three minutes, never gives up, and takes a failed probe as a warning.
    Patient,
    /// Gives up after five attempts, until a call makes one more.
    Bounded,
    /// For servers behind a network: restarts at the first failed health check, gives up after five attempts.
    Network,
    /// One restart, no probes, no health checks.
    Private,
}

words!(Preset {
    "relentless" => Preset::Relentless,
    "patient" => Preset::Patient,
    "bounded" => Preset::Bounded,
    "network" => Preset::Network,
    "private" => Preset::Private,
});

impl Preset {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Relentless, Self::Patient, Self::Bounded, Self::Network, Self::Private];

    /// Its name in files and options.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Relentless => "relentless",
            Self::Patient => "patient",
            Self::Bounded => "bounded",
            Self::Network => "network",
            Self::Private => "private",
        }
    }

    /// Its values, as a server's section. What is not there is as built in.
    pub(crate) const fn section(self) -> &'static str {
        match self {
            Self::Relentless => RELENTLESS,
            Self::Patient => PATIENT,
            Self::Bounded => BOUNDED,
            Self::Network => NETWORK,
            Self::Private => PRIVATE,
        }
    }
}

const RELENTLESS: &str = "
restart: {delays: [0s, 1s, 2s, 5s, 10s, 30s, 60s], max_attempts: unlimited, jitter: 0.0, on_call: attempt,
  attempts_are_errors: true}
probe: {on_failure: restart}
health: {interval: 120s, timeout: 60s, threshold: 3, on_unhealthy: warn}
";

const PATIENT: &str = "
restart: {initial_delay: 1s, multiplier: 2, max_delay: 180s, max_attempts: unlimited, jitter: 0.1, on_call: attempt,
  attempts_are_errors: false}
probe: {on_failure: warn}
health: {interval: 120s, timeout: 60s, threshold: 3, on_unhealthy: warn}
";

const BOUNDED: &str = "
restart: {initial_delay: 1s, multiplier: 2, max_delay: 16s, max_attempts: 5, jitter: 0.1, on_call: attempt,
  attempts_are_errors: false}
probe: {on_failure: count}
health: {interval: 60s, timeout: 60s, threshold: 3, on_unhealthy: restart}
";

const NETWORK: &str = "
restart: {initial_delay: 1s, multiplier: 2, max_delay: 60s, max_attempts: 5, jitter: 0.1, on_call: wait,
  attempts_are_errors: false}
probe: {on_failure: restart}
health: {interval: 60s, timeout: 60s, threshold: 1, on_unhealthy: restart}
";

const PRIVATE: &str = "
restart: {delays: [0s], max_attempts: 1, jitter: 0.0, on_call: error, attempts_are_errors: true}
probe: {on_failure: close}
health: {interval: off}
";

#[cfg(test)]
mod tests;
