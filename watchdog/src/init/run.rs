//! The life of an init: one loop over signals, ends of processes, and deadlines.

use std::fs;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use nix::libc::SIGKILL;
use nix::poll::{PollFd, PollFlags, poll};
use nix::sys::signal::Signal;
use nix::sys::signalfd::SignalFd;
use nix::unistd::{Pid, getpid};

use super::say;
use super::signals::{Answer, answer, suspend};
use crate::core::ending::Ending;
use crate::exit::Exit;
use crate::guard::{self, Keeper, LEFTOVER_GRACE, ORPHAN_GRACE};
use crate::os;

/// What guards have for their own work when the engine has ended before them: all their rungs, and a moment.
const GUARDS_WORK: Duration = ORPHAN_GRACE.saturating_mul(2).saturating_add(Duration::from_millis(100));

/// Stays until the engine and everything else here has ended. Gives the exit code that says how the engine did.
pub(super) fn run(engine: Pid, signals: SignalFd) -> u8 {
    let mut init = Init { engine, signals, keeper: Keeper::new(engine, None), passed: Vec::new(), ending: None };
    loop {
        if let Some(code) = init.turn() {
            return code;
        }
    }
}

struct Init {
    engine: Pid,
    signals: SignalFd,
    /// Of everything that is below this process; the engine is its leader.
    keeper: Keeper,
    /// What the engine was sent: if one of these ends it, it is no crash.
    passed: Vec<Signal>,
    ending: Option<Ending>,
}

impl Init {
    /// One turn of the loop. Gives the exit code in the last one.
    fn turn(&mut self) -> Option<u8> {
        while let Ok(Some(info)) = self.signals.read_signal() {
            self.heed(answer(info.ssi_signo));
        }
        if let Some(ending) = self.keeper.tree.reap_until_leader() {
            self.engine_ended(ending);
        }
        if let Some(survivors) = self.keeper.advance() {
            return self.ending.map(|ending| conclude(ending, &survivors));
        }
        // An error can only be one of memory, and the loop looks at everything in any case.
        _ = poll(&mut [PollFd::new(self.signals.as_fd(), PollFlags::POLLIN)], self.keeper.pause());
        None
    }

    fn heed(&mut self, answer: Answer) {
        if self.keeper.tree.leader_ended() {
            // Only what is left is being waited for.
            if matches!(answer, Answer::Wake(_)) {
                self.keeper.ladder.kill(Instant::now());
            }
            return;
        }
        match answer {
            Answer::Wake(signal) => {
                self.pass(signal);
                self.keeper.tree.signal_leader(Signal::SIGCONT);
            }
            Answer::Pass(signal) => self.pass(signal),
            // What cannot be stopped goes on.
            Answer::Suspend => _ = suspend(self.engine),
            Answer::Nothing => {}
        }
    }

    fn pass(&mut self, signal: Signal) {
        if !self.passed.contains(&signal) {
            self.passed.push(signal);
        }
        self.keeper.tree.signal_leader(signal);
    }

    fn engine_ended(&mut self, ending: Ending) {
        self.ending = Some(ending);
        if let Ending::Signal(number) = ending
            && !self.passed.iter().any(|signal| *signal as i32 == number)
        {
            let engine = self.engine;
            say(&format!(
                "the watchdog's process {engine} was killed by {ending}; what is left of its servers is ended"
            ));
        }
        // The guards know their trees better than we do.
        let grace = if has_guards() { GUARDS_WORK } else { Duration::ZERO };
        self.keeper.ladder.stop(Instant::now(), grace, LEFTOVER_GRACE);
    }
}

fn conclude(ending: Ending, survivors: &[Pid]) -> u8 {
    if !survivors.is_empty() {
        let survivors: Vec<_> = survivors.iter().map(Pid::to_string).collect();
        say(&format!("these processes could not be killed: {}", survivors.join(", ")));
    }
    match ending {
        // The system keeps eight bits.
        Ending::Code(code) => code.to_le_bytes()[0],
        Ending::Signal(number) => Exit::Signal(number).code(),
        Ending::OutOfMemory { .. } => Exit::Signal(SIGKILL).code(),
    }
}

/// Whether guards are among the processes that are left. They were the engine's children, and have come to us.
fn has_guards() -> bool {
    // Where nobody can be seen there may be some; where nobody is left, nothing waits for them.
    let Ok(left) = os::descendants(getpid()) else { return true };
    left.iter().any(|member| {
        let command = fs::read(format!("/proc/{}/cmdline", member.pid)).unwrap_or_default();
        command.split(|byte| *byte == 0).next() == Some(guard::ARGV0.as_bytes())
    })
}
