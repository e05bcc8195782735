//! What the slot tells the operator: the lifecycle's notices and its own, as events. Never payloads.

use std::time::{Duration, Instant};

use probe_api::Trigger;
use serde_json::Value;

use super::passing::Passing;
use super::{Effect, Slot};
use crate::config::EventThrottle;
use crate::core::catalog::ListKind;
use crate::core::chain::Outcome;
use crate::core::ending::Ending;
use crate::core::ids::Generation;
use crate::core::ledger::Request;
use crate::core::lifecycle::{Notice, Reason};
use crate::core::refusal::Code;
use crate::core::session::Told;
use crate::events::throttle::Attempt;
use crate::events::{EventKind, Throttle};

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn id_text(request: &Request) -> String {
    cut(&String::from_utf8_lossy(&request.id.raw()))
}

/// An id or a name as an event has it. Both are strangers' words: events are kept, and written to the log and to files.
pub(super) fn cut(text: &str) -> String {
    /// In bytes.
    const LONGEST: usize = 256;
    if text.len() <= LONGEST {
        return text.to_owned();
    }
    let end = (0..=LONGEST).rev().find(|end| text.is_char_boundary(*end)).unwrap_or_default();
    format!("{}…", &text[..end])
}

impl Slot {
    /// How often attempts to reach a dead server are told; without this, and for `None`, every time.
    pub fn throttle_events(&mut self, throttle: Option<EventThrottle>) {
        self.throttle = throttle.map_or_else(Throttle::off, Throttle::for_events);
    }

    pub(super) fn emit_notice(&mut self, now: Instant, notice: Notice, out: &mut Vec<Effect>) {
        let (attempts, _) = self.life.attempts();
        let is_error = self.config.restart.attempts_are_errors;
        match notice {
            Notice::Connected { .. } | Notice::Reconnected { .. } => self.connected_at = Some(now),
            Notice::Disconnected { .. } => self.down_since = Some(now),
            _ => {}
        }
        let kind = match notice {
            Notice::Starting => EventKind::ServerStarting { attempt: attempts },
            Notice::Connected { attempts } => EventKind::ServerConnected {
                pid: self.started.map(|process| process.pid),
                protocol_version: self.session.version().map(str::to_owned),
                attempts_taken: attempts,
                start_ms: self.life.last_attempt().map_or(0, |at| millis(now.saturating_duration_since(at))),
            },
            Notice::Disconnected { intentional, reason } => {
                let exit = self.failure.ending.filter(|_| reason == Reason::TransportExit);
                if !matches!(reason, Reason::TransportExit | Reason::Shutdown | Reason::Disabled) {
                    let pid = self.started.map(|process| process.pid);
                    let reason = reason.name().into();
                    out.push(Effect::emit(EventKind::ServerKilled { pid, reason, is_warning: !intentional }));
                }
                EventKind::ServerDisconnected { intentional, reason: reason.name().into(), exit }
            }
            Notice::Reconnecting { attempt, delay, reason } => {
                let error = self.failure.error.as_deref().unwrap_or_default();
                let news = Attempt { error, at_longest: delay >= self.life.longest_delay() };
                let Some(suppressed) = self.throttle.admit(now, news) else { return };
                EventKind::ServerReconnecting {
                    attempt,
                    next_retry_ms: millis(delay),
                    reason: reason.name().into(),
                    last_error: self.failure.error.clone(),
                    suppressed,
                    is_error,
                }
            }
            Notice::Reconnected { attempts } => {
                self.throttle.reset();
                self.reconnected(now, attempts)
            }
            Notice::AttemptFailed => {
                // The last lists are better than none.
                self.planned.outdated = false;
                EventKind::McpRestartFailed {
                    // One that costs nothing of the budget is told as the one that it was.
                    attempt: attempts.max(1),
                    reason: Reason::StartFailure.name().into(),
                    last_error: self.failure.error.clone().unwrap_or_default(),
                    is_error,
                }
            }
            Notice::Failed => {
                EventKind::ServerFailed { attempts, last_error: self.failure.error.clone(), exit: self.failure.ending }
            }
            Notice::Enabled => EventKind::ServerEnabled { by: "operator".into() },
            Notice::Disabled => EventKind::ServerDisabled { by: "operator".into() },
            Notice::Degraded { failures } => EventKind::ServerHealthDegraded {
                consecutive_failures: failures,
                last_error: self.failure.error.clone().unwrap_or_default(),
            },
            Notice::Restored => EventKind::ServerHealthRestored,
            // The process tree is named where it is known.
            Notice::CloseFailed => return,
            Notice::Stale => EventKind::StaleResult { what: "process".into() },
        };
        out.push(Effect::emit(kind));
    }

    fn reconnected(&self, now: Instant, attempts: u32) -> EventKind {
        let told = self.session.knows();
        let mut preserved = Vec::new();
        if told.is_some() {
            preserved.push("handshake".into());
        }
        if self.session.replay_state().next().is_some() {
            preserved.push("logging level and subscriptions".into());
        }
        if !self.listens.is_empty() {
            preserved.push("listen streams".into());
        }
        EventKind::ServerReconnected {
            capabilities: self.latest.as_ref().or(told).map_or(Value::Null, |latest| latest.capabilities.clone()),
            capabilities_changed: self.capabilities_changed,
            old_hash: told.map(Told::hash),
            new_hash: self.latest.as_ref().map(Told::hash),
            attempts_taken: attempts,
            down_ms: self.down_since.or(self.failed_at).map_or(0, |at| millis(now.saturating_duration_since(at))),
            lost: vec!["state inside the old process".into()],
            preserved,
        }
    }

