//! `WATCHDOG=1`: a sign of life that the engine gives, and that stops when the engine does.

use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval as ticks};

use super::socket::Socket;
use crate::engine::Handle;

/// How often a sign of life is wanted, by the environment: half of `WATCHDOG_USEC`, as sd_watchdog_enabled(3) advises. `None` where
/// none is, or where another process is meant: `WATCHDOG_PID` has to be `own`, or `init`, the process that this one divided from.
pub(super) fn interval(variable: impl Fn(&str) -> Option<OsString>, own: u32, init: Option<u32>) -> Option<Duration> {
    let number = |name| variable(name).and_then(|value| value.to_str()?.parse::<u64>().ok());
    let meant = match variable("WATCHDOG_PID") {
        None => true,
        Some(_) => number("WATCHDOG_PID").is_some_and(|pid| [Some(own), init].contains(&u32::try_from(pid).ok())),
    };
    let wanted = number("WATCHDOG_USEC").filter(|microseconds| meant && *microseconds > 0)?;
    // A timer has milliseconds.
    Some((Duration::from_micros(wanted) / 2).max(Duration::from_millis(1)))
}

/// Gives signs of life, for ever. Each follows an answer of every server's task: one that is stuck stops them, as it fails `/livez`.
pub(super) async fn beat(handle: Handle, every: Duration, socket: Arc<Socket>) {
    let mut ticks = ticks(every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut stuck = false;
    loop {
        ticks.tick().await;
        let answers = handle.answering(every).await;
        let silent = answers.iter().find(|(_, answered)| !answered);
        match silent {
            None => socket.send("WATCHDOG=1\n").await,
            Some((server, _)) if !stuck => {
                tracing::error!("the service manager gets no sign of life: the task of \"{server}\" does not answer");
            }
            Some(_) => {}
        }
        stuck = silent.is_some();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)]) -> Option<u128> {
        let value = |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| value.into());
        interval(value, 7, Some(1)).map(|interval| interval.as_millis())
    }

    #[test]
    fn it_is_half_of_what_is_wanted_of_this_process() {
        assert_eq!(of(&[("WATCHDOG_USEC", "30000000")]), Some(15_000));
        assert_eq!(of(&[("WATCHDOG_USEC", "30000000"), ("WATCHDOG_PID", "7")]), Some(15_000));
        assert_eq!(of(&[("WATCHDOG_USEC", "1"), ("WATCHDOG_PID", "1")]), Some(1), "the init's sign is ours to give");
    }

    #[test]
    fn another_process_is_not_answered_for_and_nonsense_is_not_obeyed() {
        for pid in ["8", "", "x", "-7", "4294967303"] {
            assert_eq!(of(&[("WATCHDOG_USEC", "30000000"), ("WATCHDOG_PID", pid)]), None, "{pid:?}");
        }
        for wanted in ["0", "", "x", "-1"] {
            assert_eq!(of(&[("WATCHDOG_USEC", wanted)]), None, "{wanted:?}");
        }
        assert_eq!(of(&[("WATCHDOG_PID", "7")]), None);
    }
}
