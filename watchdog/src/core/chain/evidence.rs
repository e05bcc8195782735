//! Signs of life that are no answer to a probe.

use std::time::Duration;

/// The share of one processor that a server in the middle of work uses at the least: one twentieth. An idle runtime's
/// own timers and garbage collection stay well below.
const BUSY_SHARE: u32 = 20;

/// The least processor time that proves work: two ticks of the kernel's usual 10 ms accounting.
const BUSY_FLOOR: Duration = Duration::from_millis(20);

/// What else was seen while a chain ran. A server in the middle of one long synchronous call answers no ping on many
/// common runtimes (wire-reference.md, section 3.7), so silence alone condemns only one that does nothing at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Evidence {
    /// This generation wrote protocol bytes after the chain began, late answers to probes among them.
    pub bytes_seen: bool,
    /// A call in flight reported progress after the chain began.
    pub progress: bool,
    /// Processor time that the server's process tree used while the chain ran; zero where that is not known.
    pub cpu_used: Duration,
    /// How long the chain ran.
    pub window: Duration,
    /// The server is known to answer in order, and a call is in flight.
    pub serial_call_in_flight: bool,
    /// The server may answer in order, and a call is in flight that is not overdue.
    pub may_be_in_line: bool,
    /// The server has asked the client something and has no answer yet: one that works one thing after the other hears
    /// nothing else meanwhile, and it may be a human who has to answer.
    pub waits_for_client: bool,
}

impl Evidence {
    /// Why silence does not mean death here, if it does not.
    pub(super) fn rebuts_silence(&self) -> Option<String> {
        if self.progress {
            Some("a call reports progress".to_owned())
        } else if self.bytes_seen {
            Some("the server is writing".to_owned())
        } else if self.is_computing() {
            let (used, window) = (self.cpu_used.as_millis(), self.window.as_millis());
            Some(format!("the server used {used} ms of processor time in {window} ms"))
        } else if self.serial_call_in_flight {
            Some("the server answers in order, and a call is in flight".to_owned())
        } else if self.waits_for_client {
            Some("the client has a question of the server to answer".to_owned())
        } else if self.may_be_in_line {
            Some("a call is in flight, which the server may have to answer first".to_owned())
        } else {
            None
        }
    }

    fn is_computing(&self) -> bool {
        self.cpu_used >= BUSY_FLOOR && self.cpu_used >= self.window / BUSY_SHARE
    }
}
