//! The keys of the process.

use crate::config::duration::{Above, FileLimit};
use crate::config::error::{ConfigError, ConfigErrors};
use crate::config::text::{Attempts, ToolPrefix, Written};
use crate::config::tree::Node;
use crate::config::{Config, EventFile, EventThrottle, Events, Log, Management, Ready, Server, file};

use super::{Merged, control, keep, need, sockets, unused};

/// Settles the keys of the process around its servers, whose merged sections are `sections`; reports all that is wrong
/// with them.
pub(crate) fn config(
    top: file::Top,
    servers: Vec<Server>,
    sections: &[(String, Node)],
    merged: &Merged<'_>,
    warnings: &mut Vec<String>,
) -> Result<Config, ConfigErrors> {
    let mut errors = Vec::new();
    unused::of_process(merged, warnings);
    let log = top.log.unwrap_or_default();
    let state_file = top.state_file.map(|Written(name)| merged.path("state_file", &name)).transpose();
    let state_file = keep(state_file.map_err(Into::into), &mut errors);
    let events = keep(events(top.events.unwrap_or_default(), merged).map_err(Into::into), &mut errors);
    let control = keep(control::settle(top.control.unwrap_or_default(), merged, warnings), &mut errors);
    if let Some(control) = &control {
        sockets::once_each(control, &servers, sections, merged, &mut errors);
    }
    let (Some(state_file), Some(events), Some(control), true) = (state_file, events, control, errors.is_empty()) else {
        return Err(ConfigErrors(errors));
    };
    Ok(Config {
        servers,
        on_permanent_failure: need(top.on_permanent_failure, "on_permanent_failure")?,
        ready: Ready { require: need(top.ready.unwrap_or_default().require, "ready.require")? },
        events,
        log: Log { level: need(log.level, "log.level")?, format: need(log.format, "log.format")? },
        control,
        mgmt: management(top.mgmt.unwrap_or_default())?,
        state_file,
    })
}

fn events(written: file::Events, merged: &Merged<'_>) -> Result<Events, ConfigError> {
    let (throttle, rotate) = (written.throttle.unwrap_or_default(), written.rotate.unwrap_or_default());
    let Attempts(burst) = need(throttle.burst, "events.throttle.burst")?;
    let Above(every) = need(throttle.every, "events.throttle.every")?;
    let FileLimit(max_size) = need(rotate.max_size, "events.rotate.max_size")?;
    let kept = need(rotate.keep, "events.rotate.keep")?;
    let path = written.file.map(|Written(name)| merged.path("events.file", &name)).transpose()?;
    Ok(Events {
        stderr: need(written.stderr, "events.stderr")?,
        format: need(written.format, "events.format")?,
        file: path.map(|path| EventFile { path, max_size, keep: kept }),
        ring: need(written.ring, "events.ring")?.0 as usize,
        throttle: burst.map(|burst| EventThrottle { burst, every }),
    })
}

fn management(written: file::Management) -> Result<Management, ConfigError> {
    let ToolPrefix(tool_prefix) = need(written.tool_prefix, "mgmt.tool_prefix")?;
    Ok(Management {
        inject: need(written.inject, "mgmt.inject")?,
        tool_prefix,
        allow_disable: need(written.allow_disable, "mgmt.allow_disable")?,
    })
}
