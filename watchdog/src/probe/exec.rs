//! `exec`: a program of the operator's says whether the server is well.
//!
//! The program gets the [snapshot](probe_api::Snapshot) as one line of JSON on stdin and in `MCP_PROBE_CONTEXT`; its exit code is
//! the verdict, its first line on stdout the reason, its stderr goes to the log. It runs under a guard of its own
//! ([`crate::guard`]), in the server's environment and folder, and its whole tree ends with the check.
//!
//! The operator wrote the oracle and is taken at his word, as the kubelet does: a program that fails, is killed or does not end in
//! time speaks against the server. Only one that cannot be started says nothing (design: probes.md, sections 1 and 7).

use std::ffi::OsString;
use std::time::Duration;

use probe_api::options::Span;
use probe_api::{ConfigError, Context, Probe, ProcessFacts, Snapshot, Verdict, async_trait};
use serde_json::Value;
use tokio::time::timeout;

use super::registry::{EngineEntry, Made, Surroundings};
use crate::config;
use crate::core::ending::Ending;
use crate::exit::chain_text;
use crate::telemetry::LogHandle;
use options::{Codes, Options};
use run::{End, Run};

mod first_line;
mod options;
mod program;
mod run;

/// The line of the registry.
pub(super) const ENTRY: EngineEntry = EngineEntry { name: "exec", check, make };

/// The snapshot, for programs that would rather not read stdin.
const CONTEXT: &str = "MCP_PROBE_CONTEXT";

/// Process numbers of the server's tree in a snapshot. The kernel executes nothing with a variable of 128 KiB or more, and no
/// program looks at so many.
const MOST_PIDS: usize = 1000;

fn check(options: &Value, server: Option<&config::Command>) -> Result<(), ConfigError> {
    let options = Options::read(options)?;
    match server {
        Some(server) => program::find(&options.command(server)).map_err(ConfigError),
        None => Ok(()),
    }
}

fn make(options: &Value, around: &Surroundings<'_>) -> Made {
    let options = Options::read(options)?;
    let command = options.command(around.command);
    Ok(Box::new(Exec { command, codes: options.exit_codes, name: around.name.to_owned(), log: around.log.clone() }))
}

struct Exec {
    command: config::Command,
    codes: Codes,
    name: String,
    log: LogHandle,
}

#[async_trait]
impl Probe for Exec {
    async fn check(&mut self, cx: &dyn Context) -> Verdict {
        let limit = cx.remaining();
        if limit.is_zero() {
            return Verdict::Inconclusive("no time was left to start it".to_owned());
        }
        let context = context(cx.snapshot());
        let mut command = self.command.clone();
        command.env.retain(|(name, _)| name != CONTEXT);
        command.env.push((CONTEXT.into(), OsString::from(&context)));
        let mut run = match Run::start(&command, context, &self.name, &self.log) {
            Ok(run) => run,
            Err(error) => return Verdict::Inconclusive(chain_text(&error)),
        };
        match timeout(limit, run.end()).await {
            Ok(End::Exited(ending)) => judge(self.codes, ending, &run.first_line()),
            Ok(End::CannotStart(why)) => Verdict::Inconclusive(why),
            Err(_) => Verdict::Fail(format!("did not end within {}", Span(in_millis(limit)))),
        }
    }
}

/// What is known of the server, on one line.
fn context(snapshot: &Snapshot) -> String {
    let mut snapshot = snapshot.clone();
    let ProcessFacts { pids, .. } = &mut snapshot.process;
    pids.truncate(MOST_PIDS);
    serde_json::to_string(&snapshot).expect("a snapshot has names for keys, and numbers and text for values")
}

/// Up to the whole millisecond: what is left of three seconds when the program has been started is three seconds to its author.
fn in_millis(limit: Duration) -> Duration {
    let millis = limit.as_micros().div_ceil(1000);
    Duration::from_millis(u64::try_from(millis).unwrap_or(u64::MAX))
}

/// The verdict of a program that has ended and has said `text`.
fn judge(codes: Codes, ending: Ending, text: &str) -> Verdict {
    let with_text = |what: String| if text.is_empty() { what } else { format!("{what}: {text}") };
    let reason = match ending {
        Ending::Code(_) => with_text(ending.to_string()),
        Ending::Signal(_) | Ending::OutOfMemory { .. } => with_text(format!("was killed by {ending}")),
    };
    match (codes, ending) {
        (_, Ending::Code(0)) => Verdict::Pass,
        (Codes::Simple, _) | (Codes::Nagios, Ending::Code(2)) => Verdict::Fail(reason),
        (Codes::Nagios, Ending::Code(1)) => Verdict::Busy(reason),
        (Codes::Nagios, _) => Verdict::Inconclusive(reason),
    }
}

#[cfg(test)]
mod tests;
