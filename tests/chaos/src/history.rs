//! What was recorded of a run.

use crate::journal::{Entry, What};
use crate::message::Message;
use crate::plan::{Plan, Target};
use crate::processes::Process;

/// All of it. Times are those of [`now`](crate::journal::now).
#[derive(Debug, Clone, Default)]
pub struct History {
    /// What was to be done.
    pub plan: Plan,
    /// What the client wrote, read and did, in order.
    pub client: Vec<Event>,
    /// The journals of the lives, the first one first.
    pub lives: Vec<Vec<Entry>>,
    /// The watchdog's stderr.
    pub stderr: String,
    /// The exit code of the watchdog, or 128 and the signal that ended it; `None` if it did not end in time.
    pub exit: Option<i32>,
    /// What still ran a while after its end.
    pub left: Vec<Process>,
}

/// Something at the client.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// When.
    pub at: u64,
    /// What.
    pub what: Did,
}

/// What can happen at the client.
#[derive(Debug, Clone, PartialEq)]
pub enum Did {
    /// It began to write a line.
    Send(Message),
    /// It read a line.
    Receive(Message),
    /// It reads nothing from here on.
    StopReading,
    /// It reads again.
    GoOnReading,
    /// A process was killed from outside.
    Kill(Target, Process),
    /// The end of the run began; as the plan says, unless the watchdog ended before.
    End,
    /// It read the end of stdout, and half a line before it.
    StreamEnd {
        /// So long was the half.
        half: usize,
    },
    /// It waited for its answers for as long as it does, in vain.
    GaveUp,
    /// The client itself got no processor for so many nanoseconds: what it saw now is that much older, or more.
    Stalled(u64),
    /// The watchdog ended.
    Exit,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            seed: 0,
            era: crate::plan::Era::Handshake,
            patient: true,
            options: Vec::new(),
            lives: Vec::new(),
            steps: Vec::new(),
            end: crate::plan::End::Leave,
        }
    }
}

impl History {
    /// What the client sent, with the times.
    pub fn sent(&self) -> impl Iterator<Item = (u64, &Message)> {
        self.client.iter().filter_map(|event| match &event.what {
            Did::Send(message) => Some((event.at, message)),
            _ => None,
        })
    }

    /// What the client received, with the times.
    pub fn received(&self) -> impl Iterator<Item = (u64, &Message)> {
        self.client.iter().filter_map(|event| match &event.what {
            Did::Receive(message) => Some((event.at, message)),
            _ => None,
        })
    }

    /// Whether the client got no processor for so long that it says more about the machine than about the watchdog.
    #[must_use]
    pub fn is_starved(&self) -> bool {
        const TOO_LONG: u64 = 500_000_000;
        self.client.iter().any(|event| matches!(event.what, Did::Stalled(late) if late > TOO_LONG))
    }

    /// The lives with their numbers.
    pub fn numbered(&self) -> impl Iterator<Item = (u64, &[Entry])> {
        (1..).zip(&self.lives).map(|(number, life)| (number, life.as_slice()))
    }

    /// What a life read, with the times.
    pub fn read_by(&self, life: u64) -> impl Iterator<Item = (u64, &Message)> {
        self.entries(life).filter_map(|entry| match &entry.what {
            What::Read(message) => Some((entry.at, message)),
            _ => None,
        })
    }

    /// The entries of a life.
    pub fn entries(&self, life: u64) -> impl Iterator<Item = &Entry> {
        let index = usize::try_from(life).ok().and_then(|life| life.checked_sub(1));
        index.and_then(|index| self.lives.get(index)).into_iter().flatten()
    }

    /// When the end of the run began.
    #[must_use]
    pub fn end_at(&self) -> u64 {
        let end = self.client.iter().find(|event| matches!(event.what, Did::End | Did::Exit));
        end.map_or(u64::MAX, |event| event.at)
    }

    /// When a life began.
    #[must_use]
    pub fn start_of(&self, life: u64) -> Option<u64> {
        self.entries(life).find(|entry| matches!(entry.what, What::Start { .. })).map(|entry| entry.at)
    }

    /// The process of a life.
    #[must_use]
    pub fn pid_of(&self, life: u64) -> Option<i32> {
        self.entries(life).find_map(|entry| match entry.what {
            What::Start { pid, .. } => Some(pid),
            _ => None,
        })
    }

    /// When and how a life ended by itself or was killed from outside: whichever came first.
    #[must_use]
    pub fn death_of(&self, life: u64) -> Option<(u64, String)> {
        // Who is killed while it dies is dead anyhow.
        self.deaths_of(life).into_iter().min_by_key(|(at, _)| *at)
    }

    /// All that should have ended a life: one that ends by itself can be killed meanwhile.
    #[must_use]
    pub fn deaths_of(&self, life: u64) -> Vec<(u64, String)> {
        let own = self.entries(life).filter_map(|entry| match &entry.what {
            What::Dying(how) => Some((entry.at, how.clone())),
            _ => None,
        });
        let (pid, guard) = (self.pid_of(life), self.guard_of(life));
        let killed = self.client.iter().filter_map(|event| match &event.what {
            Did::Kill(Target::Server, process) if Some(process.pid) == pid => Some((event.at, "SIGKILL".to_owned())),
            // Its parent's death is its own.
            Did::Kill(Target::Guard, process) if Some(process.pid) == guard => Some((event.at, "SIGKILL".to_owned())),
            _ => None,
        });
        own.chain(killed).collect()
    }

    /// Since when a life does not do what a server does, though it runs.
    #[must_use]
    pub fn failing_since(&self, life: u64) -> Option<u64> {
        let own = self.entries(life).find(|entry| matches!(entry.what, What::Failing(_))).map(|entry| entry.at);
        let pid = self.pid_of(life);
        let stopped = self.client.iter().find_map(|event| match &event.what {
            Did::Kill(Target::ServerStop, process) if Some(process.pid) == pid => Some(event.at),
            _ => None,
        });
        [own, stopped].into_iter().flatten().min()
    }

    fn guard_of(&self, life: u64) -> Option<i32> {
        self.entries(life).find_map(|entry| match entry.what {
            What::Start { guard, .. } => Some(guard),
            _ => None,
        })
    }
}
