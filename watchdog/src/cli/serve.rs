//! `mcp-watchdog serve --config FILE`

use std::ffi::OsString;
use std::path::PathBuf;

use crate::config::load::{self, Input, KnownProbes, Setting};

use super::{Invocation, Stop};

/// What was typed.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The file that describes the servers: ours, or a client's with `mcpServers`
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// off, error, warn, info, debug or trace [default: info]
    #[arg(long, value_name = "LEVEL")]
    log_level: Option<OsString>,

    /// text or json [default: text]
    #[arg(long, value_name = "FORMAT")]
    log_format: Option<OsString>,

    /// Open no control socket
    #[arg(long)]
    no_control: bool,

    /// Do what pid 1 does in a container: reap orphans, and let no process outlive this one
    // Looked for before anything is parsed: see `init::enter`.
    #[arg(long)]
    init: bool,
}

impl Arguments {
    pub(super) fn settle(
        self,
        environment: Vec<(OsString, OsString)>,
        known: KnownProbes<'_>,
    ) -> Result<Invocation, Stop> {
        let named = [
            ("--log-level", "log.level", self.log_level),
            ("--log-format", "log.format", self.log_format),
            ("--no-control", "control.listen", self.no_control.then(|| OsString::from("off"))),
        ];
        let setting = |(flag, key, value): (_, _, Option<OsString>)| Some(Setting::Named { flag, key, value: value? });
        let settings = named.into_iter().filter_map(setting).collect();
        let input = Input { config: self.config, settings, environment, ..Input::default() };
        let loaded = Box::new(load::load_all(&input, known)?);
        Ok(Invocation::Serve { input: Box::new(input), loaded })
    }
}
