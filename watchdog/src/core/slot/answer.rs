//! The watchdog's own answers to the client.

use std::time::Instant;

use super::passing::Outgoing;
use super::server::UNREADABLE;
use super::{Count, Effect, RequestOutcome, Slot};
use crate::config::{OnCall, ToolErrors};
use crate::core::ledger::Request;
use crate::core::refusal::{Circumstances, Code, Refusal};
use crate::wire::compose;
use crate::wire::head::Method;
use crate::wire::id::Id;

/// The reason of a refusal whose server is kept.
pub(super) const DEADLINE: &str = "deadline";
/// The reason of a refusal for want of a program that can be executed.
pub(super) const CANNOT_START: &str = "cannot-start";
/// The reason of a refusal to who was not to wait for a restart.
pub(super) const NOT_HELD: &str = "not-held";
/// The reason of a refusal to a caller who has waited long enough for the outcome of a restart.
const STILL_RESTARTING: &str = "still-restarting";
/// With so many effects of one step, refusals are without the last words of the server: a line may be of a hundred thousand
/// requests, and those words may be 5 KB.
const MANY: usize = 1000;

impl Slot {
    /// Answers a request with one of our errors.
    pub(super) fn refuse(&mut self, request: &Request, code: Code, reason: &'static str, out: &mut Vec<Effect>) {
        if request.method == Method::Initialize {
            self.session.refused();
        }
        let refusal = Refusal {
            code,
            reason,
            message: self.message(code, reason, Some(request)),
            sent: request.sent,
            read_only: request.read_only,
            restarted: (code == Code::RequestTimeout && reason == "probe-failure").then_some(true),
        };
        self.emit_request_failed(request, code, out);
        self.ended(self.clock, request, RequestOutcome::Refused, out);
        if reason == DEADLINE {
            out.push(Effect::Count(Count::DeadlinePassed));
        }
        let as_result = request.method == Method::ToolsCall && self.config.errors.tool_calls == ToolErrors::ToolResult;
        let line = self.with_circumstances(out, |slot| {
            if as_result {
                compose::result(&request.id, refusal.tool_result(slot, request.stateless).to_string().as_bytes())
            } else {
                compose::error(Some(&request.id), code.number(), &refusal.message, &refusal.data(slot))
            }
        });
        self.deliver(line, out);
    }

    /// Counts a request that has come to an end.
    pub(super) fn ended(
        &self,
        now: Option<Instant>,
        request: &Request,
        outcome: RequestOutcome,
        out: &mut Vec<Effect>,
    ) {
        let elapsed = now.map(|now| now.saturating_duration_since(request.since));
        out.push(Effect::Count(Count::Request { method: request.method, outcome, elapsed }));
    }

    /// Counts a listen request that has come to an end. How long a stream was open says nothing about the server.
    pub(super) fn listen_ended(outcome: RequestOutcome, out: &mut Vec<Effect>) {
        out.push(Effect::Count(Count::Request { method: Method::SubscriptionsListen, outcome, elapsed: None }));
    }

    /// Answers a request of which only the id is known.
    pub(super) fn refuse_id(&self, id: &Id, code: Code, reason: &'static str, sent: bool, out: &mut Vec<Effect>) {
        let message = self.message(code, reason, None);
        let refusal = Refusal { code, reason, message, sent, read_only: false, restarted: None };
        let line = self.with_circumstances(out, |slot| {
            compose::error(Some(id), code.number(), &refusal.message, &refusal.data(slot))
        });
        self.deliver(line, out);
    }

    /// What somebody is told who comes while a client is there. Nothing was asked yet, so that there is no id to answer to.
    #[must_use]
    pub fn turned_away(&self) -> bytes::Bytes {
        let (code, message) = (Code::Overloaded, format!("MCP server '{}' has a client already", self.config.name));
        let reason = "one-client-at-a-time";
        let refusal = Refusal { code, reason, message, sent: false, read_only: false, restarted: None };
        self.with_circumstances(&[], |slot| compose::error(None, code.number(), &refusal.message, &refusal.data(slot)))
    }

    /// Answers what is no JSON-RPC message, as JSON-RPC says.
    #[cold]
    pub(super) fn protest(&self, id: Option<&Id>, code: i64, message: &str, out: &mut Vec<Effect>) {
        self.deliver(compose::error(id, code, message, &serde_json::Value::Null), out);
    }

    /// Writes to the client, unless nobody is there.
    pub(super) fn deliver(&self, line: impl Into<Outgoing>, out: &mut Vec<Effect>) {
        if self.closing.is_none_or(|closing| !closing.client_gone) {
            out.push(Effect::Deliver(line.into()));
        }
    }

