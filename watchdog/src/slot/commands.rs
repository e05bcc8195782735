//! Commands of operators, and what they get to see.

use std::time::Instant;

use tokio::sync::oneshot;

use super::Driver;
use crate::core::lifecycle::Rejection;
use crate::engine::command::Lists;
use crate::engine::handle::Published;
use crate::engine::{Accepted, Command, CommandError, ProbeReport};

/// Somebody who wants to know what a chain finds.
pub(super) type ProbeWaiter = oneshot::Sender<Result<ProbeReport, CommandError>>;

impl Driver {
    pub(super) fn obey(&mut self, now: Instant, command: Command) {
        // Whoever asked may have gone: an answer that nobody takes is no failure.
        match command {
            // A fresh process comes for the next client in any case.
            Command::Retry(answer) if self.front.is_open() && self.core.is_closing() && !self.ending => {
                _ = answer.send(Ok(self.accepted()));
            }
            Command::Retry(answer) => {
                let refused = self.core.retry(now, &mut self.effects);
                self.carry_out(now);
                self.publish();
                _ = answer.send(refused.map(|()| self.accepted()).map_err(|rejection| self.refusal(rejection)));
            }
            Command::Enable(answer) => {
                self.core.enable(now, &mut self.effects);
                self.carry_out(now);
                self.publish();
                _ = answer.send(());
            }
            Command::Disable(answer) => {
                self.core.disable(now, &mut self.effects);
                self.carry_out(now);
                self.publish();
                _ = answer.send(());
            }
            Command::Probe(answer) => {
                if self.core.probe_now(now, &mut self.effects) {
                    self.probe_waiters.push(answer);
                } else {
                    _ = answer.send(Err(self.not_connected()));
                }
            }
            Command::Logs(lines, answer) => {
                let live = self.runtime.as_ref().map(|(_, runtime)| runtime.stderr_tail(lines));
                _ = answer.send(self.past_stderr.before(live.unwrap_or_default(), lines));
            }
            Command::Catalog(answer) => _ = answer.send(self.lists()),
            Command::Tick(answer) => _ = answer.send(()),
            Command::Configure(server, replace) => {
                self.chains.configure(server.clone());
                let before = std::mem::replace(&mut self.server, server.clone());
                if before.watch != self.server.watch {
                    self.watch_files();
                }
                self.core.configure(now, server, replace, &mut self.effects);
            }
            Command::Signal(signal) => {
                if let Some((_, runtime)) = &mut self.runtime {
                    runtime.signal(signal);
                }
            }
            Command::Shutdown(signal) => {
                // A second one, or a first one at the very end, says not to wait. A client that has left through a door was not to be
                // cut off until now.
                self.hurried |= self.exit.is_some() && (self.ending || !self.front.is_open());
                self.ending = true;
                self.core.signal(now, signal, &mut self.effects);
            }
        }
    }

    /// Tells those who wait for a chain what it found; without a report it came to no end.
    pub(super) fn report(&mut self, report: Option<ProbeReport>) {
        // Whoever is answered may look at once, on another thread.
        if report.is_some() {
            self.last_probe.clone_from(&report);
            self.publish_anew();
        }
        for waiter in std::mem::take(&mut self.probe_waiters) {
            let answer = report.clone().ok_or_else(|| self.not_connected());
            _ = waiter.send(answer);
        }
    }

    /// Lets everybody see the slot and its numbers.
    pub(super) fn publish(&mut self) {
        self.meter.in_flight.set(self.core.in_flight() as u64);
        self.meter.held.set(self.core.held() as u64);
        self.meter.clients.set(u64::from(self.front.has_client()));
        self.publish_changes();
    }

    /// Lets everybody see the slot, where something that they can see may have changed.
    pub(super) fn publish_changes(&mut self) {
        if self.core.take_changed() {
            self.publish_anew();
        }
    }

    #[cold]
    #[inline(never)]
    fn publish_anew(&self) {
        let (slot, last_probe) = (self.core.snapshot(), self.last_probe.clone());
        let published = Published { slot, last_probe, fence: self.fence.clone() };
        self.published.send_if_modified(|seen| {
            let differs = *seen != published;
            if differs {
                *seen = published;
            }
            differs
        });
    }

    fn lists(&self) -> Lists {
        let catalog = self.core.catalog();
        let list = |kind| {
            let (generation, pages) = catalog.list(kind);
            (kind, generation.0, pages.to_vec())
        };
        let stale = self.core.snapshot().catalog_stale;
        Lists { generation: self.core.lifecycle().generation().0, stale, lists: catalog.known().map(list).collect() }
    }

    fn accepted(&self) -> Accepted {
        let life = self.core.lifecycle();
        Accepted {
            accepted: true,
            server: self.name.to_string(),
            state: life.state_name().to_owned(),
            generation: life.generation().0,
            attempt: life.attempts().0.max(1),
        }
    }

    fn refusal(&self, rejection: Rejection) -> CommandError {
        match rejection {
            Rejection::Disabled => CommandError::Disabled(self.name.to_string()),
            _ => CommandError::Closing(self.name.to_string()),
        }
    }

    fn not_connected(&self) -> CommandError {
        CommandError::not_connected(&self.name, &self.core.snapshot(), self.core.session().is_open())
    }
}
