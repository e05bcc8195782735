//! A program that cannot be started, in words.

use nix::errno::Errno;

use super::Step;

/// Why a program cannot run, and what helps.
pub(crate) fn describe(program: &str, cwd: &str, errno: i32, step: Step) -> String {
    let error = Errno::from_raw(errno);
    match (step, error) {
        (Step::Exec, Errno::ENOENT) if program.contains('/') => {
            format!("cannot execute `{program}`: there is no such file (PATH is not searched for a name with a slash)")
        }
        (Step::Exec, Errno::ENOENT) => {
            format!("cannot find `{program}` along PATH: install it, or give its whole path")
        }
        (Step::Exec, Errno::EACCES) => {
            format!("cannot execute `{program}`: permission denied; is it an executable file?")
        }
        (Step::Exec, error) => format!("cannot execute `{program}`: {}", error.desc()),
        (Step::Chdir, error) => format!("cannot enter the working directory `{cwd}` of `{program}`: {}", error.desc()),
        (Step::Guard | Step::Fork, error) => format!("cannot start a process for `{program}`: {}", error.desc()),
    }
}
