//! What the query and the path of a request say.

use std::time::Duration;

use axum::extract::{FromRequestParts, Path, Query};
use axum::http::request::Parts;
use probe_api::options::Span;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, de};

use super::problem::Problem;

/// The query, all of it: a name that is not known is an error, since a misspelled one would do something else than was meant.
pub(super) struct Params<T>(pub(super) T);

impl<T: DeserializeOwned, S: Sync> FromRequestParts<S> for Params<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        Query::try_from_uri(&parts.uri).map(|Query(found)| Self(found)).map_err(|error| {
            let text = error.body_text();
            Problem::invalid(text.strip_prefix("Failed to deserialize query string: ").unwrap_or(&text))
        })
    }
}

/// `{id}` of the path.
pub(super) struct ServerName(pub(super) String);

impl<S: Send + Sync> FromRequestParts<S> for ServerName {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let Path(name) =
            Path::from_request_parts(parts, state).await.map_err(|error| Problem::invalid(error.body_text()))?;
        Ok(Self(name))
    }
}

/// No parameters at all.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Nothing {}

/// A duration as the configuration writes it.
pub(super) fn duration<'de, D: Deserializer<'de>>(text: D) -> Result<Option<Duration>, D::Error> {
    let text = String::deserialize(text)?;
    text.parse()
        .map(|Span(duration)| Some(duration))
        .map_err(|error: probe_api::ConfigError| de::Error::custom(error.0))
}

/// A switch: `1`, `true` or nothing are on, `0` and `false` off.
pub(super) fn switch<'de, D: Deserializer<'de>>(text: D) -> Result<bool, D::Error> {
    let text = String::deserialize(text)?;
    match text.as_str() {
        "" | "1" | "true" => Ok(true),
        "0" | "false" => Ok(false),
        _ => Err(de::Error::custom(format!("\"{text}\" is not a switch (write 1 or 0)"))),
    }
}
