//! What can be asked of a watchdog (control-plane.md, section 2).

use std::time::Duration;

use hyper::Method;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::http::{self, Call, Lines, Reply, response_is_good};
use super::{ClientError, Endpoint, Server};
use crate::config::Token;
use crate::control::runtime_dir;
use crate::engine::{Accepted, ProbeReport, RetriedAll, Which};

/// How long a watchdog may take for what it knows already.
const SOON: Duration = Duration::from_secs(5);

/// How long it may take for what needs a server: a whole chain of probes, a stop with all its steps.
const LONG: Duration = Duration::from_secs(120);

const JSON: &str = "application/json";
const JSON_LINES: &str = "application/x-ndjson";

/// A running watchdog. Cheap to make; nothing is connected until something is asked.
#[derive(Debug, Clone)]
pub struct Watchdog {
    endpoint: Endpoint,
    token: Option<Token>,
}

/// What `health` asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Check {
    /// Does the watchdog itself work?
    Live,
    /// Can servers be used?
    Ready,
    /// Has every server been connected once?
    Startup,
}

#[derive(Deserialize)]
struct Servers {
    servers: Vec<Value>,
}

#[derive(Deserialize)]
struct LogLines {
    lines: Vec<String>,
}

#[derive(Deserialize)]
struct Changed {
    #[serde(default)]
    changed: Vec<String>,
}

/// The watchdog itself, as far as it is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct Info {
    /// Its process.
    pub pid: u32,
    /// The number of the latest event.
    pub sequence: u64,
}

/// RFC 9457, as far as it is shown.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Problem {
    title: Option<String>,
    detail: Option<String>,
}

impl Watchdog {
    /// The one that listens there.
    #[must_use]
    pub const fn new(endpoint: Endpoint, token: Option<Token>) -> Self {
        Self { endpoint, token }
    }

