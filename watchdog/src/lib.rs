//! `mcp-watchdog`: a sidecar that spawns and supervises an MCP stdio server.
//!
//! A tour, from the outside in:
//!
//! * [`cli`] and [`config`] turn what was typed and written into a settled configuration.
//! * [`slot`] drives one server: it is the only task that touches its streams, and the only interpreter of what
//! * [`core`] decides. The core is pure: lifecycle, session, tables of requests, catalog, probe chain.
//! * [`front`] is the client's side, [`back`] the server's; [`stream`] is bytes on any kind of descriptor and [`wire`] the
//!   bytes of the protocol.
//! * [`guard`] is the second role of the binary: one tiny process per server process, which owns its whole tree.
//! * `cgroup` is the kernel's own fence around such a tree, where it is wanted and can be had.
//! * [`probe_host`] is the third: a process for one probe plugin, which is loaded nowhere else.
//! * [`init`] is the fourth: the first process of a container, or the one that `--init` asks for.
//! * [`probe`] runs health probes; [`events`] and [`telemetry`] tell the operator, [`service_manager`] the service manager.
//! * [`engine`] holds the slots together, [`control`] lets others at them, and [`client`] is the other end of that.

pub mod back;
mod cgroup;
pub mod cli;
pub mod client;
pub mod config;
mod connect;
pub mod control;
pub mod core;
mod demo;
mod ecosystem;
pub mod engine;
mod event_loop;
pub mod events;
pub mod exit;
pub mod front;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
pub mod guard;
mod init;
mod os;
pub mod probe;
#[cfg(feature = "plugins")]
pub mod probe_host;
pub mod probe_once;
mod serve;
mod service_manager;
mod sidecar;
pub mod slot;
pub mod stream;
pub mod telemetry;
pub mod watch;
pub mod wire;

use std::io::Write;
use std::panic::{UnwindSafe, catch_unwind};
use std::process::ExitCode;

use cli::{Invocation, Stop};
use exit::Exit;

/// Runs the program with this process's arguments, in the role that its name says.
#[must_use]
pub fn run() -> ExitCode {
    if std::env::args_os().next().is_some_and(|argv0| guard::is_guard(&argv0)) {
        return guard::main();
    }
    #[cfg(feature = "plugins")]
    if std::env::args_os().nth(1).is_some_and(|argument| probe_host::is_probe_host(&argument)) {
        return probe_host::main();
    }
    if let Some(code) = init::enter(std::env::args_os()) {
        return code;
    }
    let exit = contained(work);
    cgroup::Home::leave();
    exit.into()
}

/// A bug of ours ends the program with the code for that, in a container as elsewhere. The panic itself is told on stderr.
fn contained(work: impl FnOnce() -> Exit + UnwindSafe) -> Exit {
    catch_unwind(work).unwrap_or(Exit::Internal)
}

/// Does what the arguments and the environment say.
fn work() -> Exit {
    engine::signals::hear_all();
    engine::signals::outlive_full_files();
    let registry = probe::Registry::with_builtins();
    let known = |link: &config::Link, server: Option<&config::Command>| registry.check(link, server);
    match cli::parse(std::env::args_os(), std::env::vars_os(), &known) {
        Ok(Invocation::Sidecar(loaded)) => sidecar::run(*loaded, registry),
        Ok(Invocation::Serve { input, loaded }) => serve::run(*input, *loaded, registry),
        Ok(Invocation::Connect(connect)) => connect::run(&connect.target),
        Ok(Invocation::ProbeOnce(once)) => probe_once::run(&once, registry),
        Ok(Invocation::Demo(demo)) => demo.run(),
        Ok(Invocation::CheckConfig(check)) => reported(|out, err| check.run(&known, out, err)),
        Ok(Invocation::Import(import)) => reported(|out, err| import.run(&known, out, err)),
        Ok(Invocation::PrintSchema) => reported(|out, _| cli::print_schema::run(registry.names(), out)),
        Ok(Invocation::Completions(completions)) => reported(|out, _| completions.run(out)),
        Ok(Invocation::Wrap(wrap)) => reported(|out, err| wrap.run(&known, out, err)),
        Ok(Invocation::PrintOpenapi(print)) => reported(|out, _| print.run(out)),
        #[cfg(feature = "plugins")]
        Ok(Invocation::CheckPlugin(check)) => reported(|out, err| check.run(out, err)),
        Ok(Invocation::Operate(operate)) => reported(|out, err| operate.run(out, err)),
        Err(stop) => tell(&stop),
    }
}

/// Runs what only reads, writes and reports.
fn reported(work: impl FnOnce(&mut dyn Write, &mut dyn Write) -> std::io::Result<Exit>) -> Exit {
    work(&mut std::io::stdout(), &mut std::io::stderr()).unwrap_or(Exit::Internal)
}

/// Help belongs on stdout, complaints on stderr. There is nobody to tell that neither can be written.
fn tell(stop: &Stop) -> Exit {
    let text = stop.text.as_bytes();
    let _ = if stop.exit == Exit::Done { std::io::stdout().write_all(text) } else { std::io::stderr().write_all(text) };
    stop.exit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_a_failure_of_the_watchdog_itself() {
        assert_eq!(contained(|| panic!("a bug, as a test of what follows")), Exit::Internal);
        assert_eq!(contained(|| Exit::Done), Exit::Done);
    }
}
