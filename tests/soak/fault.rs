//! What happens to the server, and when.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// The ways in which a server is lost. A call does what is in quotes; the others are done to it from outside.
const FAULTS: [Fault; 8] = [
    Fault::Signal(Signal::SIGKILL),
    Fault::Signal(Signal::SIGSTOP),
    Fault::Signal(Signal::SIGSEGV),
    Fault::Call("exit-0"),
    Fault::Call("exit-1"),
    Fault::Call("half-a-line"),
    Fault::Call("hang"),
    Fault::Call("orphan"),
];

#[derive(Debug, Clone, Copy)]
enum Fault {
    Signal(Signal),
    Call(&'static str),
}

/// Faults at about equal distances, in an order that the seed decides.
#[derive(Debug)]
pub(crate) struct Faults {
    state: u64,
    every: Duration,
    next: Instant,
    pub(crate) done: u64,
}

impl Faults {
    pub(crate) fn new(seed: u64, every: Duration) -> Self {
        Self { state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1, every, next: Instant::now() + every, done: 0 }
    }

    /// Does the fault that is due, if one is; what a call has to do for it is returned. `place` names the server's process.
    pub(crate) fn due(&mut self, place: &Path) -> Option<&'static str> {
        if Instant::now() < self.next {
            return None;
        }
        self.next = Instant::now() + self.every.mul_f64(0.5 + self.fraction());
        self.done += 1;
        let count = FAULTS.len();
        let index = usize::try_from(self.random() % u64::try_from(count).ok()?).ok()?;
        match FAULTS.get(index)? {
            Fault::Call(what) => Some(what),
            Fault::Signal(signal) => {
                // A number that is another's by now would be a process of the same soak: the watchdog reaps late.
                let pid = fs::read_to_string(place).ok()?.parse().ok()?;
                if is_server(pid) {
                    _ = kill(Pid::from_raw(pid), *signal);
                }
                None
            }
        }
    }

    fn fraction(&mut self) -> f64 {
        f64::from(u32::try_from(self.random() >> 40).unwrap_or_default()) / f64::from(1 << 24)
    }

    /// xorshift64*
    fn random(&mut self) -> u64 {
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        self.state.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }
}

/// Whether that process is a server of ours.
fn is_server(pid: i32) -> bool {
    let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    words.split(|byte| *byte == 0).nth(1) == Some(crate::server::ROLE.as_bytes())
}
