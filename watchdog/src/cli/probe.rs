//! `mcp-watchdog probe [OPTIONS] -- COMMAND [ARGS]...`

use std::ffi::OsString;
use std::path::PathBuf;

use crate::config::load::{self, Input, KnownProbes, Setting};
use crate::probe_once::ProbeOnce;

use super::{Invocation, Stop};

/// What was typed.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "mcp-watchdog probe [OPTIONS] -- COMMAND [ARGS]...\n       mcp-watchdog probe [OPTIONS] --config FILE"
)]
pub(super) struct Arguments {
    /// The links: types with commas, or a list as in the file, such as `[{type: http, url: "http://127.0.0.1:80/"}]`
    #[arg(long, value_name = "LINKS")]
    chain: Option<OsString>,

    /// Describe the server and its chain in this file
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// The server in the file
    #[arg(long, value_name = "NAME")]
    name: Option<OsString>,

    /// Set any key of the server; may be repeated
    #[arg(long, value_name = "KEY=VALUE", action = clap::ArgAction::Append)]
    set: Vec<OsString>,

    /// The least severe lines that go to stderr [default: warn]
    #[arg(long, value_name = "LEVEL")]
    log_level: Option<OsString>,

    /// Print one JSON object
    #[arg(long)]
    json: bool,

    /// A server to start, probe and end
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

impl Arguments {
    pub(super) fn settle(
        self,
        environment: Vec<(OsString, OsString)>,
        known: KnownProbes<'_>,
    ) -> Result<Invocation, Stop> {
        let mut settings: Vec<_> = self.set.into_iter().map(Setting::Set).collect();
        let level = self.log_level.unwrap_or_else(|| "warn".into());
        settings.push(Setting::Named { flag: "--log-level", key: "log.level", value: level });
        if let Some(chain) = self.chain {
            settings.push(Setting::Named { flag: "--chain", key: "probe.chain", value: links(chain) });
        }
        let input = Input {
            command: self.command,
            config: self.config,
            name: self.name,
            settings,
            environment,
            ..Input::default()
        };
        let loaded = load::load(&input, known)?;
        Ok(Invocation::ProbeOnce(Box::new(ProbeOnce { loaded, json: self.json })))
    }
}

/// Words with commas stand for links of these types; what is a list already stays.
fn links(chain: OsString) -> OsString {
    let Some(text) = chain.to_str().map(str::trim).filter(|text| !text.starts_with('[')) else { return chain };
    let links: Vec<String> = text.split(',').map(|kind| format!("{{type: {}}}", kind.trim())).collect();
    format!("[{}]", links.join(", ")).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_become_links_and_lists_stay() {
        assert_eq!(links("ping, tools_list".into()), "[{type: ping}, {type: tools_list}]");
        assert_eq!(links(" [{type: ping, timeout: 1s}]".into()), " [{type: ping, timeout: 1s}]");
    }
}