    pub(super) fn emit_exited(
        &self,
        now: Instant,
        generation: Generation,
        ending: Option<Ending>,
        out: &mut Vec<Effect>,
    ) {
        let (Some(exit), Some(process)) = (ending, self.started) else { return };
        if self.life.generation() == generation {
            out.push(Effect::emit(EventKind::ServerExited {
                pid: process.pid,
                exit,
                uptime_ms: millis(now.saturating_duration_since(process.since)),
                stderr_tail: self.failure.tail.clone(),
            }));
        }
    }

    pub(super) fn emit_cannot_start(&self, out: &mut Vec<Effect>) {
        out.push(Effect::emit(EventKind::McpRestartFailed {
            attempt: self.life.attempts().0,
            reason: "cannot-start".into(),
            last_error: self.failure.error.clone().unwrap_or_default(),
            is_error: true,
        }));
    }

    pub(super) fn emit_close_failed(&self, survivors: &[u32], out: &mut Vec<Effect>) {
        let error = "some processes of the server could not be ended".to_owned();
        out.push(Effect::emit(EventKind::CloseFailed { error, survivors: survivors.to_vec() }));
    }

    pub(super) fn emit_request_failed(&self, request: &Request, code: Code, out: &mut Vec<Effect>) {
        out.push(Effect::emit(EventKind::RequestFailed {
            request_id: id_text(request),
            method: request.method.name().unwrap_or("other").into(),
            error: code.name().into(),
            code: i32::try_from(code.number()).unwrap_or_default(),
            sent: request.sent,
        }));
    }

    /// Once a request: a long call is probed again and again.
    pub(super) fn emit_tool_timeout(&mut self, now: Instant, out: &mut Vec<Effect>) {
        for request in self.ledger.report_overdue(now) {
            out.push(Effect::emit(EventKind::ToolTimeout {
                request_id: id_text(request),
                method: request.method.name().unwrap_or("other").into(),
                tool: request.tool().map(cut),
                elapsed_ms: millis(now.saturating_duration_since(request.since)),
            }));
        }
    }

    pub(super) fn emit_probe_started(&self, trigger: Trigger, out: &mut Vec<Effect>) {
        let reason = match trigger {
            Trigger::ToolTimeout => "tool-timeout",
            Trigger::Periodic => "periodic",
            _ => "manual",
        };
        out.push(Effect::emit(EventKind::ProbeStarted { reason: reason.into() }));
    }

    pub(super) fn emit_probe_outcome(&self, outcome: &Outcome, elapsed: Duration, out: &mut Vec<Effect>) {
        let elapsed_ms = millis(elapsed);
        let probe = "chain".into();
        out.push(Effect::emit(match outcome {
            Outcome::Alive => EventKind::ProbePassed { probe, elapsed_ms },
            Outcome::Busy(evidence) => EventKind::ProbeBusy { probe, elapsed_ms, evidence: evidence.clone().into() },
            Outcome::Dead(error) => EventKind::ProbeFailed { probe, elapsed_ms, error: error.clone() },
            Outcome::Undecided(reason) => EventKind::ProbeUndecided { reason: reason.clone().into() },
        }));
    }

    pub(super) fn emit_catalog_changed(&self, kind: ListKind, announced: bool, out: &mut Vec<Effect>) {
        out.push(Effect::emit(EventKind::CatalogChanged { list: kind.method().into(), announced }));
    }

    /// Told once for each method: there may be thousands of subscriptions.
    pub(super) fn emit_replay_refused(&mut self, what: Box<str>, out: &mut Vec<Effect>) {
        if !self.refused_replays.contains(&what) {
            out.push(Effect::emit(EventKind::ReplayRefused { what: what.to_string().into() }));
            self.refused_replays.push(what);
        }
    }

    pub(super) fn emit_incompatible(&self, expected: &str, found: &str, out: &mut Vec<Effect>) {
        let (expected, found) = (expected.to_owned(), found.to_owned());
        out.push(Effect::emit(EventKind::HandshakeIncompatible { expected, found }));
    }

    pub(super) fn emit_client_left(&self, out: &mut Vec<Effect>) {
        out.push(Effect::emit(EventKind::ClientDisconnected { reason: "end of stream".into() }));
    }

    pub(super) fn emit_clock_jump(&self, gap: Duration, out: &mut Vec<Effect>) {
        out.push(Effect::emit(EventKind::ClockJump { jump_ms: millis(gap) }));
    }

    #[cold]
    #[inline(never)]
    pub(super) fn emit_stale(&self, what: &'static str, out: &mut Vec<Effect>) {
        out.push(Effect::emit(EventKind::StaleResult { what: what.into() }));
    }

    pub(super) fn emit_oversized(&self, from: &'static str, bytes: u64, out: &mut Vec<Effect>) {
        out.push(Effect::emit(EventKind::RequestFailed {
            request_id: String::new(),
            method: format!("a line of the {from} of {bytes} bytes").into(),
            error: Code::MessageTooLarge.name().into(),
            code: i32::try_from(Code::MessageTooLarge.number()).unwrap_or_default(),
            sent: false,
        }));
    }

    /// The line goes to the log; the event is given once a process.
    pub(super) fn emit_stray(&mut self, line: Passing<'_>, out: &mut Vec<Effect>) {
        if !std::mem::replace(&mut self.stray_told, true) {
            let bytes = u64::try_from(line.len()).unwrap_or(u64::MAX);
            out.push(Effect::emit(EventKind::StrayStdout { lines: 1, bytes }));
        }
        out.push(Effect::Stray(line.to_bytes()));
    }
}
