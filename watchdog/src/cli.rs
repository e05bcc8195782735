//! The command line: what was typed, turned into what is to be done. Nothing is printed here.
//!
//! One file per subcommand; [`Subcommand`] is the list of them.

use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches, Parser};

use crate::config::ConfigErrors;
use crate::config::load::{self, Input, KnownProbes, Loaded};
use crate::exit::Exit;

pub mod check_config;
pub mod connect;
pub mod demo;
pub mod import;
mod original;
mod probe;
mod serve;
mod sidecar;
pub mod wrap;

/// What is to be done.
#[derive(Debug)]
pub enum Invocation {
    /// Supervise the one server of this configuration. Its warnings are for the log.
    Sidecar(Box<Loaded>),
    /// Supervise all servers of a file; the input is what they were loaded from.
    Serve {
        /// To be read again by a reload.
        input: Box<Input>,
        /// What it says now.
        loaded: Box<Loaded>,
    },
    /// Put a server of `serve` on stdin and stdout.
    Connect(connect::Connect),
    /// Start a server, probe it once, and end it.
    ProbeOnce(Box<crate::probe_once::ProbeOnce>),
    /// Say whether a configuration file works.
    CheckConfig(check_config::CheckConfig),
    /// Show a server dying and coming back.
    Demo(demo::Demo),
    /// Turn a client's file into a configuration of ours.
    Import(import::Import),
    /// Put the watchdog in front of the servers of a client's file.
    Wrap(wrap::Wrap),
}

/// The program ends before it has begun: help was asked for, or what was typed cannot work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stop {
    /// [`Exit::Done`] for help and version, whose text belongs on stdout; else the text is for stderr.
    pub exit: Exit,
    /// What the user is told, with line ends.
    pub text: String,
}

impl Stop {
    fn usage(text: impl Into<String>) -> Self {
        Self { exit: Exit::Config, text: text.into() }
    }
}

impl From<ConfigErrors> for Stop {
    fn from(errors: ConfigErrors) -> Self {
        Self::usage(errors.errors().iter().map(|error| format!("error: {error}\n")).collect::<String>())
    }
}

/// Supervises an MCP stdio server and keeps the client's session over its death
#[derive(Debug, Parser)]
#[command(
    name = "mcp-watchdog",
    version,
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    disable_help_subcommand = true,
    args_override_self = true,
    override_usage = "mcp-watchdog [OPTIONS] -- COMMAND [ARGS]...\n       mcp-watchdog [OPTIONS] --config FILE\n       mcp-watchdog SUBCOMMAND",
    after_help = sidecar::AFTER_HELP
)]
struct Arguments {
    #[command(flatten)]
    options: sidecar::Options,

    /// The server's command and its arguments, started without a shell
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,

    #[command(subcommand)]
    subcommand: Option<Subcommand>,
}

#[derive(Debug, clap::Subcommand)]
enum Subcommand {
    /// Supervise several servers, each on a socket of its own
    Serve(serve::Arguments),
    /// Put a server of `serve` on this process's stdin and stdout
    Connect(connect::Connect),
    /// Start a server, run its probe chain once, and say what each link found
    Probe(probe::Arguments),
    /// Say whether a configuration file works, and where each value comes from
    CheckConfig(check_config::Arguments),
    /// Show a server dying and coming back, without any setup
    Demo(demo::Demo),
    /// Turn the servers of a client's configuration file into a file for --config
    Import(import::Arguments),
    /// Put the watchdog in front of the servers in a client's configuration file, or take it away
    Wrap(wrap::Wrap),
}

/// Reads a command line (the program's name first) and, for the sidecar form, everything that it leads to.
///
/// # Errors
/// With [`Exit::Config`] and the reasons when that cannot work, and with [`Exit::Done`] when help or the version was asked for.
pub fn parse(
    args: impl IntoIterator<Item = OsString>,
    environment: impl IntoIterator<Item = (OsString, OsString)>,
    known: KnownProbes<'_>,
) -> Result<Invocation, Stop> {
    let args: Vec<OsString> = args.into_iter().collect();
    let matches = Arguments::command().try_get_matches_from(&args).map_err(|error| stopped(&error, &args))?;
    let typed = Arguments::from_arg_matches(&matches).map_err(|error| stopped(&error, &args))?;
    let environment: Vec<_> = environment.into_iter().collect();
    match typed.subcommand {
        Some(Subcommand::Serve(arguments)) => arguments.settle(environment, known),
        Some(Subcommand::Connect(connect)) => Ok(Invocation::Connect(connect)),
        Some(Subcommand::Probe(arguments)) => arguments.settle(environment, known),
        Some(Subcommand::CheckConfig(arguments)) => Ok(Invocation::CheckConfig(arguments.settle(environment))),
        Some(Subcommand::Demo(demo)) => Ok(Invocation::Demo(demo)),
        Some(Subcommand::Import(arguments)) => Ok(Invocation::Import(arguments.settle(environment))),
        Some(Subcommand::Wrap(wrap)) => Ok(Invocation::Wrap(wrap)),
        None => {
            if args.last().is_some_and(|last| last == "--") && typed.command.is_empty() {
                return Err(Stop::usage("error: nothing follows `--`: write the server's command there\n"));
            }
            let settings = sidecar::settings(&typed.options, &matches);
            let sidecar::Options { config, name, .. } = typed.options;
            let input = Input { command: typed.command, config, name, settings, environment, ..Input::default() };
            Ok(Invocation::Sidecar(Box::new(load::load(&input, known)?)))
        }
    }
}

/// The parser's own ends: help, version, and usage errors.
fn stopped(error: &clap::Error, args: &[OsString]) -> Stop {
    let mut text = error.render().to_string();
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => return Stop { exit: Exit::Done, text },
        ErrorKind::InvalidSubcommand | ErrorKind::UnknownArgument | ErrorKind::ArgumentConflict
            if !args.iter().any(|arg| arg == "--") =>
        {
            text.push_str("\nA server's command goes behind `--`: mcp-watchdog [OPTIONS] -- COMMAND [ARGS]...\n");
        }
        _ => {}
    }
    Stop::usage(text)
}

#[cfg(test)]
mod tests;
