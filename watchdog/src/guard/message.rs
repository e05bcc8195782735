//! What the engine and a guard say to each other over the control socket.
//!
//! Both ends are the same binary, so the form may change at will: a frame is its length (u32, little endian) and a body,
//! a body is a tag byte and its fields. Byte strings travel as they are, which arguments and environments need.

use std::time::Duration;

use crate::core::ending::Ending;
use crate::exit::Exit;

mod bytes;
mod launch;
#[cfg(test)]
mod tests;

pub(crate) use bytes::{Frames, Malformed};
use bytes::{Reader, Writer};
pub(crate) use launch::{Launch, Limits};

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
    /// Its cgroup cannot be made or entered.
    Cgroup,
    /// `limits.memory_max` cannot be set.
    MemoryMax,
    /// `limits.open_files` cannot be set.
    OpenFiles,
    /// `limits.core` cannot be set.
    Core,
    /// `oom_score_adj` cannot be set.
    OomScoreAdj,
}

impl Step {
    /// The exit code of the sidecar for a failure of this step with this error number, by the convention of shells:
    /// 127 is a program that was not found, 126 one that cannot be executed. What the configuration asks of the kernel and does not
    /// get is a configuration that cannot work.
    #[must_use]
    pub const fn exit(self, errno: i32) -> Exit {
        match self {
            Self::Guard | Self::Fork | Self::Cgroup => Exit::Internal,
            Self::MemoryMax | Self::OpenFiles | Self::Core | Self::OomScoreAdj => Exit::Config,
            Self::Exec if errno == nix::libc::ENOENT => Exit::NotFound,
            Self::Chdir | Self::Exec => Exit::CannotExecute,
        }
    }

    /// All of them; their places are their numbers.
    const ALL: [Self; 9] = [
        Self::Guard,
        Self::Fork,
        Self::Chdir,
        Self::Exec,
        Self::Cgroup,
        Self::MemoryMax,
        Self::OpenFiles,
        Self::Core,
        Self::OomScoreAdj,
    ];

    /// Its number on the exec-status pipe and the control socket.
    pub(crate) const fn number(self) -> u8 {
        self as u8
    }

    /// The step with this number.
    pub(crate) fn from_number(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }
}

impl Order {
    /// The whole frame. `None` where it would be longer than [`bytes::LONGEST`].
    pub(crate) fn to_frame(&self) -> Option<Vec<u8>> {
        let mut writer = Writer::new();
        match self {
            Self::Launch(launch) => {
                writer.byte(1);
                launch.write(&mut writer)?;
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
            1 => Self::Launch(Launch::read(&mut reader)?),
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
                    Ending::Code(code) => (3, Some(code.cast_unsigned().into())),
                    Ending::Signal(signal) => (4, Some(signal.cast_unsigned().into())),
                    Ending::OutOfMemory { limit } => (6, limit),
                };
                writer.byte(tag);
                writer.optional(number);
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
            3 => Self::Exited(Ending::Code(reader.signed()?)),
            4 => Self::Exited(Ending::Signal(reader.signed()?)),
            6 => Self::Exited(Ending::OutOfMemory { limit: reader.optional()? }),
            5 => Self::Empty { survivors: reader.list(Reader::number)? },
            _ => return Err(Malformed),
        };
        reader.end(event)
    }
}
