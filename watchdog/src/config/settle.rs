//! From what is written (read, typed, every key optional) to what is meant (checked, nothing left open).

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::duration::Above;
use super::error::{ConfigError, ConfigErrors};
use super::expand::expand;
use super::load::{Environment, KnownProbes};
use super::source::{Source, Sources};
use super::text::Written;
use super::tree::{Node, Origin, Step};
use super::words::Transport;
use super::{Catalog, Errors, Handshake, Health, Limits, Retry, Server, Shutdown, file};

mod bounds;
mod command;
mod control;
mod probe;
mod process;
mod restart;
mod sockets;
mod unused;
mod watch;

pub(crate) use process::config;

/// A merged tree, and what is needed to speak of its values and to expand them.
#[derive(Clone, Copy)]
pub(crate) struct Merged<'a> {
    /// The section of a server, or the keys of the process.
    pub(crate) tree: &'a Node,
    /// Where values come from.
    pub(crate) sources: &'a Sources,
    /// The watchdog's environment.
    pub(crate) environment: &'a Environment,
}

impl Merged<'_> {
    /// An error about a key.
    fn error(&self, dotted: &str, message: impl Into<String>) -> ConfigError {
        let path: Vec<Step> = dotted.split('.').map(|key| Step::Key(key.to_owned())).collect();
        self.error_at(&path, message)
    }

    /// An error about the value at a path, or the deepest on the way to it.
    fn error_at(&self, path: &[Step], message: impl Into<String>) -> ConfigError {
        ConfigError::at(self.sources, self.tree.deepest(path), message)
    }

    /// Where a key was written, if the user wrote it.
    fn written(&self, dotted: &str) -> Option<&Origin> {
        let origin = &self.tree.at(dotted)?.origin;
        let ours = matches!(self.sources.get(origin.source), Source::BuiltIn | Source::Preset(_));
        (!ours).then_some(origin)
    }

    /// A key that names a file: expanded, and a relative one lies beside the file that names it.
    fn path(&self, dotted: &str, text: &str) -> Result<PathBuf, ConfigError> {
        let path: Vec<Step> = dotted.split('.').map(|key| Step::Key(key.to_owned())).collect();
        self.path_at(&path, text)
    }

    /// The same for a value at a path.
    fn path_at(&self, path: &[Step], text: &str) -> Result<PathBuf, ConfigError> {
        let wrong = |message: String| self.error_at(path, message);
        if text.is_empty() {
            return Err(wrong("is empty".to_owned()));
        }
        let name = expand(text, |name| self.environment.get(name)).map_err(wrong)?;
        let folder = self.sources.folder(self.tree.deepest(path).origin.source);
        Ok(folder.unwrap_or_else(|| Path::new("")).join(name))
    }
}

/// What settling a server needs beside the written values.
pub(crate) struct Context<'a> {
    /// The server's name.
    pub(crate) name: &'a str,
    /// COMMAND and its arguments, where given.
    pub(crate) command: &'a [OsString],
    /// Where the file describes the server.
    pub(crate) section: Option<Origin>,
    /// Its merged section.
    pub(crate) merged: Merged<'a>,
    /// The probes there are.
    pub(crate) known: KnownProbes<'a>,
}

impl Context<'_> {
    /// An error about a key of the server's section.
    fn error(&self, dotted: &str, message: impl Into<String>) -> ConfigError {
        self.merged.error(dotted, message)
    }

    /// An error about a place in the server's section.
    fn error_at(&self, path: &[Step], message: impl Into<String>) -> ConfigError {
        self.merged.error_at(path, message)
    }
}

/// A value that the built-in layer guarantees.
fn need<T>(value: Option<Written<T>>, key: &str) -> Result<T, ConfigError> {
    value
        .map(|written| written.0)
        .ok_or_else(|| ConfigError::new(format!("`{key}` has no value, not even a built-in one")))
}

