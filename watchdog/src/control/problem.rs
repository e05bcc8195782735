//! Errors, as RFC 9457 has them. `code` is for programs, `detail` for people.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::engine::CommandError;

/// Their media type.
pub(super) const MEDIA_TYPE: &str = "application/problem+json";

/// Why a request was not carried out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Problem {
    /// `about:blank`: the status says what kind it is.
    #[serde(rename = "type")]
    pub kind: String,
    /// The status in words.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// What is wrong, and what helps.
    pub detail: String,
    /// A code of the contract such as `server_not_found`, or `invalid_request`, `unauthorized`, `forbidden`, `not_found`,
    /// `method_not_allowed`, `not_acceptable`, `content_too_large`, `unsupported_media_type`, `config_rejected`,
    /// `overloaded`, `timeout`.
    pub code: String,
}

impl Problem {
    /// A problem of this status.
    pub(super) fn new(status: StatusCode, code: &str, detail: impl Into<String>) -> Self {
        let title = status.canonical_reason().unwrap_or("Error").to_owned();
        let kind = "about:blank".to_owned();
        Self { kind, title, status: status.as_u16(), detail: detail.into(), code: code.to_owned() }
    }

    /// What was asked makes no sense.
    pub(super) fn invalid(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_request", detail)
    }

    /// Whoever asks may not.
    pub(super) fn forbidden(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "forbidden", detail)
    }

    /// It took too long.
    pub(super) fn timeout(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::GATEWAY_TIMEOUT, "timeout", detail)
    }
}

impl From<CommandError> for Problem {
    fn from(error: CommandError) -> Self {
        let status = match error {
            CommandError::NotFound { .. } => StatusCode::NOT_FOUND,
            CommandError::Disabled(_) | CommandError::NotConnected { .. } => StatusCode::CONFLICT,
            CommandError::Timeout { .. } => StatusCode::GATEWAY_TIMEOUT,
            CommandError::Closing(_) => StatusCode::SERVICE_UNAVAILABLE,
        };
        Self::new(status, error.code().name(), error.to_string())
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = (status, axum::Json(self)).into_response();
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE));
        if status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}
