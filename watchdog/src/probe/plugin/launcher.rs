//! How a probe host is started.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use crate::config;
use crate::os;
use crate::probe_host;
use crate::telemetry::LogHandle;

/// What a probe host is started with.
#[derive(Debug, Clone)]
pub struct Launcher {
    /// The binary that becomes the guard and the host.
    pub program: PathBuf,
    /// The host's environment.
    pub env: Vec<(OsString, OsString)>,
    /// Where lines go that the plugin prints.
    pub log: LogHandle,
}

impl Launcher {
    /// With this program itself, in its own environment without what is for the watchdog alone.
    ///
    /// # Errors
    /// Where the program does not find itself.
    pub fn own(log: LogHandle) -> io::Result<Self> {
        let own = std::env::vars_os().collect();
        let env = config::inherited_environment(&own).into_iter().collect();
        Ok(Self { program: os::own_program()?, env, log })
    }

    pub(super) fn command(&self) -> config::Command {
        config::Command {
            program: self.program.clone().into(),
            args: vec![probe_host::ARGUMENT.into()],
            cwd: None,
            env: self.env.clone(),
            bounds: config::Bounds::default(),
        }
    }
}
