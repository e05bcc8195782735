//! The processes of a session, and its end.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::{LOOK, Session, USUAL, slack};
use crate::process::{self, Process};

impl Session {
    /// The watchdog.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// The session's own folder: the working directory of the watchdog, with the fixture's `state.log`.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Sends a signal to the watchdog alone. Does nothing once it has ended.
    pub fn signal(&self, signal: Signal) {
        let state = self.shared.lock();
        if state.exit.is_none() {
            let pid = i32::try_from(self.pid).expect("a process number fits");
            // Until its end is noted, under this lock, it is not reaped, and its number is its own.
            kill(Pid::from_raw(pid), signal).expect("a process of ours can be signalled");
        }
    }

    /// Sends a signal to the server of the last life, and returns its process.
    ///
    /// # Panics
    /// When there is none.
    #[track_caller]
    pub fn signal_server(&self, signal: Signal) -> u32 {
        let pid = self.wait_life(self.life().max(1));
        assert!(process::signal(pid, signal, self.folder()), "the server {pid} is gone already");
        pid
    }

    /// Kills the server of the last life, and waits for its end.
    ///
    /// # Panics
    /// When there is none, or it does not end.
    #[track_caller]
    pub fn kill_server(&self) {
        let life = self.life().max(1);
        self.signal_server(Signal::SIGKILL);
        self.wait_gone(life);
    }

    /// The processes of this session that run: the watchdog and everything that came of it.
    #[must_use]
    pub fn survivors(&self) -> Vec<Process> {
        process::marked(self.folder())
    }

    /// Waits until none of them runs.
    ///
    /// # Panics
    /// When some still do after so long.
    #[track_caller]
    pub fn wait_none_left(&self, within: Duration) {
        let left = || self.survivors();
        let none = self.shared.wait(slack(within), Some(LOOK), |_| left().is_empty().then_some(()));
        if none.is_none() {
            let left: Vec<_> = left().iter().map(Process::to_string).collect();
            self.fail(&format!("still alive after {within:?}: {}", left.join(", ")));
        }
    }

    /// Waits for the watchdog's end.
    ///
    /// # Panics
    /// When it has not ended within so long.
    #[track_caller]
    pub fn wait_exit(&self, within: Duration) -> ExitStatus {
        self.wait(within, "the end of the watchdog", |state| state.exit)
    }

    /// The client leaves: stdin is closed, and everything that a session owes is checked.
    ///
    /// # Panics
    /// When the watchdog owes something.
    #[track_caller]
    pub fn finish(mut self) {
        let exit = self.shared.lock().exit;
        if let Some(exit) = exit {
            self.fail(&format!("the watchdog ended by itself: {exit}"));
        }
        self.close_stdin();
        self.ended(0);
    }

    /// The watchdog ends with this code (128 + n for a signal that kills it), leaves nothing, and what it wrote was
    /// right.
    ///
    /// # Panics
    /// When that is not so.
    #[track_caller]
    pub fn ended(self, code: i32) {
        let exit = self.wait_exit(USUAL);
        let got = exit.code().or_else(|| exit.signal().map(|signal| 128 + signal));
        if got != Some(code) {
            self.fail(&format!("the watchdog ended with {exit}, expected code {code}"));
        }
        self.wait_none_left(USUAL);
        self.wait(Duration::from_secs(1), "the end of stdout", |state| state.stdout_ended.then_some(()));
        self.wait(Duration::from_secs(1), "the end of what the lives tell", |state| state.all_gone().then_some(()));
        let checked = self.shared.lock().check(true);
        if let Err(why) = checked {
            self.fail(&why);
        }
    }

    /// After a SIGKILL of the watchdog: nothing of its tree outlives it for long.
    ///
    /// # Panics
    /// When something does.
    #[track_caller]
    pub fn killed(self) {
        let begin = Instant::now();
        self.wait_exit(USUAL);
        self.wait_none_left(Duration::from_secs(3).saturating_sub(begin.elapsed()));
        // What was being written is lost; what was written has to be right.
        let mut state = self.shared.lock();
        state.partial.clear();
        let checked = state.check(false);
        drop(state);
        if let Err(why) = checked {
            self.fail(&why);
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.stdin = None;
        self.signal(Signal::SIGKILL);
        // What is forked meanwhile is found in the next round; what cannot be killed is not waited for.
        self.shared.wait(2 * USUAL, Some(LOOK), |_| {
            let left = self.survivors();
            for process in &left {
                process::signal(process.pid, Signal::SIGKILL, self.folder());
            }
            left.is_empty().then_some(())
        });
    }
}
