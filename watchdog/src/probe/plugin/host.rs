//! A conversation with a probe host: load, create, check.

use std::future::Future;
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use probe_api::options::Span;
use probe_api::{CallError, Context, Reply, Verdict, abi};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};

use super::due::Due;
use super::process::Connection;
use super::{Launcher, Options, START, one_line};
use crate::probe_host::message::{CALLS, Descriptor, LONGEST_ORDER, Order, Report, to_frame};

/// A host with an instance of the plugin. Dropping it kills it; [`close`](Self::close) ends it in order.
pub(super) struct Host {
    connection: Connection,
    descriptor: Descriptor,
    checks: u64,
}

impl Host {
    /// Starts a host, loads the plugin and makes an instance, within [`START`].
    ///
    /// # Errors
    /// Why there is none: a sentence that names the file.
    pub(super) async fn start(launcher: &Launcher, options: &Options, name: &str) -> Result<Self, String> {
        let (shown, limit, end) = (options.library.display(), Span(START), Instant::now() + START);
        let mut connection = Connection::start(launcher, name)?;
        let load = Order::Load { library: options.library.clone(), sha256: options.sha256.clone() };
        let load = frame(&load).ok_or_else(|| format!("the path {shown} is not text"))?;
        connection.ask(load, Due::Answer).await;
        let loaded = timeout_at(end, connection.report()).await;
        let loaded = loaded.map_err(|_| {
            format!("{shown} was not loaded within {limit}: its disk is slow, or a constructor of it does not return")
        })?;
        let descriptor = match loaded.map_err(|why| format!("{shown} cannot be loaded: {why}; is the file whole?"))? {
            Report::Loaded(descriptor) => readable(descriptor),
            other => return Err(refusal(&other)),
        };
        let create = Order::Create { config: raw(&options.config), remaining_ms: milliseconds(end - Instant::now()) };
        let create = frame(&create).ok_or("the plugin's `config:` is longer than 16 MiB")?;
        connection.ask(create, Due::Answer).await;
        let created = timeout_at(end, connection.report()).await;
        let created = created.map_err(|_| {
            format!("{shown} did not take its `config:` within {limit}: have its `create` leave slow work to `check`")
        })?;
        match created.map_err(|why| format!("{shown} did not take its `config:`: {why}"))? {
            Report::Created => Ok(Self { connection, descriptor, checks: 0 }),
            other => Err(refusal(&other)),
        }
    }

    /// What the plugin says about itself.
    pub(super) const fn descriptor(&self) -> &Descriptor {
        &self.descriptor
    }

    /// Whether its process has ended since the last check.
    pub(super) fn is_over(&self) -> bool {
        self.connection.is_over()
    }

    /// Why its process has ended; waits for that.
    pub(super) async fn end(mut self) -> String {
        loop {
            if let Err(why) = self.connection.report().await {
                return why;
            }
        }
    }

    /// Ends it in order; see [`Connection::close`].
    pub(super) fn close(self) -> Option<JoinHandle<()>> {
        self.connection.close()
    }

    /// Runs a check. The caller limits the time.
    ///
    /// # Errors
    /// There is no verdict, and the host is of no use any more.
    pub(super) async fn check(&mut self, cx: &dyn Context) -> Result<Verdict, String> {
        self.checks += 1;
        let number = self.checks;
        let mut snapshot = cx.snapshot().clone();
        snapshot.process = cx.process();
        let order = Order::Check { check: number, remaining_ms: milliseconds(cx.remaining()), context: raw(&snapshot) };
        let order = frame(&order).ok_or("what is known of the server is longer than 16 MiB")?;
        self.connection.ask(order, Due::Verdict(number)).await;
        let mut calls = Calls::default();
        loop {
            tokio::select! {
                report = self.connection.report() => match report? {
                    Report::Verdict { check, code, detail } if check == number => return Ok(verdict(code, detail)),
                    Report::Call { check, call, method, params, timeout_ms } if check == number => {
                        let params = params.map_or(Ok(Value::Null), |json| serde_json::from_str(json.get()));
                        let limit = Duration::from_millis(timeout_ms.into());
                        match params {
                            Ok(params) if calls.0.len() < CALLS => {
                                calls.0.push(Box::pin(async move { (call, cx.call(&method, params, limit).await) }));
                            }
                            _ => self.connection.send(reply(call, Err(CallError::Invalid))).await,
                        }
                    }
                    // Of no check that runs.
                    _ => {}
                },
                (call, outcome) = calls.next() => self.connection.send(reply(call, outcome)).await,
            }
        }
    }
}

/// Calls to the server that have no answer yet.
#[derive(Default)]
struct Calls<'a>(Vec<Call<'a>>);

type Call<'a> = Pin<Box<dyn Future<Output = (u64, Result<Reply, CallError>)> + Send + 'a>>;

