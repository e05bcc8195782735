//! What is executed, and within which bounds.

use std::ffi::{CString, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use super::bytes::{Malformed, Reader, Writer};
use crate::cgroup::Placement;
use crate::config;

/// What is executed: everything that the guard cannot find out by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Launch {
    /// The program as it was named, and its arguments.
    pub argv: Vec<CString>,
    /// The whole environment, each as `KEY=VALUE`.
    pub env: Vec<CString>,
    /// The working directory; the guard's own when `None`.
    pub cwd: Option<CString>,
    /// What the kernel is told of the new process before it executes the program.
    pub limits: Limits,
    /// The cgroup for its tree, where it gets one.
    pub placement: Option<Placement>,
}

/// Limits of one process, which its children inherit (getrlimit(2)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Open files; as inherited when `None`.
    pub open_files: Option<u64>,
    /// Bytes of a core file; `None` is unlimited.
    pub core: Option<u64>,
    /// `/proc/PID/oom_score_adj`; as inherited when `None`.
    pub oom_score_adj: Option<i32>,
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
        let config::Bounds { open_files, core, oom_score_adj, .. } = command.bounds;
        Some(Self { argv, env, cwd, limits: Limits { open_files, core, oom_score_adj }, placement: None })
    }

    /// `None` where a frame could not hold it.
    pub(super) fn write(&self, writer: &mut Writer) -> Option<()> {
        writer.strings(&self.argv)?;
        writer.strings(&self.env)?;
        writer.strings(self.cwd.as_slice())?;
        let Limits { open_files, core, oom_score_adj } = self.limits;
        writer.optional(open_files);
        writer.optional(core);
        writer.optional(oom_score_adj.map(|number| number.cast_unsigned().into()));
        let Some(Placement { folder, memory_max }) = &self.placement else { return writer.strings(&[]) };
        writer.strings(&[CString::new(folder.as_os_str().as_bytes()).ok()?])?;
        writer.optional(*memory_max);
        Some(())
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (argv, env, cwd) = (reader.strings()?, reader.strings()?, reader.strings()?.into_iter().next());
        let (open_files, core) = (reader.optional()?, reader.optional()?);
        let oom_score_adj =
            reader.optional()?.map(|number| u32::try_from(number).map_err(|_| Malformed)).transpose()?;
        let oom_score_adj = oom_score_adj.map(u32::cast_signed);
        let placement = match reader.strings()?.into_iter().next() {
            Some(folder) => {
                let folder = OsString::from_vec(folder.into_bytes()).into();
                Some(Placement { folder, memory_max: reader.optional()? })
            }
            None => None,
        };
        Ok(Self { argv, env, cwd, limits: Limits { open_files, core, oom_score_adj }, placement })
    }
}

fn pair(key: &OsString, value: &OsString) -> Option<CString> {
    let mut bytes = key.as_bytes().to_vec();
    bytes.push(b'=');
    bytes.extend_from_slice(value.as_bytes());
    CString::new(bytes).ok()
}
