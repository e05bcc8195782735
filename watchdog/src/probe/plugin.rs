//! `plugin`: a shared library of the operator's says whether the server is well.
//!
//! The library is loaded into a process of its own ([`crate::probe_host`]), below a guard: whatever it does there, the session
//! goes on. The process is started at the first check and kept between checks; a plugin that crashes or does not return in time
//! costs its process, and is asked less and less often while it goes on so ([`trouble`]).
//!
//! A plugin's own trouble never speaks against the server: it is `Inconclusive`, whatever it is.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, SystemTime};

use probe_api::options::Span;
use probe_api::{ConfigError, Context, Probe, Verdict, async_trait};
use serde::Deserialize;
use serde_json::Value;
use tokio::time::{Instant, timeout, timeout_at};

use super::registry::{EngineEntry, Made, Surroundings};
use crate::back;
use crate::config;
use crate::events::{Bus, Event, EventKind};
use crate::probe_host;
pub use crate::probe_host::message::Descriptor;
use crate::telemetry::{LogHandle, plain};
use host::Host;
pub use startup::{Inspected, admit, inspect_chain};
pub use trouble::Status;
use trouble::Trouble;

mod host;
mod process;
mod startup;
mod trouble;

/// The line of the registry.
pub(super) const ENTRY: EngineEntry = EngineEntry { name: KIND, check, make };
/// The word behind `type:`.
pub const KIND: &str = "plugin";

/// How much longer than its time a check may take to return: calls end with the time, and the plugin has to come to a verdict
/// (design: probes.md, section 6).
const RETURN: Duration = Duration::from_millis(50);
/// How long loading and creating may take where no check waits for it.
const START: Duration = Duration::from_secs(5);
/// How long an orderly end is waited for.
const END: Duration = Duration::from_secs(1);
/// Between two checks, where there is no interval of the health check to go by.
const USUAL: Duration = Duration::from_secs(60);
/// The longest text of a plugin that is shown, in characters.
const LONGEST: usize = 4096;

/// The options of a link of this type, beside those that all links have.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// The library; an absolute path by the time that it is used.
    pub library: PathBuf,
    /// What the plugin gets.
    #[serde(default)]
    pub config: Value,
    /// What the file must hash to, in lower-case hexadecimal digits.
    #[serde(default, deserialize_with = "pin")]
    pub sha256: Option<String>,
    /// What follows when it does not load at the start of the watchdog.
    #[serde(default)]
    pub on_error: OnError,
}

impl Options {
    fn read(options: &Value) -> Result<Self, ConfigError> {
        let options: Self = serde_json::from_value(options.clone()).map_err(|error| ConfigError(error.to_string()))?;
        if options.library.is_absolute() {
            return Ok(options);
        }
        let library = options.library.display();
        Err(ConfigError(format!("`library` {library} is not absolute, and there is no file beside which it lies")))
    }
}

fn check(options: &Value, _: Option<&config::Command>) -> Result<(), ConfigError> {
    Options::read(options).map(drop)
}

fn make(options: &Value, around: &Surroundings<'_>) -> Made {
    let launcher = Launcher::own(around.log.clone()).map_err(|error| ConfigError(error.to_string()))?;
    let around = Around {
        name: around.name.to_owned(),
        interval: around.interval,
        launcher,
        tell: around.tell.clone(),
        broken: around.broken.clone(),
    };
    Ok(Box::new(PluginProbe::new(Options::read(options)?, around)))
}

/// `on_error`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnError {
    /// The watchdog does not start: a probe that silently is not there would be worse.
    #[default]
    RefuseStart,
    /// A warning; the link tells nothing until the plugin loads.
    Skip,
}

/// A hash as `sha256sum` prints it, in any case.
fn pin<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let text = match Value::deserialize(deserializer)? {
        Value::Null => return Ok(None),
        Value::String(text) => text,
        // Digits without quotes are a number.
        _ => String::new(),
    };
    let is_hash = text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let wrong = "`sha256` wants 64 hexadecimal digits in quotes, as `sha256sum FILE` prints them";
    is_hash.then(|| Some(text.to_ascii_lowercase())).ok_or_else(|| serde::de::Error::custom(wrong))
}

/// How a probe host is started.
#[derive(Debug, Clone)]
pub struct Launcher {
    /// The binary that becomes the guard and the host.
    pub program: PathBuf,
    /// The host's environment.
    pub env: Vec<(OsString, OsString)>,
    /// Where lines go that the plugin prints.
    pub log: LogHandle,
}

impl Launcher {
    /// With this program itself, in its own environment without what is for the watchdog alone.
    ///
    /// # Errors
    /// Where the program does not find itself.
    pub fn own(log: LogHandle) -> io::Result<Self> {
        let own = std::env::vars_os().collect();
        let env = config::inherited_environment(&own).into_iter().collect();
        Ok(Self { program: back::own_program()?, env, log })
    }

    fn command(&self) -> config::Command {
        config::Command {
            program: self.program.clone().into(),
            args: vec![probe_host::ARGUMENT.into()],
            cwd: None,
            env: self.env.clone(),
        }
    }
}

/// Who is told what happens to plugins.
#[derive(Clone)]
pub struct Tell(Arc<dyn Fn(EventKind) + Send + Sync>);

impl Tell {
    /// This one.
    pub fn new(tell: impl Fn(EventKind) + Send + Sync + 'static) -> Self {
        Self(Arc::new(tell))
    }

    /// The bus, as of this server.
    #[must_use]
    pub fn bus(events: Bus, server: Arc<str>) -> Self {
        Self::new(move |kind| events.publish(Event::of_server(kind, server.clone(), None), SystemTime::now()))
    }