    fn with_circumstances<T>(&self, so_far: &[Effect], make: impl FnOnce(&Circumstances<'_>) -> T) -> T {
        let (attempts, max_attempts) = self.life.attempts();
        make(&Circumstances {
            server: &self.config.name,
            state: self.life.state_name(),
            status: self.life.status(),
            generation: self.life.generation().0,
            last_attempt: attempts,
            max_attempts,
            next_retry_ms: self.next_retry_ms(),
            last_error: self.failure.error.as_deref(),
            ending: self.failure.ending,
            stderr_tail: if so_far.len() < MANY { &self.failure.tail } else { &[] },
        })
    }

    fn next_retry_ms(&self) -> Option<u64> {
        let left = self.life.next_attempt()?.saturating_duration_since(self.clock?);
        u64::try_from(left.as_millis()).ok()
    }

    /// One sentence that tells the whole story: hosts often show nothing else.
    fn message(&self, code: Code, reason: &str, request: Option<&Request>) -> String {
        let server = &self.config.name;
        let what = request.map_or_else(|| "the request".to_owned(), describe);
        let why = self.failure.error.as_deref().unwrap_or("no reason is known");
        match code {
            Code::ServerDisconnected if reason == UNREADABLE => {
                format!("MCP server '{server}' answered {what} with bytes that are not UTF-8; the answer was dropped")
            }
            Code::ServerDisconnected => {
                let effect = match request {
                    Some(request) if request.read_only => "it can be asked again",
                    Some(request) if request.sent => "whether it took effect is unknown",
                    _ => "it was not sent",
                };
                format!("Server disconnected: MCP server '{server}' ended ({why}) before it answered {what}; {effect}")
            }
            Code::RequestTimeout if reason == STILL_RESTARTING => format!(
                "MCP server '{server}' hung in {what} and is still being replaced; whether the call took effect is unknown"
            ),
            Code::RequestTimeout if reason == DEADLINE && !self.life.is_connected() => {
                format!("MCP server '{server}' is being restarted, and the deadline of {what} has passed")
            }
            Code::RequestTimeout if reason == DEADLINE => {
                format!("MCP server '{server}' did not answer {what} within its deadline; the server is kept")
            }
            Code::RequestTimeout => {
                format!(
                    "MCP server '{server}' hung in {what} and was replaced; whether the call took effect is unknown"
                )
            }
            Code::RestartInProgress => {
                format!("MCP server '{server}' is being restarted and {what} has waited long enough; try again shortly")
            }
            Code::RestartFailed => format!("MCP server '{server}' hung in {what}, and its restart failed: {why}"),
            Code::ServerDisabled => format!("MCP server '{server}' is disabled; enable it to use it"),
            Code::PermanentlyFailed if reason == CANNOT_START => {
                format!("MCP server '{server}' cannot be started: {why}")
            }
            Code::PermanentlyFailed if self.role.exit_on_failure => {
                format!(
                    "MCP server '{server}' has failed for good ({why}), and the watchdog ends (on_permanent_failure)"
                )
            }
            Code::PermanentlyFailed if self.config.restart.on_call != OnCall::Attempt => {
                format!(
                    "MCP server '{server}' has failed for good ({why}), and {what} is no reason to try it (restart.on_call)"
                )
            }
            Code::PermanentlyFailed => {
                format!("MCP server '{server}' has failed for good ({why}); the attempt made for {what} failed too")
            }
            Code::Reconnecting if reason == NOT_HELD => format!(
                "MCP server '{server}' is down ({why}) and is being restarted; {what} does not wait for it (restart.on_call), try again later"
            ),
            Code::Reconnecting => {
                format!("MCP server '{server}' is down ({why}); it is being restarted, try again later")
            }
            Code::Overloaded => {
                format!("MCP server '{server}' is being restarted and too many requests wait for it already")
            }
            Code::MessageTooLarge => {
                let limit = self.config.limits.max_line;
                format!("the message is longer than the limit of {limit} bytes (limits.max_line)")
            }
            Code::ServerNotFound => format!("Server '{server}' not found"),
        }
    }

    /// Requests whose hold is over.
    pub(super) fn check_hold(&mut self, now: Instant, out: &mut Vec<Effect>) {
        let overdue = std::mem::take(&mut self.overdue);
        let (expired, waiting): (Vec<_>, Vec<_>) =
            overdue.into_iter().partition(|request| request.deadline_at.is_some_and(|at| at <= now));
        self.overdue = waiting;
        for request in expired {
            self.refuse(&request, Code::RequestTimeout, STILL_RESTARTING, out);
        }
        for request in self.hold.expired(now).into_iter().flat_map(|held| held.requests) {
            let (code, reason) = match request.deadline_at {
                Some(at) if at <= now => (Code::RequestTimeout, DEADLINE),
                _ => (Code::RestartInProgress, "held-too-long"),
            };
            self.refuse(&request, code, reason, out);
        }
    }
}

/// A request in words, without anything that it carries.
fn describe(request: &Request) -> String {
    let method = request.method.name().unwrap_or("the request");
    match request.tool() {
        Some(name) if request.method == Method::ToolsCall => format!("{method} (tool '{name}')"),
        _ => method.to_owned(),
    }
}
