//! The data of a run. Everything that a run does is in its plan; what it does not fix is the scheduling of the machine.

mod make;

use serde::{Deserialize, Serialize};

/// A run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// What it was made of.
    pub seed: u64,
    /// How the client opens its session.
    pub era: Era,
    /// Whether probes are given so much time that even a machine under load answers them. Such a run has slow calls and no
    /// hangs, and in it no server may be replaced that did not end by itself.
    pub patient: bool,
    /// Further options of the watchdog.
    pub options: Vec<String>,
    /// The lives of the server, one after the other. Those after the last one are quiet.
    pub lives: Vec<Life>,
    /// What the client does.
    pub steps: Vec<Step>,
    /// How it ends.
    pub end: End,
}

/// The opening of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Era {
    /// `initialize`, up to 2025-11-25.
    Handshake,
    /// None: 2026-07-28.
    Stateless,
}

/// One process of the server.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Life {
    /// How it begins.
    pub start: Start,
    /// What it starts beside itself.
    pub family: Vec<Kin>,
    /// How it ends, if anything but the watchdog ends it.
    pub fate: Option<Fate>,
}

/// A beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Start {
    /// As it should be.
    #[default]
    Ready,
    /// It reads nothing for so many milliseconds.
    Slow(u32),
    /// It ends with this code before it has read anything.
    Dies(i32),
    /// It ends with this code when it reads its opening.
    DiesOfOpening(i32),
    /// It refuses its opening with an error.
    Refuses,
    /// It never answers its opening.
    Mute,
    /// It writes what is no message before it does anything else.
    Banner,
}

/// A process that the server starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kin {
    /// In the server's group.
    Plain,
    /// Ignores the polite signals, in a session of its own.
    Session,
    /// The same, and its parent is gone.
    Daemon,
    /// As `Session`, and it holds the server's stdout.
    Holder,
}

/// An end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fate {
    /// When.
    pub when: When,
    /// How.
    pub how: How,
}

/// The moment of a fate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum When {
    /// When so many requests of the client's plan were read; the last one of them is not answered.
    Request(u32),
    /// So many milliseconds after the start.
    Millis(u32),
}

/// The manner of a fate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum How {
    /// With this code.
    Exit(i32),
    /// Of this signal, which it sends itself.
    Signal(String),
    /// With 3, after half a line.
    HalfLine,
    /// With 4, after lines that are no messages, some of them not UTF-8.
    Junk,
    /// With 0, right after it has answered everything that it was asked, the last request too.
    LastWords,
    /// It closes its stdout and lives on.
    ClosesStdout,
    /// It closes its stdin and lives on, without another word.
    ClosesStdin,
    /// It reads on and says nothing more.
    Silent,
    /// It says nothing more after half a line.
    HalfLineSilent,
    /// It reads nothing more and says nothing more.
    Deaf,
    /// It stops itself.
    Stopped,
}

impl How {
    /// Whether the process ends by itself.
    #[must_use]
    pub const fn is_death(&self) -> bool {
        matches!(self, Self::Exit(_) | Self::Signal(_) | Self::HalfLine | Self::Junk | Self::LastWords)
    }
}

/// A step of the client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Step {
    /// It sends a request.
    Send(Request),
    /// It takes back the request with this number, if that is open.
    Cancel(u64),
    /// It sends a notification.
    Notify(u64),
    /// It waits until so few requests are open.
    Await(usize),
    /// It waits for so many milliseconds, and reads.
    Pause(u32),
    /// It reads nothing for so many milliseconds.
    StopReading(u32),
    /// A process is killed from outside.
    Kill(Target),
}

/// What is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Target {
    /// The server that runs.
    Server,
    /// The server is stopped instead.
    ServerStop,
    /// Its guard.
    Guard,
}

/// A request of the client. Its number is in it, and comes back in the answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// Its number, from 1.
    pub n: u64,
    /// Its id as JSON spells it.
    pub id: String,
    /// Its method.
    pub method: String,
    /// How many bytes of padding it has.
    pub pad: u32,
    /// What the server is to do about it.
    pub order: Order,
}

