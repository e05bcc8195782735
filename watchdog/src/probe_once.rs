//! `mcp-watchdog probe -- COMMAND`: starts a server, opens a session, runs the probe chain once, and says what each link found.
//!
//! It is the product itself that does it, with a client of ours on the other end of a socket: what this says is what the
//! sidecar would find.

mod client;

use std::io::{self, Write};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use nix::libc;
use tokio::sync::mpsc;

use crate::config::load::Loaded;
use crate::core::slot::Role;
use crate::engine::signals::Signals;
use crate::engine::{Command, Handle, Info, ProbeReport};
use crate::event_loop::{self, Watcher};
use crate::events::{Bus, EventWriter};
use crate::exit::{Exit, chain_text};
use crate::front::{Client, Front};
use crate::os;
use crate::probe::{Registry, plugin};
use crate::slot::{Driver, Parts};
use crate::stream::{Sink, Source};
use crate::telemetry::{self, LogHandle, plain};
use client::Session;

/// How long the log may take to be written at the end.
const LAST_LINES: Duration = Duration::from_millis(200);

/// The longest reason that is shown. It may hold a server's own words.
const LONGEST_REASON: usize = 400;

/// What is asked for.
#[derive(Debug)]
pub struct ProbeOnce {
    /// The server and its chain.
    pub loaded: Loaded,
    /// Whether the report is one JSON object.
    pub json: bool,
}

/// Runs the chain; succeeds if the server was found alive.
pub(crate) fn run(once: &ProbeOnce, registry: Registry) -> Exit {
    let log = telemetry::init(&once.loaded.config.log, &once.loaded.config.only().name);
    for warning in &once.loaded.warnings {
        tracing::warn!("{warning}");
    }
    let found = probe(&once.loaded, registry, log.clone());
    log.flush(LAST_LINES);
    let told = match found {
        Ok(report) => tell(&report, once.json).map(|()| report.is_alive()),
        Err(why) => complain(&why).map(|()| false),
    };
    // Where nobody reads what was found, the exit code still says it.
    if told.unwrap_or(false) { Exit::Done } else { Exit::Failed }
}

fn probe(loaded: &Loaded, registry: Registry, log: LogHandle) -> Result<ProbeReport, String> {
    let failed = |error: io::Error| format!("the watchdog failed: {}", chain_text(&error));
    let runtime = os::room_for_runtime().and_then(|()| event_loop::start()).map_err(failed)?;
    runtime.block_on(async {
        let server = Arc::new(loaded.config.only().clone());
        let (ours, theirs) = std::os::unix::net::UnixStream::pair().map_err(failed)?;
        let reading =
            theirs.try_clone().and_then(|stream| Source::own_pipe(stream.into(), &Watcher::Runtime)).map_err(failed)?;
        let writing = Sink::own_pipe(theirs.into(), &Watcher::Runtime).map_err(failed)?;
        let events = Bus::new(EventWriter::new(log.clone(), &loaded.config.events), loaded.config.events.ring);
        plugin::admit(&loaded.config.servers, &log, &events).await?;
        let (driver, slot) = Driver::new(Parts {
            role: Role::default(),
            registry,
            front: Front::only(Client::new(reading, writing, server.limits.max_line)),
            log,
            events: events.clone(),
            server: server.clone(),
            toolbox: None,
            watcher: Watcher::Runtime,
        });
        let info = Info {
            version: env!("CARGO_PKG_VERSION"),
            pid: std::process::id(),
            started: SystemTime::now(),
            started_at: Instant::now(),
            config_file: loaded.file.clone(),
        };
        let handle = Handle::new(info, events, mpsc::unbounded_channel().0);
        handle.set_slots(vec![slot.clone()]);
        let mut signals = Signals::catch().map_err(failed)?;
        let serving = tokio::spawn(driver.run());
        let asking = async {
            let mut session = Session::begin(ours).map_err(failed)?;
            session.open(server.handshake.timeout).await?;
            let report = handle.probe(&server.name).await.map_err(|error| error.to_string())?;
            // The session stays open until the report is there; its end is the end of everything.
            drop(session);
            Ok(report)
        };
        let report = tokio::select! {
            report = asking => report,
            number = signals.next() => Err(format!("ended by signal {number}")),
        };
        // An error says that it has ended already.
        _ = slot.commands.send(Command::Shutdown(libc::SIGTERM));
        _ = serving.await;
        report
    })
}

fn tell(report: &ProbeReport, json: bool) -> io::Result<()> {
    writeln!(io::stdout().lock(), "{}", told(report, json)?)
}

/// A report for people, or as one JSON object.
pub(crate) fn told(report: &ProbeReport, json: bool) -> io::Result<String> {
    Ok(if json { serde_json::to_string(report)? } else { text(report) })
}

fn complain(why: &str) -> io::Result<()> {
    writeln!(io::stderr().lock(), "mcp-watchdog: {why}")
}

/// A line for each link, and one for what they mean together.
fn text(report: &ProbeReport) -> String {
    let clean = |text: &str| plain::text(text, LONGEST_REASON);
    let width = report.links.iter().map(|link| link.name.chars().count()).max().unwrap_or(0);
    let mut lines: Vec<String> = Vec::new();
    for link in &report.links {
        let reason = link.reason.as_deref().map(|reason| format!("  {}", clean(reason))).unwrap_or_default();
        let (name, verdict, elapsed) = (&link.name, &link.verdict, link.elapsed_ms);
        lines.push(format!("{name:width$}  {verdict:<12}  {elapsed:>6} ms{reason}"));
    }
    let reason = report.reason.as_deref().map(|reason| format!(": {}", clean(reason))).unwrap_or_default();
    lines.push(format!("{} after {} ms{reason}", report.verdict, report.elapsed_ms));
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::LinkVerdict;

    #[test]
    fn a_report_has_a_line_for_each_link_and_one_for_all() {
        let link = |name: &str, verdict: &str, reason: Option<&str>| LinkVerdict {
            name: name.into(),
            verdict: verdict.into(),
            reason: reason.map(Into::into),
            elapsed_ms: 12,
            broken: false,
        };
        let report = ProbeReport {
            at: String::new(),
            trigger: "manual".into(),
            verdict: "dead".into(),
            reason: Some("ping: no answer".into()),
            elapsed_ms: 24,
            links: vec![link("ping", "fail", Some("no answer")), link("tools_list", "pass", None)],
        };
        let expected = "ping        fail              12 ms  no answer\n\
                        tools_list  pass              12 ms\n\
                        dead after 24 ms: ping: no answer";
        assert_eq!(text(&report), expected);
    }
}
