//! Who is let in (control-plane.md, section 3).
//!
//! On the unix socket the kernel has said who the peer is before a request is read. On TCP a browser is the danger: a page of
//! anywhere may send requests to this machine, and with a name of its own that leads here it could read the answers. So no
//! origin is let in, and no Host that is a name which is not ours. Where there is a token, it has to be presented.

use std::hint::black_box;
use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::problem::Problem;
use super::route;
use crate::config::Token;

/// The rules of one listener.
#[derive(Debug, Clone)]
pub enum Access {
    /// The peer is known to be this user, or root.
    Unix,
    /// Anybody who can reach the address.
    Tcp {
        /// The host of the configuration.
        host: Arc<str>,
        /// What has to be presented.
        token: Option<Token>,
    },
}

impl Access {
    /// The rules of a TCP listener.
    #[must_use]
    pub fn tcp(host: &str, token: Option<Token>) -> Self {
        Self::Tcp { host: host.into(), token }
    }

    /// Whether a request is let in. `open` are those that need no token.
    ///
    /// # Errors
    /// What it lacks.
    fn check(&self, uri: &Uri, headers: &HeaderMap, open: bool) -> Result<(), Problem> {
        if headers.contains_key(header::ORIGIN) {
            return Err(Problem::forbidden("requests of web pages are not let in: send no Origin header"));
        }
        let Self::Tcp { host, token } = self else { return Ok(()) };
        // Browsers send no Origin with what a page loads as a picture or a script, but this (Fetch Metadata Request Headers).
        let site = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
        if site.is_some_and(|site| !matches!(site, b"none" | b"same-origin")) {
            return Err(Problem::forbidden("requests of web pages are not let in: open the address itself"));
        }
        check_host(host, uri, headers)?;
        match token {
            Some(token) if !open && !presents(headers, token) => {
                let detail = "this takes the token of the configuration: Authorization: Bearer TOKEN";
                Err(Problem::new(StatusCode::UNAUTHORIZED, "unauthorized", detail))
            }
            _ => Ok(()),
        }
    }
}

/// Lets a request through, or answers it.
pub(super) async fn guard(State(access): State<Access>, request: Request, next: Next) -> Response {
    let open = route::is_open(request.uri().path());
    match access.check(request.uri(), request.headers(), open) {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    }
}

/// A number is no name that somebody could let lead here.
fn check_host(ours: &str, uri: &Uri, headers: &HeaderMap) -> Result<(), Problem> {
    let mut named = headers.get_all(header::HOST).iter();
    let (Some(host), None) = (named.next(), named.next()) else {
        return Err(Problem::invalid("a request names its Host, once"));
    };
    let host = Authority::try_from(host.as_bytes()).map_err(|_| Problem::invalid("the Host header is no host"))?;
    for asked in [Some(&host), uri.authority()].into_iter().flatten() {
        let name = asked.host().trim_start_matches('[').trim_end_matches(']');
        let known = [ours, "localhost"].iter().any(|known| known.eq_ignore_ascii_case(name));
        if !known && name.parse::<IpAddr>().is_err() {
            return Err(Problem::forbidden(format!(
                "this is not \"{name}\": ask by number, as localhost, or by the host of `control.listen`"
            )));
        }
    }
    Ok(())
}

fn presents(headers: &HeaderMap, token: &Token) -> bool {
    let presented = headers.get(header::AUTHORIZATION).and_then(|value| value.as_bytes().split_at_checked(7));
    presented.is_some_and(|(scheme, rest)| {
        scheme.eq_ignore_ascii_case(b"bearer ") && same(rest.trim_ascii(), token.expose().as_bytes())
    })
}

/// Takes as long wherever the two differ, so that a token cannot be guessed byte by byte. Its length may show.
fn same(presented: &[u8], token: &[u8]) -> bool {
    let differing = presented.iter().zip(token).fold(0, |differing, (a, b)| black_box(differing | (a ^ b)));
    presented.len() == token.len() && differing == 0
}

#[cfg(test)]
mod tests;
