//! What the engine and a guard say to each other over the control socket.
//!
//! Both ends are the same binary, so the form may change at will: a frame is its length (u32, little endian) and a body,
//! a body is a tag byte and its fields. Byte strings travel as they are, which arguments and environments need.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use crate::config;
use crate::core::ending::Ending;
use crate::exit::Exit;

mod bytes;
#[cfg(test)]
mod tests;

pub(crate) use bytes::{Frames, Malformed};
use bytes::{Reader, Writer};

/// What is executed: everything that the guard cannot find out by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Launch {
    /// The program as it was named, and its arguments.
    pub argv: Vec<CString>,
    /// The whole environment, each as `KEY=VALUE`.
    pub env: Vec<CString>,
    /// The working directory; the guard's own when `None`.
    pub cwd: Option<CString>,
}

impl Launch {
    /// `None` where a string holds a NUL byte, which no system call can carry.
    pub(crate) fn new(command: &config::Command) -> Option<Self> {
        let string = |bytes: &[u8]| CString::new(bytes).ok();
        let program = std::iter::once(&command.program);
        let argv = program.chain(&command.args).map(|word| string(word.as_bytes())).collect::<Option<_>>()?;
        let pair = |(key, value): &(_, _)| pair(key, value);
        let env = command.env.iter().map(pair).collect::<Option<_>>()?;
        let cwd = match &command.cwd {
            Some(path) => Some(string(path.as_os_str().as_bytes())?),
            None => None,
        };
        Some(Self { argv, env, cwd })
    }
}

fn pair(key: &std::ffi::OsString, value: &std::ffi::OsString) -> Option<CString> {
    let mut bytes = key.as_bytes().to_vec();
    bytes.push(b'=');
    bytes.extend_from_slice(value.as_bytes());
    CString::new(bytes).ok()
}

/// What the engine asks of a guard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Order {
    /// Always the first one; its frame carries the three descriptors of the child.
    Launch(Launch),
    /// Begin the stop ladder, or shorten it.
    Stop {
        /// From now to SIGTERM; the child's stdin has been closed.
        eof_grace: Duration,
        /// From SIGTERM to SIGKILL.
        term_grace: Duration,
    },
    /// Go to SIGKILL at once.
    Kill,
    /// Send this signal to the leader.
    Signal(i32),
}

/// What happens to a child, in this order: `Started` then `Exited`, or `CannotStart` alone; then `Empty`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChildEvent {
    /// The program runs.
    Started {
        /// The leader of the child's session and process group.
        pid: u32,
    },
    /// The program does not run.
    CannotStart {
        /// The system's error number.
        errno: i32,
        /// What failed.
        step: Step,
    },
    /// The leader has ended. What it left behind may be alive still.
    Exited(Ending),
    /// Nothing of the tree is alive but the survivors. The last event.
    Empty {
        /// Processes that could not be killed: another user's (set-uid programs), or stuck in the kernel.
        survivors: Vec<u32>,
    },
}

/// The steps of a start that can fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The guard went away before it could report a start.
    Guard,
    /// The new process could not be made or prepared.
    Fork,
    /// The working directory cannot be entered.
    Chdir,
    /// The program cannot be executed.
    Exec,
}

impl Step {
    /// The exit code of the sidecar for a failure of this step with this error number, by the convention of shells:
    /// 127 is a program that was not found, 126 one that cannot be executed.
    #[must_use]
    pub const fn exit(self, errno: i32) -> Exit {
        match self {
            Self::Guard | Self::Fork => Exit::Internal,
            Self::Exec if errno == nix::libc::ENOENT => Exit::NotFound,
            Self::Chdir | Self::Exec => Exit::CannotExecute,
        }
    }

    /// Its number on the exec-status pipe and the control socket.
    pub(crate) const fn number(self) -> u8 {
        match self {
            Self::Guard => 0,
            Self::Fork => 1,
            Self::Chdir => 2,
            Self::Exec => 3,
        }
    }

    /// The step with this number.
    pub(crate) const fn from_number(number: u8) -> Option<Self> {
        match number {
            0 => Some(Self::Guard),
            1 => Some(Self::Fork),
            2 => Some(Self::Chdir),
            3 => Some(Self::Exec),
            _ => None,
        }
    }
}

impl Order {
    /// The whole frame. `None` where it would be longer than [`bytes::LONGEST`].
    pub(crate) fn to_frame(&self) -> Option<Vec<u8>> {
        let mut writer = Writer::new();
        match self {
            Self::Launch(launch) => {
                writer.byte(1);
                writer.strings(&launch.argv)?;
                writer.strings(&launch.env)?;
                writer.strings(launch.cwd.as_slice())?;
            }
            Self::Stop { eof_grace, term_grace } => {
                writer.byte(2);
                writer.duration(*eof_grace);
                writer.duration(*term_grace);
            }
            Self::Kill => writer.byte(3),
            Self::Signal(number) => {
                writer.byte(4);
                writer.number(number.cast_unsigned());
            }
        }
        writer.into_frame()
    }

    /// Reads a frame's body.
    pub(crate) fn from_body(body: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(body);
        let order = match reader.byte()? {
            1 => {
                let (argv, env) = (reader.strings()?, reader.strings()?);
                Self::Launch(Launch { argv, env, cwd: reader.strings()?.into_iter().next() })
            }
            2 => Self::Stop { eof_grace: reader.duration()?, term_grace: reader.duration()? },
            3 => Self::Kill,
            4 => Self::Signal(reader.number()?.cast_signed()),
            _ => return Err(Malformed),
        };
        reader.end(order)
    }
}

impl ChildEvent {
    /// The whole frame. `None` where it would be longer than [`bytes::LONGEST`].
    pub(crate) fn to_frame(&self) -> Option<Vec<u8>> {
        let mut writer = Writer::new();
        match self {
            Self::Started { pid } => {
                writer.byte(1);
                writer.number(*pid);
            }
            Self::CannotStart { errno, step } => {
                writer.byte(2);
                writer.number(errno.cast_unsigned());
                writer.byte(step.number());
            }
            Self::Exited(ending) => {
                let (tag, number) = match *ending {
                    Ending::Code(code) => (3, code),
                    Ending::Signal(signal) => (4, signal),
                };
                writer.byte(tag);
                writer.number(number.cast_unsigned());
            }
            Self::Empty { survivors } => {
                writer.byte(5);
                writer.length(survivors.len())?;
                survivors.iter().for_each(|&pid| writer.number(pid));
            }
        }
        writer.into_frame()
    }

    /// Reads a frame's body.
    pub(crate) fn from_body(body: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(body);
        let event = match reader.byte()? {
            1 => Self::Started { pid: reader.number()? },
            2 => {
                let errno = reader.number()?.cast_signed();
                Self::CannotStart { errno, step: Step::from_number(reader.byte()?).ok_or(Malformed)? }
            }
            3 => Self::Exited(Ending::Code(reader.number()?.cast_signed())),
            4 => Self::Exited(Ending::Signal(reader.number()?.cast_signed())),
            5 => Self::Empty { survivors: reader.list(Reader::number)? },
            _ => return Err(Malformed),
        };
        reader.end(event)
    }
}