impl Calls<'_> {
    /// The next outcome; waits for ever where nothing is asked.
    async fn next(&mut self) -> (u64, Result<Reply, CallError>) {
        std::future::poll_fn(|cx| {
            for at in 0..self.0.len() {
                if let Some(Poll::Ready(outcome)) = self.0.get_mut(at).map(|call| call.as_mut().poll(cx)) {
                    drop(self.0.swap_remove(at));
                    return Poll::Ready(outcome);
                }
            }
            Poll::Pending
        })
        .await
    }
}

fn frame(order: &Order) -> Option<Vec<u8>> {
    to_frame(order, LONGEST_ORDER)
}

/// The outcome of a call, for the host. An answer that is too long for it is an answer all the same: `null`.
fn reply(call: u64, outcome: Result<Reply, CallError>) -> Vec<u8> {
    let (code, json) = match &outcome {
        Ok(Reply::Result(value)) => (abi::call::RESULT, Some(raw(value))),
        Ok(Reply::Error(value)) => (abi::call::ERROR, Some(raw(value))),
        Err(CallError::Timeout) => (abi::call::TIMEOUT, None),
        Err(CallError::Gone) => (abi::call::GONE, None),
        Err(CallError::Invalid) => (abi::call::INVALID, None),
        Err(_) => (abi::call::CANCELLED, None),
    };
    let fits = frame(&Order::Reply { call, code, json });
    fits.or_else(|| frame(&Order::Reply { call, code, json: Some(RawValue::NULL.to_owned()) })).unwrap_or_default()
}

/// Values of ours always can be JSON: their keys are text.
fn raw(value: &impl Serialize) -> Box<RawValue> {
    to_raw_value(value).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// What is in place of a descriptor or an instance.
fn refusal(report: &Report) -> String {
    match report {
        Report::Refused(why) => one_line(why),
        _ => "the plugin answered in place of the watchdog's own code".to_owned(),
    }
}

/// Texts of a plugin, fit to be shown.
fn readable(descriptor: Descriptor) -> Descriptor {
    let Descriptor { abi, name, version, built_with, config_schema } = descriptor;
    let line = |text: String| one_line(&text);
    Descriptor {
        abi: line(abi),
        name: line(name),
        version: line(version),
        built_with: built_with.map(line),
        config_schema,
    }
}

/// What a plugin's number means.
fn verdict(code: i32, detail: Option<String>) -> Verdict {
    use abi::verdict::{BUSY, FAIL, INCONCLUSIVE, PASS, UNSUPPORTED};
    let detail = detail.map(|detail| one_line(&detail)).filter(|detail| !detail.is_empty());
    let reason = |otherwise: &str| detail.clone().unwrap_or_else(|| otherwise.to_owned());
    match code {
        PASS => Verdict::Pass,
        BUSY => Verdict::Busy(reason("the plugin does not say with what")),
        FAIL => Verdict::Fail(reason("the plugin does not say why")),
        INCONCLUSIVE => Verdict::Inconclusive(reason("the plugin does not say why")),
        UNSUPPORTED => Verdict::Unsupported,
        unknown => Verdict::Inconclusive(format!("the plugin gave {unknown}, which is no verdict")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_become_verdicts() {
        let of = |code| verdict(code, Some("a\nb\u{1b}[1m".to_owned()));
        assert_eq!(of(0), Verdict::Pass);
        assert_eq!(of(1), Verdict::Busy("a b".into()));
        assert_eq!(of(2), Verdict::Fail("a b".into()));
        assert_eq!(of(3), Verdict::Inconclusive("a b".into()));
        assert_eq!(of(4), Verdict::Unsupported);
        for unknown in [-1, 5, 42, i32::MIN] {
            let expected = format!("the plugin gave {unknown}, which is no verdict");
            assert_eq!(of(unknown), Verdict::Inconclusive(expected));
        }
        assert_eq!(verdict(2, Some(" ".into())), Verdict::Fail("the plugin does not say why".into()));
    }

    #[test]
    fn outcomes_become_codes() {
        let of = |outcome| {
            let order: Order = crate::probe_host::message::from_body(&reply(3, outcome)[4..]).unwrap();
            let Order::Reply { call: 3, code, json } = order else { panic!("{order:?}") };
            (code, json.map(|json| json.get().to_owned()))
        };
        assert_eq!(of(Ok(Reply::Result(Value::from(1)))), (0, Some("1".into())));
        assert_eq!(of(Ok(Reply::Error(Value::from(2)))), (1, Some("2".into())));
        assert_eq!(of(Err(CallError::Timeout)), (-1, None));
        assert_eq!(of(Err(CallError::Cancelled)), (-2, None));
        assert_eq!(of(Err(CallError::Gone)), (-3, None));
        assert_eq!(of(Err(CallError::Invalid)), (-4, None));
        let long = "x".repeat(17 << 20);
        assert_eq!(of(Ok(Reply::Result(Value::from(long)))), (0, None), "null is read as nothing");
    }
}
