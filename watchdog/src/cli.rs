//! The command line: what was typed, turned into what is to be done. Nothing is printed here.
//!
//! One file per subcommand; [`Subcommand`] is the list of them.

use std::ffi::{OsStr, OsString};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser};

use crate::config::load::{self, Input, KnownProbes, Loaded};
use crate::config::{ConfigErrors, hint};
use crate::exit::Exit;
use operator::Task;

pub mod check_config;
pub mod completions;
pub mod connect;
pub mod demo;
mod disable;
mod enable;
mod events;
mod health;
pub mod import;
mod logs;
mod mcp;
pub mod operator;
mod original;
#[cfg(feature = "plugins")]
pub mod plugins;
pub mod print_openapi;
pub mod print_schema;
mod probe;
mod reload;
mod retry;
mod serve;
mod sidecar;
mod status;
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
    /// Write the JSON Schema of a configuration file.
    PrintSchema,
    /// Write what a shell or the reader of manuals wants to know of us.
    Completions(completions::Completions),
    /// Put the watchdog in front of the servers of a client's file.
    Wrap(wrap::Wrap),
    /// Describe the HTTP API.
    PrintOpenapi(print_openapi::PrintOpenapi),
    /// Try a probe plugin.
    #[cfg(feature = "plugins")]
    CheckPlugin(plugins::CheckPlugin),
    /// Ask or tell running watchdogs something.
    Operate(operator::Operate),
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

/// What `--version` says: of a build that cannot do everything, that too.
const VERSION: &str = if cfg!(feature = "plugins") {
    env!("CARGO_PKG_VERSION")
} else {
    concat!(env!("CARGO_PKG_VERSION"), " (without plugins)")
};

/// Supervises an MCP stdio server and keeps the client's session over its death
#[derive(Debug, Parser)]
#[command(
    name = "mcp-watchdog",
    version = VERSION,
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
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
    /// Say whether a configuration file works, and where each value comes from
    CheckConfig(check_config::Arguments),
    /// Show a server dying and coming back, without any setup
    Demo(demo::Demo),
    /// Turn the servers of a client's configuration file into a file for --config
    Import(import::Arguments),
    /// Write the JSON Schema of a configuration file, for editors
    PrintSchema,
    /// Write completions for a shell, or the manual page
    Completions(completions::Completions),
    /// Put the watchdog in front of the servers in a client's configuration file, or take it away
    Wrap(wrap::Wrap),
    /// Print the OpenAPI document of the control plane
    PrintOpenapi(print_openapi::PrintOpenapi),
    /// Try a probe plugin before a server depends on it
    #[cfg(feature = "plugins")]
    Plugins(plugins::Arguments),
    /// Not in this build
    #[cfg(not(feature = "plugins"))]
    #[command(hide = true)]
    Plugins {
        /// What would be tried
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<OsString>,
    },
    #[command(flatten)]
    Operate(Task),
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
    let environment: Vec<_> = environment.into_iter().collect();
    let health = args.get(1).is_some_and(|arg| arg == "health");
    interpret(&args, environment, known).map_err(|stop| match stop.exit {
        // Those who ask for health read two codes.
        Exit::Config if health => Stop { exit: Exit::Failed, ..stop },
        _ => stop,
    })
}

