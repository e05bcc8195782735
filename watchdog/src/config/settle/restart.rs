//! `restart`.

use crate::config::error::{ConfigError, ConfigErrors};
use crate::config::file;
use crate::config::text::{Factor, Written};
use crate::config::{Delays, Restart};

use super::{Context, need};

pub(super) fn settle(written: file::Restart, context: &Context<'_>) -> Result<Restart, ConfigErrors> {
    Ok(Restart {
        delays: delays(&written, context)?,
        max_attempts: need(written.max_attempts, "restart.max_attempts")?.0,
        jitter: need(written.jitter, "restart.jitter")?.0,
        min_uptime: need(written.min_uptime, "restart.min_uptime")?,
        min_attempt_interval: need(written.min_attempt_interval, "restart.min_attempt_interval")?,
        on_call: need(written.on_call, "restart.on_call")?,
        hold: need(written.hold, "restart.hold")?,
        hold_max_requests: need(written.hold_max_requests, "restart.hold_max_requests")?,
        hold_max_bytes: need(written.hold_max_bytes, "restart.hold_max_bytes")?.0,
        attempts_are_errors: need(written.attempts_are_errors, "restart.attempts_are_errors")?,
    })
}

fn delays(written: &file::Restart, context: &Context<'_>) -> Result<Delays, ConfigError> {
    if let Some(schedule) = &written.delays {
        if schedule.is_empty() {
            return Err(context.error("restart.delays", "needs at least one delay; the last one is held"));
        }
        return Ok(Delays::Schedule(schedule.iter().map(|Written(delay)| *delay).collect()));
    }
    let initial = need(written.initial_delay.clone(), "restart.initial_delay")?;
    let Factor(multiplier) = need(written.multiplier.clone(), "restart.multiplier")?;
    let max = need(written.max_delay.clone(), "restart.max_delay")?;
    if max < initial && context.merged.written("restart.max_delay").is_some() {
        return Err(context.error("restart.max_delay", "is shorter than `restart.initial_delay`"));
    }
    // Whoever asks for a first delay above a maximum that nobody wrote means that delay.
    Ok(Delays::Exponential { initial, multiplier, max: max.max(initial) })
}
