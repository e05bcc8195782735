//! `mcp-watchdog probe [NAME]` asks a running watchdog; `mcp-watchdog probe [OPTIONS] -- COMMAND [ARGS]...` starts a server for
//! it.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::config::load::{self, Input, KnownProbes, Setting};
use crate::exit::Exit;
use crate::probe_once::{ProbeOnce, told};

use super::operator::{Outcome, Output, Target, Whereabouts};
use super::{Invocation, Stop};

/// What is said of a server that runs already, which the options of one that is to be started have nothing to do with.
const RUNNING: [&str; 3] = ["name", "socket", "token_file"];

/// What was typed.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "mcp-watchdog probe [NAME] [--socket SOCKET]\n       mcp-watchdog probe [OPTIONS] -- COMMAND [ARGS]...\n       mcp-watchdog probe [OPTIONS] --config FILE"
)]
pub(super) struct Arguments {
    #[command(flatten)]
    pub(super) target: Target,

    /// The links, for a server to start: types with commas, or a list as in the file, such as `[{type: http, url: "http://127.0.0.1:80/"}]`
    #[arg(long, value_name = "LINKS", conflicts_with_all = RUNNING)]
    chain: Option<OsString>,

    /// Describe the server to start and its chain in this file
    #[arg(long, value_name = "FILE", conflicts_with_all = RUNNING)]
    config: Option<PathBuf>,

    /// The server in the file
    #[arg(long = "name", value_name = "NAME", conflicts_with_all = RUNNING)]
    server: Option<OsString>,

    /// Set any key of the server to start; may be repeated
    #[arg(long, value_name = "KEY=VALUE", action = clap::ArgAction::Append, conflicts_with_all = RUNNING)]
    set: Vec<OsString>,

    /// The least severe lines of a server to start that go to stderr [default: warn]
    #[arg(long, value_name = "LEVEL", conflicts_with_all = RUNNING)]
    log_level: Option<OsString>,

    /// Print one JSON object
    #[arg(long)]
    json: bool,

    /// A server to start, probe and end
    #[arg(last = true, value_name = "COMMAND", conflicts_with_all = RUNNING)]
    command: Vec<OsString>,
}

impl Arguments {
    /// Whether a server is to be started for it. A command, a file or a chain say so, and so does every option about them.
    pub(super) const fn is_once(&self) -> bool {
        self.config.is_some()
            || self.server.is_some()
            || self.chain.is_some()
            || self.log_level.is_some()
            || !self.set.is_empty()
            || !self.command.is_empty()
    }

    /// The same for a server that runs.
    pub(super) async fn run(&self, there: &Whereabouts, to: &mut Output<'_>) -> Outcome {
        let (watchdog, server) = there.server(self.target.name.as_deref()).await?;
        let report = watchdog.probe(&server.name).await?;
        writeln!(to.out, "{}", told(&report, self.json)?)?;
        Ok(if report.is_alive() { Exit::Done } else { Exit::Failed })
    }

    pub(super) fn settle_once(
        self,
        environment: Vec<(OsString, OsString)>,
        known: KnownProbes<'_>,
    ) -> Result<Invocation, Stop> {
        let mut settings: Vec<_> = self.set.into_iter().map(Setting::Set).collect();
        let level = self.log_level.unwrap_or_else(|| "warn".into());
        settings.push(Setting::Named { flag: "--log-level", key: "log.level", value: level });
        if let Some(chain) = self.chain {
            settings.push(Setting::Named { flag: "--chain", key: "probe.chain", value: links(chain)? });
        }
        let input = Input {
            command: self.command,
            config: self.config,
            name: self.server,
            settings,
            environment,
            ..Input::default()
        };
        let loaded = load::load(&input, known)?;
        Ok(Invocation::ProbeOnce(Box::new(ProbeOnce { loaded, json: self.json })))
    }
}

/// Words with commas stand for links of these types; what is a list already stays.
///
/// # Errors
/// When there is nothing where a word should be.
fn links(chain: OsString) -> Result<OsString, Stop> {
    let Some(text) = chain.to_str().map(str::trim).filter(|text| !text.starts_with('[')) else { return Ok(chain) };
    let kinds: Vec<&str> = text.split(',').map(str::trim).collect();
    if kinds.contains(&"") {
        let what = if text.is_empty() { "is empty" } else { "has an empty place between its commas" };
        return Err(Stop::usage(format!("error: --chain {what}: name its links, such as `--chain ping,tools_list`\n")));
    }
    let links: Vec<String> = kinds.iter().map(|kind| format!("{{type: {kind}}}")).collect();
    Ok(format!("[{}]", links.join(", ")).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_become_links_and_lists_stay() {
        let links = |text: &str| links(text.into()).map_err(|stop| stop.text);
        assert_eq!(links("ping, tools_list").unwrap(), "[{type: ping}, {type: tools_list}]");
        assert_eq!(links(" [{type: ping, timeout: 1s}]").unwrap(), " [{type: ping, timeout: 1s}]");
        for empty in ["", " "] {
            assert!(links(empty).unwrap_err().starts_with("error: --chain is empty: name its links"), "{empty:?}");
        }
        for gap in [",", "ping,", "ping,,http"] {
            assert!(links(gap).unwrap_err().contains("an empty place between its commas"), "{gap}");
        }
    }
}