    /// Where it listens.
    #[must_use]
    pub const fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Its process, where the name of its socket tells.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        match &self.endpoint {
            Endpoint::Unix(path) => runtime_dir::process_of(path),
            Endpoint::Tcp(_) => None,
        }
    }

    /// Its servers.
    ///
    /// # Errors
    /// As every call: no connection, no answer in time, an answer that is none, a refusal.
    pub async fn servers(&self, limit: Duration) -> Result<Vec<Server>, ClientError> {
        let Servers { servers } = self.get("/mcp/servers", limit).await?;
        servers.into_iter().map(|value| Server::read(value).map_err(|error| self.strange(&error))).collect()
    }

    /// An attempt now of all servers that are meant.
    ///
    /// # Errors
    /// As every call.
    pub async fn retry_all(&self, which: Which) -> Result<RetriedAll, ClientError> {
        self.post(&format!("/mcp/servers/retry-all?state={}", which.name()), SOON).await
    }

    /// An attempt now; with `wait`, until the server is connected.
    ///
    /// # Errors
    /// As every call.
    pub async fn retry(&self, name: &str, wait: Option<Duration>) -> Result<Accepted, ClientError> {
        let query = wait.map(|wait| format!("?wait={}ms", wait.as_millis())).unwrap_or_default();
        let path = format!("{}{query}", server_path(name, "retry"));
        self.post(&path, wait.unwrap_or_default().saturating_add(SOON)).await
    }

    /// Switches a server on or off.
    ///
    /// # Errors
    /// As every call.
    pub async fn switch(&self, name: &str, on: bool) -> Result<Server, ClientError> {
        let value = self.post(&server_path(name, if on { "enable" } else { "disable" }), LONG).await?;
        Server::read(value).map_err(|error| self.strange(&error))
    }

    /// Runs a server's probe chain.
    ///
    /// # Errors
    /// As every call.
    pub async fn probe(&self, name: &str) -> Result<ProbeReport, ClientError> {
        self.post(&server_path(name, "probe"), LONG).await
    }

    /// The last lines of a server's stderr, oldest first.
    ///
    /// # Errors
    /// As every call.
    pub async fn logs(&self, name: &str, tail: usize) -> Result<Vec<String>, ClientError> {
        let path = format!("{}?tail={tail}", server_path(name, "logs"));
        let LogLines { lines } = self.get(&path, SOON).await?;
        Ok(lines)
    }

    /// Reads the configuration again; what changed.
    ///
    /// # Errors
    /// As every call; a refusal says what is wrong with the configuration.
    pub async fn reload(&self) -> Result<Vec<String>, ClientError> {
        let Changed { changed } = self.post("/config/reload", LONG).await?;
        Ok(changed)
    }

    /// Whether it is well, and its words.
    ///
    /// # Errors
    /// As every call, but for refusals: they are the answer.
    pub async fn check(&self, check: Check) -> Result<(bool, String), ClientError> {
        let path = match check {
            Check::Live => "/livez?verbose",
            Check::Ready => "/readyz?verbose",
            Check::Startup => "/startupz?verbose",
        };
        let call = Call { method: Method::GET, path, accept: "text/plain", limit: SOON };
        let Reply { status, body } = http::ask(&self.endpoint, self.token.as_ref(), &call).await?;
        match status {
            200 | 503 => Ok((status == 200, String::from_utf8_lossy(&body).trim().to_owned())),
            _ => Err(self.refused(status, &body)),
        }
    }

    /// The watchdog itself.
    ///
    /// # Errors
    /// As every call.
    pub async fn info(&self) -> Result<Info, ClientError> {
        self.get("/server_info", SOON).await
    }

    /// Events as they happen, a JSON object a line; with `since`, first those after this number that are still known. It ends
    /// with the watchdog.
    ///
    /// # Errors
    /// As every call.
    pub async fn events(&self, since: Option<u64>) -> Result<Lines, ClientError> {
        let path = since.map_or_else(|| "/mcp/events".to_owned(), |since| format!("/mcp/events?since={since}"));
        let call = Call { method: Method::GET, path: &path, accept: JSON_LINES, limit: SOON };
        let begun = http::stream(&self.endpoint, self.token.as_ref(), &call).await?;
        begun.map_err(|Reply { status, body }| self.refused(status, &body))
    }

    async fn get<T: DeserializeOwned>(&self, path: &str, limit: Duration) -> Result<T, ClientError> {
        self.call(Call { method: Method::GET, path, accept: JSON, limit }).await
    }

    async fn post<T: DeserializeOwned>(&self, path: &str, limit: Duration) -> Result<T, ClientError> {
        self.call(Call { method: Method::POST, path, accept: JSON, limit }).await
    }

    async fn call<T: DeserializeOwned>(&self, call: Call<'_>) -> Result<T, ClientError> {
        let Reply { status, body } = http::ask(&self.endpoint, self.token.as_ref(), &call).await?;
        if !response_is_good(status) {
            return Err(self.refused(status, &body));
        }
        serde_json::from_slice(&body).map_err(|error| self.strange(&error))
    }

    fn refused(&self, status: u16, body: &[u8]) -> ClientError {
        let Problem { title, detail } = serde_json::from_slice(body).unwrap_or_default();
        let detail = detail.or(title).unwrap_or_else(|| format!("HTTP status {status}"));
        ClientError::Refused { endpoint: self.endpoint.clone(), status, detail }
    }

    fn strange(&self, error: &serde_json::Error) -> ClientError {
        ClientError::Strange { endpoint: self.endpoint.clone(), what: error.to_string() }
    }
}

/// The path of something of a server.
fn server_path(name: &str, what: &str) -> String {
    format!("/mcp/servers/{}/{what}", encoded(name))
}

/// Percent-encodes all but the unreserved characters (RFC 3986, section 2.3).
fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(char::from(byte)),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_paths() {
        assert_eq!(server_path("a b/ü", "retry"), "/mcp/servers/a%20b%2F%C3%BC/retry");
        assert_eq!(server_path("files-1.x_y~", "logs"), "/mcp/servers/files-1.x_y~/logs");
    }

    #[test]
    fn a_refusal_has_the_best_words_that_there_are() {
        let watchdog = Watchdog::new(Endpoint::Unix("/x".into()), None);
        let said = |body: &str| watchdog.refused(409, body.as_bytes()).to_string();
        assert_eq!(said(r#"{"title":"Conflict","detail":"server \"a\" is disabled"}"#), r#"server "a" is disabled"#);
        assert_eq!(said(r#"{"title":"Conflict"}"#), "Conflict");
        assert_eq!(said("<html>"), "HTTP status 409");
    }
}
