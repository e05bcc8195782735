//! `mcp-watchdog plugins check FILE [--config YAML] [--json]`

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use probe_api::options::Span;
use probe_api::{Era, Probe, Reply, Snapshot, Trigger, Verdict};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::config::{Log, LogFormat, LogLevel};
use crate::core::chain::LinkIndex;
use crate::demo;
use crate::event_loop;
use crate::exit::Exit;
use crate::probe::plugin::{self, Around, Descriptor, Launcher, OnError, Options, PluginProbe};
use crate::probe::tell::Tell;
use crate::probe::{CallRequest, ChannelContext, Subject};
use crate::telemetry;

use super::Stop;

/// The time for the check: the default of `probe.timeout`.
const CHECK: Duration = Duration::from_secs(3);
/// How long the log may take to be written at the end.
const LAST_LINES: Duration = Duration::from_millis(200);

/// What was typed.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Load a plugin, and let it check a built-in server once
    Check {
        /// The shared library
        #[arg(value_name = "FILE")]
        file: PathBuf,

        /// What would stand behind `config:` in its link, as YAML or JSON
        #[arg(long, value_name = "YAML")]
        config: Option<String>,

        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
}

impl Arguments {
    /// # Errors
    /// When the configuration is no YAML, or there is no current folder.
    pub(super) fn settle(self) -> Result<CheckPlugin, Stop> {
        let Command::Check { file, config, json } = self.command;
        let config = match config {
            Some(text) => serde_yaml::from_str(&text)
                .map_err(|error| Stop::usage(format!("error: --config is not YAML or JSON: {error}\n")))?,
            None => Value::Null,
        };
        let library = std::path::absolute(&file)
            .map_err(|error| Stop::usage(format!("error: {} cannot be found: {error}\n", file.display())))?;
        let options = Options { library, config, sha256: None, on_error: OnError::default() };
        Ok(CheckPlugin { options, json })
    }
}

/// A plugin that is to be tried.
#[derive(Debug)]
pub struct CheckPlugin {
    options: Options,
    json: bool,
}

/// What its one check came to.
struct Checked {
    verdict: Verdict,
    elapsed: Duration,
    /// Whether the verdict is the plugin's own.
    returned: bool,
}

impl CheckPlugin {
    /// Tries it, and writes what was found to `out`, or why it cannot be used to `err`. What the plugin logs and prints goes to
    /// stderr.
    ///
    /// # Errors
    /// When one of the two cannot be written.
    pub fn run(&self, out: &mut dyn Write, err: &mut dyn Write) -> io::Result<Exit> {
        let log = telemetry::init(&Log { level: LogLevel::Debug, format: LogFormat::Text }, "plugin");
        let runtime = event_loop::start()?;
        let launcher = Launcher::own(log.clone())?;
        let found = runtime.block_on(async {
            let name = plugin::KIND.to_owned();
            let around = Around { name, interval: None, launcher, tell: Tell::nobody(), broken: Arc::default() };
            let mut probe = PluginProbe::new(self.options.clone(), around);
            let descriptor = probe.prepare().await?;
            let checked = check(&mut probe).await;
            probe.end().await;
            Ok::<_, String>((descriptor, checked))
        });
        // Every host is gone by its own guard; what it printed is to come before what is said about it.
        log.flush(LAST_LINES);
        match found {
            Ok((descriptor, checked)) => {
                self.report(&descriptor, &checked, out)?;
                Ok(if checked.returned { Exit::Done } else { Exit::Failed })
            }
            Err(why) => {
                if self.json {
                    writeln!(out, "{}", json!({ "library": self.options.library, "error": why }))?;
                } else {
                    writeln!(err, "error: {why}")?;
                }
                Ok(Exit::Failed)
            }
        }
    }

    fn report(&self, descriptor: &Descriptor, checked: &Checked, out: &mut dyn Write) -> io::Result<()> {
        let Descriptor { abi, name, version, built_with, config_schema } = descriptor;
        let (verdict, reason) = words(&checked.verdict);
        let Checked { elapsed, returned, .. } = checked;
        if self.json {
            let schema =
                config_schema.as_deref().map(|text| serde_json::from_str(text).unwrap_or_else(|_| json!(text)));
            let found = json!({
                "library": self.options.library, "name": name, "version": version, "abi": abi, "builtWith": built_with,
                "configSchema": schema, "verdict": verdict, "reason": reason, "returned": returned,
                "elapsedMs": u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX),
            });
            return writeln!(out, "{found}");
        }
        writeln!(out, "{}: loads", self.options.library.display())?;
        writeln!(out, "  plugin      {name} {version}")?;
        writeln!(out, "  ABI         {abi}")?;
        if let Some(built_with) = built_with {
            writeln!(out, "  built with  {built_with}")?;
        }
        if let Some(schema) = config_schema {
            write!(out, "  config      ")?;
            let mut escaped = String::new();
            // Writing to a string never fails.
            _ = telemetry::plain::escaped(&mut escaped, schema);
            writeln!(out, "{escaped}")?;
        }
        let reason = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
        let elapsed = Span(Duration::from_millis(u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX)));
        writeln!(out, "  check       {verdict} after {elapsed}{reason}")
    }
}

/// One check against a server that is well.
async fn check(probe: &mut PluginProbe) -> Checked {
    let mut snapshot = Snapshot::new("demo", 1, Trigger::Manual);
    snapshot.era = Some(Era::Handshake);
    snapshot.protocol_version = Some(demo::HANDSHAKE.to_owned());
    let subject = Subject { snapshot, processes: None };
    let (calls, requests) = mpsc::channel(1);
    let server = tokio::spawn(serve(requests));
    let begin = Instant::now();
    let cx = ChannelContext::new(&subject, &calls, LinkIndex(0), &[], begin + CHECK);
    let verdict = probe.check(&cx).await;
    server.abort();
    Checked { verdict, elapsed: begin.elapsed(), returned: probe.status().failures == 0 }
}

/// A verdict as it is spelled in JSON, and its reason.
fn words(verdict: &Verdict) -> (&'static str, Option<&str>) {
    match verdict {
        Verdict::Pass => ("pass", None),
        Verdict::Busy(reason) => ("busy", Some(reason)),
        Verdict::Fail(reason) => ("fail", Some(reason)),
        Verdict::Inconclusive(reason) => ("inconclusive", Some(reason)),
        _ => ("unsupported", None),
    }
}

/// Answers as the demonstration's server does.
async fn serve(mut requests: mpsc::Receiver<CallRequest>) {
    while let Some(CallRequest { method, params, reply, .. }) = requests.recv().await {
        let mut answer = demo::answer_one(&method, &params);
        let reply_with = match answer.get_mut("error") {
            Some(error) => Reply::Error(error.take()),
            None => Reply::Result(answer["result"].take()),
        };
        // A probe that has given up is answered all the same.
        _ = reply.send(Ok(reply_with));
    }
}