/// What the server does about a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Order {
    /// After how many milliseconds it answers.
    pub delay: u32,
    /// How many bytes of padding the answer has.
    pub bytes: u32,
    /// How often it tells of progress before.
    pub progress: u32,
    /// Whether it tells of progress afterwards too, and answers twice, and answers what nobody asked.
    pub rude: bool,
    /// Whether it asks the client something meanwhile.
    pub ask: bool,
    /// Whether the answer is an error.
    pub fail: bool,
    /// How many notifications of 1 KiB it sends before it answers.
    pub flood: u32,
}

/// How a run ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum End {
    /// The client waits for all answers and closes stdin.
    Leave,
    /// It closes stdin whatever is open, and reads on.
    LeaveAtOnce,
    /// It closes stdout.
    CloseStdout,
    /// The watchdog gets a SIGTERM.
    Terminate,
    /// The watchdog gets a SIGKILL.
    Kill,
}

impl End {
    /// Whether everybody is answered before the stream ends.
    #[must_use]
    pub const fn is_drained(self) -> bool {
        matches!(self, Self::Leave | Self::LeaveAtOnce)
    }
}

impl Plan {
    /// The life with this number, from 1.
    #[must_use]
    pub fn life(&self, number: u64) -> Life {
        let index = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
        index.and_then(|index| self.lives.get(index)).cloned().unwrap_or_default()
    }

    /// Whether a probe may condemn a server in this run.
    #[must_use]
    pub fn has_hangs(&self) -> bool {
        !self.patient
    }

    /// The plan as text, of which `--plan FILE` makes a run again: one line a life and a step.
    #[must_use]
    pub fn text(&self) -> String {
        fn list<T: Serialize>(items: &[T]) -> String {
            items.iter().map(json).collect::<Vec<_>>().join(",\n  ")
        }
        fn json<T: Serialize + ?Sized>(value: &T) -> String {
            serde_json::to_string(value).expect("plain data is JSON")
        }
        format!(
            "{{\"seed\":{},\"era\":{},\"patient\":{},\"end\":{},\"options\":{},\n \"lives\":[\n  {}],\n \"steps\":[\n  {}]}}\n",
            self.seed,
            json(&self.era),
            self.patient,
            json(&self.end),
            json(&self.options),
            list(&self.lives),
            list(&self.steps)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_is_a_plan_and_a_plan_is_its_text() {
        for seed in 0..300 {
            let plan = Plan::from_seed(seed);
            assert_eq!(plan, Plan::from_seed(seed));
            assert_eq!(serde_json::from_str::<Plan>(&plan.text()).expect("it is JSON"), plan);
        }
        assert_ne!(Plan::from_seed(1).steps, Plan::from_seed(2).steps);
    }

    #[test]
    fn ids_are_not_used_twice_and_all_kinds_of_ends_come_up() {
        let plans: Vec<_> = (0..400).map(Plan::from_seed).collect();
        for plan in &plans {
            let mut ids: Vec<_> = plan
                .steps
                .iter()
                .filter_map(|step| match step {
                    Step::Send(request) => Some(&request.id),
                    _ => None,
                })
                .collect();
            let all = ids.len();
            ids.sort_unstable();
            ids.dedup();
            assert_eq!(ids.len(), all, "{}", plan.text());
        }
        for end in [End::Leave, End::LeaveAtOnce, End::CloseStdout, End::Terminate, End::Kill] {
            assert!(plans.iter().any(|plan| plan.end == end), "{end:?}");
        }
        let fates = |wanted: fn(&How) -> bool| {
            plans
                .iter()
                .flat_map(|plan| &plan.lives)
                .filter_map(|life| life.fate.as_ref())
                .any(|fate| wanted(&fate.how))
        };
        assert!(fates(|how| matches!(how, How::Stopped)) && fates(|how| matches!(how, How::LastWords)));
        assert!(
            plans.iter().filter(|plan| plan.patient).all(|plan| {
                plan.lives.iter().filter_map(|life| life.fate.as_ref()).all(|fate| fate.how.is_death())
            })
        );
    }
}
