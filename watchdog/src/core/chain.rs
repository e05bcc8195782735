//! The probe chain as data: which link runs next, and what the verdicts mean together.
//!
//! A chain ends a doubt, it does not start one: it runs because a call is overdue, a health interval has passed or an
//! operator asked. A wrong "dead" kills a healthy server in the middle of its work, a wrong "alive" costs one more
//! interval, so everything here leans to life:
//!
//! * one link that passes is life (mode `any`), and so is any reply to any request of a probe, whatever it says;
//! * a link that cannot tell ([`Verdict::Inconclusive`], [`Verdict::Unsupported`]) counts for nothing, and a chain of
//!   such links decides nothing;
//! * *silence* is rebutted by signs of life of another kind ([`Evidence`]): a server that is writing or computing is
//!   busy, and one that is known to answer in order answers no probe during a call;
//! * a failure that is *not* silence, such as a probe that read the answer and found it wrong, stands: it is the
//!   operator's own oracle and not ours to overrule.
//!
//! The source of the rules is lifecycle.md, section 6, and wire-reference.md, sections 3.6 and 3.7.

use std::fmt::Write as _;

use probe_api::Verdict;

use crate::config::ChainMode;

mod evidence;
mod latches;

pub use evidence::Evidence;
pub use latches::Latches;

/// The place of a link in its chain, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkIndex(pub usize);

/// What the chain has to know of a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Its name in reasons: the probe's type.
    pub name: String,
    /// Whether the link only asks one optional request, so that a server which never answers it, but answers other
    /// links, is asked by those alone from then on.
    pub skippable: bool,
}

/// How a chain is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChainPolicy {
    /// What the verdicts mean together.
    pub mode: ChainMode,
    /// How many times in a row the whole chain has to fail. Zero counts as one.
    pub confirmations: u32,
}

/// What a link's requests to the server met, apart from the probe's own verdict. Of several, the greatest counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Heard {
    /// It made no request that was sent.
    #[default]
    Nothing,
    /// Every request met silence.
    Silence,
    /// The server said that it does not know the method (-32601). That is life too.
    Unknown,
    /// Some other reply came, an error perhaps.
    Answer,
}

impl Heard {
    /// Whether the server replied.
    #[must_use]
    pub fn is_reply(self) -> bool {
        matches!(self, Self::Unknown | Self::Answer)
    }
}

/// What a chain found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The server is well.
    Alive,
    /// It lives but is occupied: leave it alone for `busy_grace`.
    Busy(String),
    /// It is not well.
    Dead(String),
    /// Nothing is known; worth a warning, never a restart.
    Undecided(String),
}

/// One run of a probe chain.
#[derive(Debug, Clone)]
pub struct Chain {
    policy: ChainPolicy,
    links: Vec<Link>,
    /// The links that run, in order.
    order: Vec<LinkIndex>,
    /// The place in `order` that is due.
    position: usize,
    /// Rounds that have failed in a row.
    failed_rounds: u32,
    round: Round,
    /// By link: the greatest that it has met in any round.
    heard: Vec<Heard>,
    settled: Option<Settled>,
}

/// What one pass through the links has met so far.
#[derive(Debug, Clone, Default)]
struct Round {
    passed: bool,
    replied: bool,
    /// A failure that is more than silence.
    refuted: bool,
    busy: Option<String>,
    failures: String,
    unclear: String,
}

#[derive(Debug, Clone)]
enum Settled {
    Alive,
    Busy(String),
    Dead { reason: String, by_silence: bool },
    Undecided(String),
}

impl Chain {
    /// A chain that is about to run. `latches` decide which links it leaves out or asks last.
    #[must_use]
    pub fn new(policy: ChainPolicy, links: Vec<Link>, latches: &Latches) -> Self {
        // Where every link has to pass, none may be left out.
        let unlearned = Latches::default();
        let order = if policy.mode == ChainMode::Any { latches } else { &unlearned }.order(links.len());
        let settled = order.is_empty().then(|| Settled::Undecided("the chain has no links".to_owned()));
        let heard = vec![Heard::Nothing; links.len()];
        Self { policy, links, order, position: 0, failed_rounds: 0, round: Round::default(), heard, settled }
    }

    /// The link that has to run now; `None` once the chain has ended.
    #[must_use]
    pub fn next_link(&self) -> Option<LinkIndex> {
        if self.settled.is_some() { None } else { self.order.get(self.position).copied() }
    }