fn interpret(
    args: &[OsString],
    environment: Vec<(OsString, OsString)>,
    known: KnownProbes<'_>,
) -> Result<Invocation, Stop> {
    let matches = matches(args).map_err(|error| stopped(&error, args))?;
    let typed = Arguments::from_arg_matches(&matches).map_err(|error| stopped(&error, args))?;
    match typed.subcommand {
        Some(Subcommand::Serve(arguments)) => arguments.settle(environment, known),
        Some(Subcommand::Connect(connect)) => Ok(Invocation::Connect(connect)),
        Some(Subcommand::CheckConfig(arguments)) => Ok(Invocation::CheckConfig(arguments.settle(environment))),
        Some(Subcommand::Demo(demo)) => Ok(Invocation::Demo(demo)),
        Some(Subcommand::Import(arguments)) => Ok(Invocation::Import(arguments.settle(environment))),
        Some(Subcommand::PrintSchema) => Ok(Invocation::PrintSchema),
        Some(Subcommand::Completions(completions)) => Ok(Invocation::Completions(completions)),
        Some(Subcommand::Wrap(wrap)) => Ok(Invocation::Wrap(wrap)),
        Some(Subcommand::PrintOpenapi(print)) => Ok(Invocation::PrintOpenapi(print)),
        #[cfg(not(feature = "plugins"))]
        Some(Subcommand::Plugins { .. }) => Err(Stop::usage(format!("error: {}\n", crate::probe::plugin::REFUSAL))),
        #[cfg(feature = "plugins")]
        Some(Subcommand::Plugins(arguments)) => arguments.settle().map(Invocation::CheckPlugin),
        Some(Subcommand::Operate(Task::Probe(arguments))) if arguments.is_once() => {
            arguments.settle_once(environment, known)
        }
        Some(Subcommand::Operate(task)) => task.settle(&environment).map(Invocation::Operate),
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

/// To the parser `-5s` is an option. Behind an option it was meant as its value, and whoever reads values can say what is
/// wrong with it.
fn matches(args: &[OsString]) -> Result<ArgMatches, clap::Error> {
    let error = match Arguments::command().try_get_matches_from(args) {
        Err(error) if error.kind() == ErrorKind::UnknownArgument => error,
        result => return result,
    };
    let mut joined: Vec<OsString> = Vec::with_capacity(args.len());
    for (at, arg) in args.iter().enumerate() {
        if arg == "--" {
            joined.extend_from_slice(&args[at..]);
            break;
        }
        match joined.last_mut() {
            Some(option) if is_negative(arg) && is_bare_option(option) => {
                option.push("=");
                option.push(arg);
            }
            _ => joined.push(arg.clone()),
        }
    }
    if joined.len() == args.len() { Err(error) } else { Arguments::command().try_get_matches_from(joined) }
}

fn is_negative(arg: &OsStr) -> bool {
    matches!(arg.as_encoded_bytes(), [b'-', digit, ..] if digit.is_ascii_digit())
}

fn is_bare_option(arg: &OsStr) -> bool {
    let bytes = arg.as_encoded_bytes();
    bytes.len() > 2 && bytes.starts_with(b"--") && !bytes.contains(&b'=')
}

/// The parser's own ends: help, version, and usage errors.
fn stopped(error: &clap::Error, args: &[OsString]) -> Stop {
    let mut text = error.render().to_string();
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => return Stop { exit: Exit::Done, text },
        ErrorKind::InvalidSubcommand | ErrorKind::UnknownArgument | ErrorKind::ArgumentConflict
            if !args.iter().any(|arg| arg == "--") =>
        {
            text.push_str(&remedy(error, args));
        }
        _ => {}
    }
    // What is said there of `--` holds for other programs. Where it was all that was said, its empty line goes too.
    let mut lines: Vec<&str> =
        text.split_inclusive('\n').filter(|line| !line.starts_with("  tip: to pass '")).collect();
    lines.dedup_by(|line, before| *line == "\n" && *before == "\n");
    Stop::usage(lines.concat())
}

/// What was probably meant by a word that nothing is known of.
fn remedy(error: &clap::Error, args: &[OsString]) -> String {
    let command = Arguments::command();
    let is_subcommand = |word: &OsStr| command.find_subcommand(word).is_some();
    let first = args.get(1).map(OsString::as_os_str).unwrap_or_default();
    if is_subcommand(first) {
        // It has told its own usage.
        return String::new();
    }
    let word = match error.get(ContextKind::InvalidArg).or_else(|| error.get(ContextKind::InvalidSubcommand)) {
        Some(ContextValue::String(word)) => word.as_str(),
        _ => "",
    };
    if is_subcommand(word.as_ref()) {
        return format!("\nA subcommand comes first, before its options: mcp-watchdog {word}\n");
    }
    let names = command.get_subcommands().map(clap::Command::get_name);
    match hint::nearest(word, names) {
        Some(name) => format!("\nA similar subcommand exists: mcp-watchdog {name}\n"),
        // It was no server's command.
        None if word.starts_with('-') || first == "help" => String::new(),
        None => "\nA server's command goes behind `--`: mcp-watchdog [OPTIONS] -- COMMAND [ARGS]...\n".to_owned(),
    }
}

#[cfg(test)]
mod tests;
