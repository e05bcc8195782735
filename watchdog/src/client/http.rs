//! One request over one connection.

use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::header::{ACCEPT, AUTHORIZATION, HOST, HeaderValue, USER_AGENT};
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use memchr::memchr;
use tokio::time::timeout;

use super::{ClientError, Endpoint};
use crate::config::Token;

/// The largest answer that is taken: a thousand servers, or the longest tail of a log, are far below.
const LARGEST: usize = 16 * 1024 * 1024;

/// What is asked.
#[derive(Debug, Clone)]
pub(super) struct Call<'a> {
    pub(super) method: Method,
    /// Path and query, encoded.
    pub(super) path: &'a str,
    pub(super) accept: &'static str,
    /// How long until the answer has begun, or is there.
    pub(super) limit: Duration,
}

/// An answer.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) body: Bytes,
}

/// Sends a request, and waits for the head of the answer.
async fn open(endpoint: &Endpoint, token: Option<&Token>, call: &Call<'_>) -> Result<Response<Incoming>, ClientError> {
    let broken = |source| ClientError::Broken { endpoint: endpoint.clone(), source };
    let stream =
        endpoint.connect().await.map_err(|source| ClientError::Unreachable { endpoint: endpoint.clone(), source })?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(broken)?;
    // Ends with the answer, or with this program; what befalls it is told to who reads the answer.
    tokio::spawn(connection);
    sender.send_request(request(endpoint, token, call)?).await.map_err(broken)
}

fn request(endpoint: &Endpoint, token: Option<&Token>, call: &Call<'_>) -> Result<Request<String>, ClientError> {
    let strange =
        |what: &dyn std::fmt::Display| ClientError::Strange { endpoint: endpoint.clone(), what: what.to_string() };
    let mut request = Request::new(String::new());
    *request.method_mut() = call.method.clone();
    *request.uri_mut() = call.path.parse().map_err(|error| strange(&error))?;
    let headers = request.headers_mut();
    headers.insert(HOST, HeaderValue::try_from(endpoint.host()).map_err(|error| strange(&error))?);
    headers.insert(USER_AGENT, HeaderValue::from_static(concat!("mcp-watchdog/", env!("CARGO_PKG_VERSION"))));
    headers.insert(ACCEPT, HeaderValue::from_static(call.accept));
    if let Some(token) = token {
        let bearer = format!("Bearer {}", token.expose());
        let mut bearer = HeaderValue::try_from(bearer).map_err(|error| strange(&error))?;
        bearer.set_sensitive(true);
        headers.insert(AUTHORIZATION, bearer);
    }
    Ok(request)
}

/// Asks, and reads the whole answer, whatever its status.
pub(super) async fn ask(endpoint: &Endpoint, token: Option<&Token>, call: &Call<'_>) -> Result<Reply, ClientError> {
    let whole = async {
        let response = open(endpoint, token, call).await?;
        let status = response.status().as_u16();
        let body = Limited::new(response.into_body(), LARGEST).collect().await.map_err(|error| {
            match error.downcast::<hyper::Error>() {
                Ok(source) => ClientError::Broken { endpoint: endpoint.clone(), source: *source },
                Err(error) => {
                    let too_large = error.is::<LengthLimitError>();
                    let what = if too_large { "an answer without end".to_owned() } else { error.to_string() };
                    ClientError::Strange { endpoint: endpoint.clone(), what }
                }
            }
        })?;
        Ok(Reply { status, body: body.to_bytes() })
    };
    timeout(call.limit, whole).await.unwrap_or_else(|_| Err(silent(endpoint, call)))
}

/// Asks for a stream of lines. An answer that refuses comes as a [`Reply`].
pub(super) async fn stream(
    endpoint: &Endpoint,
    token: Option<&Token>,
    call: &Call<'_>,
) -> Result<Result<Lines, Reply>, ClientError> {
    let begun = async {
        let response = open(endpoint, token, call).await?;
        let (status, body) = (response.status().as_u16(), response.into_body());
        if response_is_good(status) {
            return Ok(Ok(Lines { endpoint: endpoint.clone(), body, buffer: BytesMut::new() }));
        }
        let body = Limited::new(body, LARGEST).collect().await.map(|body| body.to_bytes()).unwrap_or_default();
        Ok(Err(Reply { status, body }))
    };
    timeout(call.limit, begun).await.unwrap_or_else(|_| Err(silent(endpoint, call)))
}

pub(super) const fn response_is_good(status: u16) -> bool {
    status / 100 == 2
}

fn silent(endpoint: &Endpoint, call: &Call<'_>) -> ClientError {
    ClientError::Silent { endpoint: endpoint.clone(), limit: call.limit }
}

/// An answer that comes line by line, and may have no end.
#[derive(Debug)]
pub struct Lines {
    endpoint: Endpoint,
    body: Incoming,
    buffer: BytesMut,
}

impl Lines {
    /// The next line that is not empty; `None` at the end. Nothing is lost when this is dropped and called again.
    ///
    /// # Errors
    /// When the connection breaks, or a line has no end.
    pub async fn next(&mut self) -> Result<Option<String>, ClientError> {
        loop {
            while let Some(at) = memchr(b'\n', &self.buffer) {
                let line = self.buffer.split_to(at);
                self.buffer.advance(1);
                let line = String::from_utf8_lossy(line.trim_ascii()).into_owned();
                if !line.is_empty() {
                    return Ok(Some(line));
                }
            }
            if self.buffer.len() > LARGEST {
                let what = "a line without end".to_owned();
                return Err(ClientError::Strange { endpoint: self.endpoint.clone(), what });
            }
            match self.body.frame().await {
                Some(Ok(frame)) => {
                    if let Some(data) = frame.data_ref() {
                        self.buffer.extend_from_slice(data);
                    }
                }
                Some(Err(source)) => return Err(ClientError::Broken { endpoint: self.endpoint.clone(), source }),
                None => return Ok(None),
            }
        }
    }
}
