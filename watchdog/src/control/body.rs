//! What a request may carry: an MCP message where one is taken, else nothing, or an empty JSON object.
//!
//! Bodies are read in front of whoever answers, so that a peer that does not send what it has promised gives its place back.
//!
//! A form of a web page can send neither without being asked for leave first, which nobody gives it.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::Request;
use axum::http::{Extensions, HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tokio::time::timeout;

use super::problem::Problem;
use super::seats::{Asking, Seat};

/// More is not read.
const LARGEST: usize = 64 * 1024;

/// From the end of the head to the end of the body.
const LATEST: Duration = Duration::from_secs(10);

/// Lets a request through once all of it is there.
pub(super) async fn expect_any(request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    match read(&parts.headers, body).await {
        Ok(body) => {
            let _asking = asking(&parts.extensions);
            next.run(Request::from_parts(parts, Body::from(body))).await
        }
        Err(response) => response,
    }
}

/// Lets a request through that carries nothing.
pub(super) async fn expect_none(request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    let body = match read(&parts.headers, body).await {
        Ok(body) => body,
        Err(response) => return response,
    };
    match check_nothing(&parts.headers, &body) {
        Ok(()) => {
            let _asking = asking(&parts.extensions);
            next.run(Request::from_parts(parts, Body::empty())).await
        }
        Err(problem) => problem.into_response(),
    }
}

/// From here on its connection waits for us, and not we for it.
fn asking(extensions: &Extensions) -> Option<Asking> {
    extensions.get::<Arc<Seat>>().map(Seat::asks)
}

/// All of a body; the answer to one that is too large, or does not come.
async fn read(headers: &HeaderMap, body: Body) -> Result<Bytes, Response> {
    let too_large = || Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "content_too_large", "a body has at most 64 KiB");
    let length = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    if length.is_some_and(|length| length > LARGEST) {
        return Err(too_large().into_response());
    }
    match timeout(LATEST, to_bytes(body, LARGEST)).await {
        Ok(body) => body.map_err(|_| too_large().into_response()),
        Err(_) => {
            let detail = format!("the body was not there after {} s: send it with its head", LATEST.as_secs());
            let mut response = Problem::new(StatusCode::REQUEST_TIMEOUT, "timeout", detail).into_response();
            // RFC 9110, section 15.5.9: what comes after it could not be told from the rest of the body.
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
            Err(response)
        }
    }
}

fn check_nothing(headers: &HeaderMap, body: &[u8]) -> Result<(), Problem> {
    let json = headers.get(header::CONTENT_TYPE).is_some_and(|value| is_json(value.as_bytes()));
    let typed = headers.contains_key(header::CONTENT_TYPE);
    if (typed || !body.is_empty()) && !json {
        let detail = "send no body, or one of application/json";
        return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", detail));
    }
    let empty = body.is_empty()
        || serde_json::from_slice::<serde_json::Map<String, serde_json::Value>>(body).is_ok_and(|map| map.is_empty());
    if !empty {
        return Err(Problem::invalid("nothing is read from the body: parameters go into the query"));
    }
    Ok(())
}

/// `application/json`, with or without parameters.
fn is_json(value: &[u8]) -> bool {
    let essence = value.split(|byte| *byte == b';').next().unwrap_or_default();
    essence.trim_ascii().eq_ignore_ascii_case(b"application/json")
}