    /// Nobody.
    #[must_use]
    pub fn nobody() -> Self {
        Self::new(|_| {})
    }

    /// Tells it.
    pub fn tell(&self, kind: EventKind) {
        (self.0)(kind);
    }
}

impl std::fmt::Debug for Tell {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tell")
    }
}

/// What a link has of its surroundings.
#[derive(Clone)]
pub struct Around {
    /// Its label, for the log and events.
    pub name: String,
    /// Between two checks; `None` where there are no periodic ones.
    pub interval: Option<Duration>,
    /// How its host is started.
    pub launcher: Launcher,
    /// Gets [`EventKind::PluginError`] when the plugin breaks.
    pub tell: Tell,
    /// Raised while the plugin counts as broken.
    pub broken: Arc<AtomicBool>,
}

/// A link whose checks a plugin makes.
pub struct PluginProbe {
    options: Options,
    around: Around,
    host: Option<Host>,
    trouble: Trouble,
}

impl PluginProbe {
    /// A probe that starts its host at the first check.
    #[must_use]
    pub fn new(options: Options, around: Around) -> Self {
        let trouble = Trouble::new(around.interval.unwrap_or(USUAL));
        Self { options, around, host: None, trouble }
    }

    /// How the plugin does.
    #[must_use]
    pub fn status(&self) -> Status {
        self.trouble.status().clone()
    }

    /// Ends the host in order, and waits until nothing is left of it.
    pub async fn end(&mut self) {
        if let Some(host) = self.host.take() {
            end(host).await;
        }
    }

    /// The host, if it can be used for one more check.
    async fn usable(&mut self) -> Option<Host> {
        let host = self.host.take()?;
        let plugin = self.around.name.as_str();
        if host.is_over() {
            let why = host.end().await;
            tracing::warn!(target: "mcp", plugin, "{why} between two checks; it is loaded again");
            return None;
        }
        if host.stamp() != Stamp::of(&self.options.library) {
            let library = self.options.library.display();
            tracing::info!(target: "mcp", plugin, "{library} has changed; it is loaded again");
            host.close();
            return None;
        }
        Some(host)
    }

    async fn examine(&mut self, cx: &dyn Context) -> Result<Verdict, String> {
        // While a check runs the host belongs to it: where the check is dropped, the host goes with it.
        let mut host = match self.usable().await {
            Some(host) => host,
            None => Host::start(&self.around.launcher, &self.options, &self.around.name, cx.remaining()).await?,
        };
        let verdict = host.check(cx).await?;
        self.host = Some(host);
        Ok(verdict)
    }

    fn failed(&mut self, why: String) -> Verdict {
        let plugin = self.around.name.as_str();
        let broken = self.trouble.failed(Instant::now().into_std(), &why);
        self.around.broken.store(self.status().broken, Relaxed);
        tracing::warn!(target: "mcp", plugin, "a check gave no verdict: {why}");
        if broken {
            let error = format!("broken, after {} checks in a row without a verdict: {why}", self.status().failures);
            self.around.tell.tell(EventKind::PluginError { plugin: self.around.name.clone(), error });
        }
        Verdict::Inconclusive(why)
    }
}

#[async_trait]
impl Probe for PluginProbe {
    async fn check(&mut self, cx: &dyn Context) -> Verdict {
        let now = Instant::now();
        if let Some((pause, why)) = self.trouble.pause(now.into_std()) {
            let pause = Span(Duration::from_secs(pause.as_secs().max(1)));
            return Verdict::Inconclusive(format!("{why}; not asked again for {pause}"));
        }
        match timeout_at(now + cx.remaining() + RETURN, self.examine(cx)).await {
            Ok(Ok(verdict)) => {
                self.trouble.recovered();
                self.around.broken.store(false, Relaxed);
                verdict
            }
            Ok(Err(why)) => self.failed(why),
            Err(_) => self.failed("the plugin did not return in time".to_owned()),
        }
    }
}

impl Drop for PluginProbe {
    fn drop(&mut self) {
        if let Some(host) = self.host.take() {
            host.close();
        }
    }
}

/// Loads a plugin into a host of its own, makes an instance, and ends it.
///
/// # Errors
/// Why it cannot be used: a sentence that names the file and the remedy.
pub async fn inspect(options: &Options, launcher: &Launcher, name: &str) -> Result<Descriptor, String> {
    let started = timeout(START, Host::start(launcher, options, name, START)).await;
    let host = started.map_err(|_| {
        let limit = Span(START);
        format!("the plugin {} did not load and take its `config:` within {limit}", options.library.display())
    })??;
    let descriptor = host.descriptor().clone();
    end(host).await;
    Ok(descriptor)
}

/// Ends a host in order. It ends in any case; the wait is for those who look at processes afterwards.
async fn end(host: Host) {
    if let Some(end) = host.close() {
        _ = timeout(END, end).await;
    }
}

/// Which file a path leads to, and since when: it tells a file that was replaced or written anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    device: u64,
    inode: u64,
    modified: (i64, i64),
}

impl Stamp {
    /// `None` where there is no such file.
    fn of(path: &Path) -> Option<Self> {
        let facts = fs::metadata(path).ok()?;
        Some(Self { device: facts.dev(), inode: facts.ino(), modified: (facts.mtime(), facts.mtime_nsec()) })
    }
}

/// A plugin's text made fit for logs and reasons.
fn one_line(text: &str) -> String {
    plain::text(text, LONGEST)
}

#[cfg(test)]
mod tests;
