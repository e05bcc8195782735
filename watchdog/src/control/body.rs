//! What a request of ours may carry: nothing, or an empty JSON object.
//!
//! A form of a web page can send neither without being asked for leave first, which nobody gives it.

use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::{StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::problem::Problem;

/// More is not read.
const LARGEST: usize = 64 * 1024;

/// Lets a request through that carries nothing.
pub(super) async fn expect_none(request: Request, next: Next) -> Response {
    match strip(request).await {
        Ok(request) => next.run(request).await,
        Err(problem) => problem.into_response(),
    }
}

async fn strip(request: Request) -> Result<Request, Problem> {
    let (parts, body) = request.into_parts();
    let json = parts.headers.get(header::CONTENT_TYPE).is_some_and(|value| is_json(value.as_bytes()));
    let typed = parts.headers.contains_key(header::CONTENT_TYPE);
    let length = parts.headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    let too_large = || Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "content_too_large", "a body has at most 64 KiB");
    if length.is_some_and(|length| length > LARGEST) {
        return Err(too_large());
    }
    let body = to_bytes(body, LARGEST).await.map_err(|_| too_large())?;
    if (typed || !body.is_empty()) && !json {
        let detail = "send no body, or one of application/json";
        return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", detail));
    }
    let empty = body.is_empty()
        || serde_json::from_slice::<serde_json::Map<String, serde_json::Value>>(&body).is_ok_and(|map| map.is_empty());
    if !empty {
        return Err(Problem::invalid("nothing is read from the body: parameters go into the query"));
    }
    Ok(Request::from_parts(parts, Body::empty()))
}

/// `application/json`, with or without parameters.
fn is_json(value: &[u8]) -> bool {
    let essence = value.split(|byte| *byte == b';').next().unwrap_or_default();
    essence.trim_ascii().eq_ignore_ascii_case(b"application/json")
}
