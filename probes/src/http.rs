//! `http`: what a health address answers.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::{Context as Task, Poll, ready};
use std::time::Duration;

use hyper::body::{Body, Incoming};
use hyper::client::conn::http1;
use hyper::header::{CONNECTION, HOST, HeaderMap, HeaderValue, USER_AGENT};
use hyper::{Method, Request, Response, Uri};
use hyper_util::rt::TokioIo;
use probe_api::{ConfigError, Context, Probe, ProbeKind, Verdict, async_trait};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::address::Address;
use crate::request::rounded;

mod options;

use options::{Config, Statuses, Target};

/// How much of a body is read, and for how long: servers dislike clients that hang up in the middle of an answer, and a
/// stream has no end.
const DISCARDED: usize = 64 * 1024;
const DISCARDING: Duration = Duration::from_millis(200);

/// Makes one HTTP request and looks at the status of the answer. It follows no redirect and reads no body.
#[derive(Debug)]
pub struct Http {
    address: Address,
    method: Method,
    /// Path and query, as the request line has them.
    uri: Uri,
    headers: HeaderMap,
    status: Statuses,
    /// How reasons name the request: without the query, which may hold a secret.
    name: String,
}

type Wire = http1::Connection<TokioIo<TcpStream>, String>;

#[async_trait]
impl Probe for Http {
    async fn check(&mut self, cx: &dyn Context) -> Verdict {
        let limit = cx.remaining();
        let stream = match self.address.connect(limit).await {
            Ok(stream) => stream,
            Err(verdict) => return verdict,
        };
        match timeout(cx.remaining(), self.exchange(stream)).await {
            Ok(Ok(status)) if self.status.contains(status) => Verdict::Pass,
            Ok(Ok(status)) => Verdict::Fail(format!("{} answered {status}, not {}", self.name, self.status)),
            Ok(Err(error)) => Verdict::Fail(format!("{} was not answered: {error}", self.name)),
            Err(_) => Verdict::Fail(format!("no answer to {} within {}", self.name, rounded(limit))),
        }
    }
}

impl Http {
    async fn exchange(&self, stream: TcpStream) -> hyper::Result<u16> {
        let (mut sender, wire) = http1::handshake(TokioIo::new(stream)).await?;
        let mut wire: Option<Pin<Box<Wire>>> = Some(Box::pin(wire));
        let mut fault = None;
        let mut answer = pin!(sender.send_request(self.request()));
        let response = poll_fn(|task| {
            fault = drive(&mut wire, task).or_else(|| fault.take());
            answer.as_mut().poll(task)
        })
        .await;
        // What befell the connection says more than that the request was canceled by it.
        let response = response.map_err(|error| fault.filter(|_| error.is_canceled()).unwrap_or(error))?;
        let status = response.status().as_u16();
        // The status is the verdict, whatever becomes of the body.
        let _ = timeout(DISCARDING, discard(response, wire)).await;
        Ok(status)
    }

    fn request(&self) -> Request<String> {
        let mut request = Request::new(String::new());
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = self.uri.clone();
        *request.headers_mut() = self.headers.clone();
        request
    }
}

/// Moves bytes, and returns the fault that ended the connection, if one did. A connection that has ended is dropped at
/// once, for that is what ends a request that waits for it.
fn drive(wire: &mut Option<Pin<Box<Wire>>>, task: &mut Task<'_>) -> Option<hyper::Error> {
    let Some(Poll::Ready(ended)) = wire.as_mut().map(|wire| wire.as_mut().poll(task)) else { return None };
    *wire = None;
    ended.err()
}

/// Reads the body to its end, or as far as it is worth while.
async fn discard(response: Response<Incoming>, mut wire: Option<Pin<Box<Wire>>>) {
    let mut body = pin!(response.into_body());
    let mut read = 0;
    poll_fn(|task| {
        while read < DISCARDED {
            let _ = drive(&mut wire, task);
            match ready!(body.as_mut().poll_frame(task)) {
                Some(Ok(frame)) => read += frame.data_ref().map_or(0, |data| data.len()),
                Some(Err(_)) | None => break,
            }
        }
        Poll::Ready(())
    })
    .await;
}

impl ProbeKind for Http {
    const NAME: &'static str = "http";
    type Config = Config;

    fn new(config: Config) -> Result<Self, ConfigError> {
        let Target { address, authority, uri } = config.target()?;
        let method = config.method();
        let name = format!("{method} {authority}{}", uri.path());
        let mut headers = HeaderMap::new();
        headers.insert(HOST, HeaderValue::try_from(authority).map_err(|error| ConfigError(error.to_string()))?);
        headers.insert(USER_AGENT, HeaderValue::from_static(concat!("mcp-watchdog/", env!("CARGO_PKG_VERSION"))));
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
        headers.extend(config.headers()?);
        Ok(Self { address, method, uri, headers, status: config.status, name })
    }
}

#[cfg(test)]
mod tests;