    /// How many links have not run yet, the one that is due and those of further rounds among them. A time limit for the chain
    /// is shared out by this, so that a first link which hangs never takes the time of the one that would have answered.
    #[must_use]
    pub fn links_left(&self) -> usize {
        if self.settled.is_some() {
            return 0;
        }
        let further = self.policy.confirmations.max(1).saturating_sub(self.failed_rounds + 1) as usize;
        self.order.len() - self.position + further.saturating_mul(self.order.len())
    }

    /// Whether the server was found dead for its silence alone.
    #[must_use]
    pub const fn met_silence_alone(&self) -> bool {
        matches!(self.settled, Some(Settled::Dead { by_silence: true, .. }))
    }

    /// Takes the verdict of the link that was due, and what its requests met. A verdict of any other link is stale and
    /// changes nothing.
    pub fn record(&mut self, link: LinkIndex, verdict: Verdict, heard: Heard) {
        if self.next_link() != Some(link) {
            return;
        }
        self.note_heard(link, heard);
        let name = self.links.get(link.0).map_or("", |link| link.name.as_str());
        let any = self.policy.mode == ChainMode::Any;
        match verdict {
            Verdict::Pass if any => return self.settled = Some(Settled::Alive),
            Verdict::Busy(reason) if any => return self.settled = Some(Settled::Busy(labelled(name, &reason))),
            Verdict::Pass => self.round.passed = true,
            Verdict::Busy(reason) => self.round.busy = Some(labelled(name, &reason)),
            Verdict::Fail(reason) => {
                self.round.refuted |= heard != Heard::Silence;
                append(&mut self.round.failures, name, &reason);
            }
            Verdict::Unsupported => append(&mut self.round.unclear, name, "not supported here"),
            Verdict::Inconclusive(reason) => append(&mut self.round.unclear, name, &reason),
            _ => append(&mut self.round.unclear, name, "a verdict that is not known here"),
        }
        self.position += 1;
        let failed_already = !any && !self.round.failures.is_empty();
        if failed_already || self.position >= self.order.len() {
            self.end_round();
        }
    }

    /// What it all means, in the light of other signs of life.
    #[must_use]
    pub fn finish(&self, evidence: &Evidence) -> Outcome {
        match &self.settled {
            Some(Settled::Alive) => Outcome::Alive,
            Some(Settled::Busy(reason)) => Outcome::Busy(reason.clone()),
            Some(Settled::Undecided(reason)) => Outcome::Undecided(reason.clone()),
            Some(Settled::Dead { reason, by_silence }) => match evidence.rebuts_silence() {
                Some(sign) if *by_silence => Outcome::Busy(format!("{sign} ({reason})")),
                _ => Outcome::Dead(reason.clone()),
            },
            None => Outcome::Undecided("the chain was ended before it was done".to_owned()),
        }
    }

    /// Whether the server replied to any request of any link.
    #[must_use]
    pub fn any_reply(&self) -> bool {
        self.heard.iter().any(|heard| heard.is_reply())
    }

    fn note_heard(&mut self, link: LinkIndex, heard: Heard) {
        self.round.replied |= heard.is_reply();
        if let Some(best) = self.heard.get_mut(link.0) {
            *best = heard.max(*best);
        }
    }

    fn end_round(&mut self) {
        let round = std::mem::take(&mut self.round);
        let by_silence = !round.refuted;
        self.settled = if round.failures.is_empty() {
            Some(round.without_failures())
        } else if self.policy.mode == ChainMode::Any && by_silence && round.replied {
            Some(Settled::Alive)
        } else {
            self.failed_rounds += 1;
            self.position = 0;
            let confirmed = self.failed_rounds >= self.policy.confirmations;
            confirmed.then_some(Settled::Dead { reason: round.failures, by_silence })
        };
    }
}

impl Round {
    fn without_failures(self) -> Settled {
        match self.busy {
            Some(reason) => Settled::Busy(reason),
            None if self.passed => Settled::Alive,
            None => Settled::Undecided(format!("no link could tell ({})", self.unclear)),
        }
    }
}

fn labelled(name: &str, reason: &str) -> String {
    format!("{name}: {reason}")
}

fn append(list: &mut String, name: &str, reason: &str) {
    let separator = if list.is_empty() { "" } else { "; " };
    write!(list, "{separator}{name}: {reason}").expect("writing to a String cannot fail");
}

#[cfg(test)]
mod tests;