/// Settles one server, or reports all that is wrong with it.
pub(crate) fn server(
    written: file::Server,
    context: &Context<'_>,
    warnings: &mut Vec<String>,
) -> Result<Server, ConfigErrors> {
    let mut errors = Vec::new();
    unused::of_server(&context.merged, warnings);
    refuse_remote(&written, context)?;
    let mut command = command::settle(&written, context, &mut errors, warnings);
    let bounds = keep(bounds::settle(&written, context).map_err(Into::into), &mut errors);
    if let (Some(command), Some(bounds)) = (&mut command, bounds) {
        command.bounds = bounds;
    }
    let restart = keep(restart::settle(written.restart.unwrap_or_default(), context), &mut errors);
    let probe =
        keep(probe::settle(written.probe.unwrap_or_default(), command.as_ref(), context, warnings), &mut errors);
    let watch = watch::settle(written.watch.as_deref().unwrap_or_default(), context, &mut errors);
    let (Some(command), Some(restart), Some(probe), true) = (command, restart, probe, errors.is_empty()) else {
        return Err(ConfigErrors(errors));
    };
    let Above(tool_timeout) = need(written.tool_timeout, "tool_timeout")?;
    Ok(Server {
        name: context.name.to_owned(),
        command,
        enabled: need(written.enabled, "enabled")?,
        start: need(written.start, "start")?,
        listen: written.listen.unwrap_or_default().into_iter().map(|Written(listen)| listen).collect(),
        tool_timeout,
        tool_timeouts: tool_timeouts(written.tool_timeouts),
        request_deadline: need(written.request_deadline, "request_deadline")?.0,
        restart,
        handshake: handshake(written.handshake.unwrap_or_default())?,
        shutdown: shutdown(written.shutdown.unwrap_or_default())?,
        probe,
        health: health(written.health.unwrap_or_default())?,
        catalog: catalog(written.catalog.unwrap_or_default())?,
        retry: Retry { tools: need(written.retry.unwrap_or_default().tools, "retry.tools")? },
        errors: Errors { tool_calls: need(written.errors.unwrap_or_default().tool_calls, "errors.tool_calls")? },
        limits: limits(written.limits.unwrap_or_default())?,
        idle_stop: need(written.idle_stop, "idle_stop")?.0,
        watch,
    })
}

fn keep<T>(result: Result<T, ConfigErrors>, errors: &mut Vec<ConfigError>) -> Option<T> {
    result.map_err(|found| errors.extend(found.0)).ok()
}

/// A remote server would need another kind of back end.
fn refuse_remote(written: &file::Server, context: &Context<'_>) -> Result<(), ConfigError> {
    if !context.command.is_empty() {
        return Ok(());
    }
    let key = match (&written.transport, &written.url) {
        (Some(Written(Transport::Remote(_))), _) => "type",
        (_, Some(_)) => "url",
        _ => return Ok(()),
    };
    let remedy = "a remote server cannot be run by this version, which starts commands; put a command here that reaches \
                  it, such as `command: npx` with `args: [mcp-remote, URL]`";
    Err(context.error(key, remedy))
}

fn tool_timeouts(written: Option<BTreeMap<String, Option<Written<Above>>>>) -> BTreeMap<String, Duration> {
    let named = written.unwrap_or_default().into_iter();
    named.filter_map(|(tool, limit)| limit.map(|Written(Above(limit))| (tool, limit))).collect()
}

fn handshake(written: file::Handshake) -> Result<Handshake, ConfigError> {
    let Above(timeout) = need(written.timeout, "handshake.timeout")?;
    Ok(Handshake { timeout, replay: need(written.replay, "handshake.replay")? })
}

fn shutdown(written: file::Shutdown) -> Result<Shutdown, ConfigError> {
    Ok(Shutdown {
        drain: need(written.drain, "shutdown.drain")?,
        eof_grace: need(written.eof_grace, "shutdown.eof_grace")?,
        term_grace: need(written.term_grace, "shutdown.term_grace")?,
    })
}

fn health(written: file::Health) -> Result<Health, ConfigError> {
    let Above(timeout) = need(written.timeout, "health.timeout")?;
    Ok(Health {
        interval: need(written.interval, "health.interval")?.0,
        jitter: need(written.jitter, "health.jitter")?.0,
        timeout,
        threshold: need(written.threshold, "health.threshold")?.0,
        on_unhealthy: need(written.on_unhealthy, "health.on_unhealthy")?,
    })
}

fn catalog(written: file::Catalog) -> Result<Catalog, ConfigError> {
    Ok(Catalog {
        serve_stale: need(written.serve_stale, "catalog.serve_stale")?,
        announce: need(written.announce, "catalog.announce")?.0,
        keep_on_permanent_failure: !need(written.on_permanent_failure, "catalog.on_permanent_failure")?.0,
    })
}

fn limits(written: file::Limits) -> Result<Limits, ConfigError> {
    Ok(Limits {
        max_line: need(written.max_line, "limits.max_line")?.0,
        stray_stdout: need(written.stray_stdout, "limits.stray_stdout")?,
        max_lifetime: need(written.max_lifetime, "limits.max_lifetime")?.0,
        memory: need(written.memory, "limits.memory")?.0,
    })
}
