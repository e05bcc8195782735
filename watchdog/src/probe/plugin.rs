//! `plugin`: a shared library of the operator's says whether the server is well.
//!
//! The library is loaded into a process of its own ([`crate::probe_host`]), below a guard: whatever it does there, the session
//! goes on. The process is started at the first check, which waits for it as long as it has time, and kept between checks; a plugin
//! that crashes or does not return in time costs its process, and is asked less and less often while it goes on so ([`trouble`]).
//!
//! A plugin's own trouble never speaks against the server: it is `Inconclusive`, whatever it is.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use probe_api::options::Span;
use probe_api::{ConfigError, Context, Probe, Trigger, Verdict, async_trait};
use serde_json::Value;
use tokio::time::{Instant, timeout, timeout_at};

use super::registry::{EngineEntry, Made, Surroundings};
use super::tell::Tell;
use crate::config;
use crate::events::EventKind;
pub use crate::probe_host::message::Descriptor;
use crate::telemetry::plain;
use file::Watched;
use host::Host;
pub use launcher::Launcher;
pub use options::{OnError, Options};
use starting::Starting;
pub use startup::{Inspected, admit, inspect_chain};
pub use trouble::Status;
use trouble::Trouble;

mod due;
mod file;
mod host;
mod launcher;
mod options;
mod process;
mod starting;
mod startup;
mod trouble;

/// The line of the registry.
pub(super) const ENTRY: EngineEntry = EngineEntry { name: KIND, check, make };
/// The word behind `type:`.
pub const KIND: &str = "plugin";

/// How much longer than its time a check may take to return: calls end with the time, and the plugin has to come to a verdict
/// (design: probes.md, section 6).
const RETURN: Duration = Duration::from_millis(50);
/// How long loading and creating may take together. A check waits as long as it can; the next one finds the host ready.
const START: Duration = Duration::from_secs(5);
/// How long an orderly end is waited for.
const END: Duration = Duration::from_secs(1);
/// Between two checks, where there is no interval of the health check to go by.
const USUAL: Duration = Duration::from_secs(60);
/// The longest text of a plugin that is shown, in characters.
const LONGEST: usize = 4096;

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
    /// Shows others what [`Status::is_broken`] says.
    pub broken: Arc<AtomicBool>,
}

/// A link whose checks a plugin makes.
pub struct PluginProbe {
    options: Options,
    around: Around,
    file: Watched,
    host: Option<Host>,
    starting: Option<Starting>,
    trouble: Trouble,
}

/// Why there is no verdict.
enum Lack {
    /// The plugin has failed.
    Failure(String),
    /// It was not asked: it needs longer to get ready than this check has.
    Time(String),
}

impl PluginProbe {
    /// A probe that starts its host at the first check.
    #[must_use]
    pub fn new(options: Options, around: Around) -> Self {
        let trouble = Trouble::new(around.interval.unwrap_or(USUAL));
        let file = Watched::new(options.library.clone());
        Self { options, around, file, host: None, starting: None, trouble }
    }

    /// How the plugin does.
    #[must_use]
    pub fn status(&self) -> Status {
        self.trouble.status().clone()
    }

    /// Starts the host, so that a check finds it ready, and says what the plugin is.
    ///
    /// # Errors
    /// Why it cannot be used: a sentence that names the file.
    pub async fn prepare(&mut self) -> Result<Descriptor, String> {
        self.look().await;
        let host = self.ready().await?;
        Ok(self.host.insert(host).descriptor().clone())
    }

    /// Ends the host in order, and waits until nothing is left of it.
    pub async fn end(&mut self) {
        self.starting = None;
        if let Some(host) = self.host.take() {
            end(host).await;
        }
    }

    /// Lets go of what was made of a file that is there no more, and of the pause after its failures.
    async fn look(&mut self) {
        if !self.file.has_changed().await {
            return;
        }
        self.trouble.renewed();
        self.starting = None;
        if let Some(host) = self.host.take() {
            let (plugin, library) = (self.around.name.as_str(), self.options.library.display());
            tracing::info!(target: "mcp", plugin, "{library} has changed; it is loaded again");
            host.close();
        }
    }

    /// A host for one check. Where this is dropped, its start goes on.
    async fn ready(&mut self) -> Result<Host, String> {
        if let Some(host) = self.host.take() {
            if !host.is_over() {
                return Ok(host);
            }
            let (plugin, why) = (self.around.name.as_str(), host.end().await);
            tracing::warn!(target: "mcp", plugin, "{why} between two checks; it is loaded again");
        }
        let Around { launcher, name, .. } = &self.around;
        let starting = self.starting.get_or_insert_with(|| Starting::begin(launcher, &self.options, name));
        let host = starting.ready().await;
        self.starting = None;
        host
    }

    async fn examine(&mut self, cx: &dyn Context, begin: Instant, limit: Duration) -> Result<Verdict, Lack> {
        let library = self.options.library.clone();
        let (library, limit_shown) = (library.display(), shown(limit));
        let remedy = "or raise the link's `timeout`";
        let Ok(ready) = timeout_at(begin + limit, self.ready()).await else {
            return Err(Lack::Time(format!(
                "{library} is still starting after the {limit_shown} of this check: wait for the next one, {remedy}"
            )));
        };
        // While a check runs the host belongs to it: where the check is dropped, the host goes with it.
        let mut host = ready.map_err(Lack::Failure)?;
        let spent = begin.elapsed();
        if spent > limit / 2 {
            self.host = Some(host);
            let spent = shown(spent);
            return Err(Lack::Time(format!(
                "{library} is ready only after {spent} of the {limit_shown} of this check: wait for the next one, {remedy}"
            )));
        }
        let Ok(checked) = timeout_at(begin + limit + RETURN, host.check(cx)).await else {
            return Err(Lack::Failure(format!(
                "{library} did not return within the {limit_shown} of this check: have it mind its `remaining` time, {remedy}"
            )));
        };
        let verdict = checked.map_err(Lack::Failure)?;
        self.host = Some(host);
        Ok(verdict)
    }

    fn failed(&mut self, why: String) -> Verdict {
        let plugin = self.around.name.as_str();
        let broken = self.trouble.failed(Instant::now().into_std(), &why);
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
        let (begin, limit) = (Instant::now(), cx.remaining());
        self.look().await;
        // Who asks by hand wants to know how it is now.
        let is_periodic = cx.snapshot().trigger != Trigger::Manual;
        if let Some((pause, why)) = self.trouble.pause(begin.into_std()).filter(|_| is_periodic) {
            let pause = Span(Duration::from_secs(pause.as_secs().max(1)));
            return Verdict::Inconclusive(format!("{why}; not asked again for {pause}"));
        }
        let verdict = match self.examine(cx, begin, limit).await {
            Ok(verdict) => {
                self.trouble.recovered();
                verdict
            }
            Err(Lack::Time(why)) => Verdict::Inconclusive(why),
            Err(Lack::Failure(why)) => self.failed(why),
        };
        self.around.broken.store(self.trouble.status().is_broken(), Relaxed);
        verdict
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
    let host = Host::start(launcher, options, name).await?;
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

/// A time to the millisecond, for people.
fn shown(time: Duration) -> Span {
    Span(Duration::from_millis(
        u64::try_from(time.saturating_add(Duration::from_micros(500)).as_millis()).unwrap_or(u64::MAX),
    ))
}

/// A plugin's text made fit for logs and reasons.
fn one_line(text: &str) -> String {
    plain::text(text, LONGEST)
}
