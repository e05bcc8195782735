//! Runs a probe chain over a live server.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::task::{Context, Poll};
use std::time::Duration;

use probe_api::{Probe, Verdict};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

use super::context::{CallRequest, ChannelContext, Subject};
use crate::core::chain::{Chain, ChainPolicy, Heard, Latches, Link, LinkIndex};

/// How much longer than its limit a check may take before it is dropped. Its calls end with the limit, so a probe that
/// waits for the server comes to its own verdict; the rest is for scheduling, and for a plugin's link, which gives up 50 ms after
/// the limit and says so (design: probes.md, section 6).
const GRACE: Duration = Duration::from_millis(100);

/// A check that ends so much later than it can was not held up by its probe: this process was stopped, or starved. What such a
/// check found says nothing, and the time does not count.
const HELD_UP: Duration = Duration::from_secs(1);

/// One link of a chain, ready to run.
pub struct LoadedLink {
    /// The probe's type, for reasons and events.
    pub name: String,
    /// How long one check may take.
    pub timeout: Duration,
    /// See [`Link::skippable`].
    pub skippable: bool,
    /// Methods that it may call besides those that every probe may.
    pub methods: Vec<String>,
    /// The probe itself. It may keep state from one check to the next.
    pub probe: Box<dyn Probe>,
    /// Raised by the probe while it counts as broken.
    pub broken: Arc<AtomicBool>,
}

impl std::fmt::Debug for LoadedLink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LoadedLink").field("name", &self.name).field("timeout", &self.timeout).finish_non_exhaustive()
    }
}

/// What one check found.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkReport {
    /// Which link it was.
    pub link: LinkIndex,
    /// Its name.
    pub name: String,
    /// What its probe said.
    pub verdict: Verdict,
    /// What its requests met.
    pub heard: Heard,
    /// How long it took.
    pub elapsed: Duration,
    /// Whether the link's probe counts as broken: it has failed to tell anything too often in a row.
    pub broken: bool,
}

/// What a chain found, to be judged by [`Chain::finish`] in the light of what else was seen meanwhile, and to be
/// learned from by [`Latches::learn`].
#[derive(Debug, Clone)]
pub struct Report {
    /// The chain, at its end.
    pub chain: Chain,
    /// The checks, in the order in which they ran.
    pub links: Vec<LinkReport>,
    /// How long all of it took.
    pub elapsed: Duration,
}

/// A chain over these links that is about to run.
#[must_use]
pub fn chain(links: &[LoadedLink], policy: ChainPolicy, latches: &Latches) -> Chain {
    let links = links.iter().map(|link| Link { name: link.name.clone(), skippable: link.skippable }).collect();
    Chain::new(policy, links, latches)
}

/// Runs the links that `chain` asks for, each against its own limit, and all of them, further rounds included, within `total`. `chain`
/// comes from [`chain`] over the same links.
///
/// Time is shared out so that each link gets some: a first link that hangs leaves the others their part of `total`.
/// Dropping the future ends the run; the server's late answers are then nobody's.
pub async fn run(
    links: &mut [LoadedLink],
    mut chain: Chain,
    subject: &Subject,
    calls: &mpsc::Sender<CallRequest>,
    total: Duration,
) -> Report {
    let begin = Instant::now();
    let mut end = begin + total;
    let mut reports = Vec::new();
    while let Some(index) = chain.next_link() {
        let start = Instant::now();
        let share = share(end.saturating_duration_since(start), chain.links_left());
        let (name, verdict, heard, broken) = match links.get_mut(index.0) {
            Some(link) if share.is_zero() => {
                let verdict = Verdict::Inconclusive("no time was left for it".to_owned());
                (link.name.clone(), verdict, Heard::Nothing, link.broken.load(Relaxed))
            }
            Some(link) => {
                let limit = link.timeout.min(share);
                let cx = ChannelContext::new(subject, calls, index, &link.methods, start + limit);
                let verdict = check(&mut *link.probe, &cx, start + limit + GRACE).await;
                let late = start.elapsed().saturating_sub(limit + GRACE);
                let verdict = if late < HELD_UP { verdict } else { discounted(verdict, late) };
                if late >= HELD_UP {
                    end += late;
                }
                (link.name.clone(), verdict, cx.heard(), link.broken.load(Relaxed))
            }
            None => (String::new(), Verdict::Inconclusive("no such link".to_owned()), Heard::Nothing, false),
        };
        chain.record(index, verdict.clone(), heard);
        reports.push(LinkReport { link: index, name, verdict, heard, elapsed: start.elapsed(), broken });
    }
    Report { chain, links: reports, elapsed: begin.elapsed() }
}

/// A verdict that came too late for reasons of our own. A sign of life stays one.
fn discounted(verdict: Verdict, late: Duration) -> Verdict {
    match verdict {
        Verdict::Pass | Verdict::Busy(_) => verdict,
        _ => Verdict::Inconclusive(format!("the watchdog itself was held up for {} s", late.as_secs())),
    }
}

/// An equal part of the time that is left.
fn share(left: Duration, links: usize) -> Duration {
    left / u32::try_from(links).unwrap_or(u32::MAX).max(1)
}

/// One check, bounded. What goes wrong with the probe itself says nothing about the server.
async fn check(probe: &mut dyn Probe, cx: &ChannelContext<'_>, end: Instant) -> Verdict {
    let contained = Contained(Some(Box::pin(async move { probe.check(cx).await })));
    let verdict = timeout_at(end, contained).await;
    verdict.unwrap_or_else(|_| Verdict::Inconclusive("the probe did not end in time".to_owned()))
}

type Check<'a> = Pin<Box<dyn Future<Output = Verdict> + Send + 'a>>;

/// A check whose panics end in a verdict; also those of dropping it.
struct Contained<'a>(Option<Check<'a>>);

impl Future for Contained<'_> {
    type Output = Verdict;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Verdict> {
        let Some(check) = &mut self.0 else {
            return Poll::Ready(Verdict::Inconclusive("the probe has ended already".to_owned()));
        };
        // The probe's state may be inconsistent after a panic. It is the probe's own: nothing of ours is shared but
        // `ChannelContext`, which is written to in one place, behind a lock.
        match catch_unwind(AssertUnwindSafe(|| check.as_mut().poll(cx))) {
            Ok(poll) => poll,
            Err(panic) => Poll::Ready(Verdict::Inconclusive(describe(panic))),
        }
    }
}

impl Drop for Contained<'_> {
    fn drop(&mut self) {
        let check = self.0.take();
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| drop(check))) {
            describe(panic);
        }
    }
}

fn describe(panic: Box<dyn Any + Send>) -> String {
    let message = panic.downcast_ref::<&str>().copied();
    let message = message.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    let text = format!("the probe panicked: {}", message.unwrap_or("without a message"));
    // Dropping what was thrown runs code of the probe once more, which may throw again.
    std::mem::forget(panic);
    text
}

#[cfg(test)]
mod tests;
