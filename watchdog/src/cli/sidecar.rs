//! The options of the sidecar form. Each sets one key; what a value may be is decided where keys are read, so that file,
//! environment and options agree.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{ArgMatches, Args};

use crate::config::load::Setting;

pub(super) const AFTER_HELP: &str = "\
Durations: 500ms, 30s, 2m, 1h30m, or a bare number of seconds.
Sizes: 64KiB, 1MiB, or a bare number of bytes.

Every key can also be written in a file or in the environment: restart.hold is
MCP_WATCHDOG_RESTART__HOLD. The order, low to high: built-in, preset, file, CONNECTION_*,
MCP_WATCHDOG_*, options. `mcp-watchdog check-config --explain` shows a value's source.

Exit codes:
  0         the client closed the stream, and the server's processes are gone
  70        the server failed for good, and on_permanent_failure is exit
  78        configuration or usage that cannot work
  125       the watchdog itself failed
  126, 127  COMMAND cannot be executed, is not found
  128+N     ended by signal N";

/// What was typed.
#[derive(Debug, Args)]
pub(super) struct Options {
    /// Describe the server in this file
    #[arg(long, value_name = "FILE", help_heading = "Server")]
    pub(super) config: Option<PathBuf>,

    /// The server's name in logs and errors, and its key in the file [default: base name of COMMAND]
    #[arg(long, value_name = "NAME", help_heading = "Server")]
    pub(super) name: Option<OsString>,

    /// A bundle of values: relentless, patient, bounded, network or private [default: relentless]
    #[arg(long, value_name = "PRESET", help_heading = "Server")]
    preset: Option<OsString>,

    /// Set any key of the server, such as restart.min_uptime=2s; may be repeated
    #[arg(long, value_name = "KEY=VALUE", action = clap::ArgAction::Append, help_heading = "Server")]
    set: Vec<OsString>,

    /// A call unanswered for so long makes the server suspect: it is probed, not killed [default: 40s]
    #[arg(long, value_name = "DURATION", help_heading = "Time limits")]
    tool_timeout: Option<OsString>,

    /// Answer a call with an error after so long, even if the server is well [default: off]
    #[arg(long, value_name = "DURATION", help_heading = "Time limits")]
    request_deadline: Option<OsString>,

    /// How long the server may take to open a session [default: 30s]
    #[arg(long, value_name = "DURATION", help_heading = "Time limits")]
    handshake_timeout: Option<OsString>,

    /// How long one link of the probe chain may take [default: 3s]
    #[arg(long, value_name = "DURATION", help_heading = "Time limits")]
    probe_timeout: Option<OsString>,

    /// Between two health checks; 0s is off [default: 120s]
    #[arg(long, value_name = "DURATION", help_heading = "Health")]
    health_interval: Option<OsString>,

    /// What follows failed health checks: warn or restart [default: warn]
    #[arg(long, value_name = "ACTION", help_heading = "Health")]
    on_unhealthy: Option<OsString>,

    /// The delays before restarts, the last one held [default: 0s,1s,2s,5s,10s,30s,60s]
    #[arg(long, value_name = "DURATION,...", help_heading = "Restarts")]
    restart_delays: Option<OsString>,

    /// Failed attempts in a row before the server counts as failed for good: a number, or unlimited [default: unlimited]
    #[arg(long, value_name = "N", help_heading = "Restarts")]
    max_attempts: Option<OsString>,

    /// Restart the server between calls when this file or folder changes; may be repeated
    #[arg(long, value_name = "PATH", action = clap::ArgAction::Append, help_heading = "Restarts")]
    watch: Vec<OsString>,

    /// How long a request waits for a restart [default: 10s]
    #[arg(long, value_name = "DURATION", help_heading = "Restarts")]
    hold: Option<OsString>,

    /// off, error, warn, info, debug or trace [default: info]
    #[arg(long, value_name = "LEVEL", help_heading = "Log and control")]
    log_level: Option<OsString>,

    /// text or json [default: text]
    #[arg(long, value_name = "FORMAT", help_heading = "Log and control")]
    log_format: Option<OsString>,

    /// Open no control socket
    #[arg(long, help_heading = "Log and control")]
    no_control: bool,

    /// Do what pid 1 does in a container: reap orphans, and let no process outlive this one
    // Looked for before anything is parsed: see `init::enter`.
    #[arg(long, help_heading = "Log and control")]
    init: bool,
}

/// Every option that sets a key, in the order in which they were typed: a later one wins over an earlier `--set`.
pub(super) fn settings(options: &Options, matches: &ArgMatches) -> Vec<Setting> {
    let named: [(&'static str, &'static str, &Option<OsString>); 13] = [
        ("--preset", "preset", &options.preset),
        ("--tool-timeout", "tool_timeout", &options.tool_timeout),
        ("--request-deadline", "request_deadline", &options.request_deadline),
        ("--handshake-timeout", "handshake.timeout", &options.handshake_timeout),
        ("--probe-timeout", "probe.timeout", &options.probe_timeout),
        ("--health-interval", "health.interval", &options.health_interval),
        ("--on-unhealthy", "health.on_unhealthy", &options.on_unhealthy),
        ("--restart-delays", "restart.delays", &options.restart_delays),
        ("--max-attempts", "restart.max_attempts", &options.max_attempts),
        ("--hold", "restart.hold", &options.hold),
        ("--log-level", "log.level", &options.log_level),
        ("--log-format", "log.format", &options.log_format),
        ("--no-control", "control.listen", &options.no_control.then(|| OsString::from("off"))),
    ];
    let mut typed: Vec<(usize, Setting)> = Vec::new();
    for (flag, key, value) in named {
        if let Some(value) = value {
            let at = indices(matches, &flag[2..].replace('-', "_")).last().copied().unwrap_or_default();
            typed.push((at, Setting::Named { flag, key, value: value.clone() }));
        }
    }
    if let Some(at) = indices(matches, "watch").last() {
        typed.push((*at, Setting::Listed { flag: "--watch", key: "watch", values: options.watch.clone() }));
    }
    typed.extend(indices(matches, "set").into_iter().zip(options.set.iter().cloned().map(Setting::Set)));
    typed.sort_by_key(|(at, _)| *at);
    typed.into_iter().map(|(_, setting)| setting).collect()
}

/// The places of an option among the arguments.
fn indices(matches: &ArgMatches, id: &str) -> Vec<usize> {
    matches.indices_of(id).map(Iterator::collect).unwrap_or_default()
}
