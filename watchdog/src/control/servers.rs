//! Servers: what they are, and what may be done to them.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use tokio::time::timeout;

use super::Plane;
use super::limit::{LONGEST, USUAL};
use super::model::{EventRecord, Logs, ServerDetail, ServerList};
use super::problem::Problem;
use super::query::{Nothing, Params, ServerName, duration, switch};
use crate::engine::{CatalogReport, ProbeReport, ServerStatus, Which};

/// Events that come with a server.
const HISTORY: usize = 20;

/// Lines of stderr where no number was asked for.
const LINES: usize = 200;

type Answer<T> = Result<Json<T>, Problem>;

pub(super) async fn list(State(plane): State<Plane>, _: Params<Nothing>) -> Json<ServerList> {
    Json(ServerList { servers: plane.handle().statuses() })
}

pub(super) async fn detail(
    State(plane): State<Plane>,
    ServerName(name): ServerName,
    _: Params<Nothing>,
) -> Answer<ServerDetail> {
    let status = plane.handle().slot(&name)?.status();
    let mut history = plane.handle().events().recent(HISTORY, |event| event.server.as_deref() == Some(&*name));
    let history =
        history.drain(..).filter_map(|record| serde_json::from_str::<EventRecord>(&record.json).ok()).collect();
    Ok(Json(ServerDetail { status, history }))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Wait {
    #[serde(default, deserialize_with = "duration")]
    wait: Option<Duration>,
}

pub(super) async fn retry(
    State(plane): State<Plane>,
    ServerName(name): ServerName,
    Params(Wait { wait }): Params<Wait>,
) -> Result<Response, Problem> {
    if wait.is_some_and(|wait| wait > LONGEST) {
        return Err(Problem::invalid(format!("wait is at most {}s", LONGEST.as_secs())));
    }
    let status = if wait.is_some() { StatusCode::OK } else { StatusCode::ACCEPTED };
    let retried = timeout(wait.unwrap_or_default() + USUAL, plane.handle().retry(&name, wait)).await;
    let accepted = retried.map_err(|_| Problem::timeout("the server's task does not answer"))??;
    Ok((status, Json(accepted)).into_response())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Of {
    #[serde(default)]
    state: Which,
}

pub(super) async fn retry_all(State(plane): State<Plane>, Params(Of { state }): Params<Of>) -> Response {
    (StatusCode::ACCEPTED, Json(plane.handle().retry_all(state).await)).into_response()
}

pub(super) async fn enable(
    State(plane): State<Plane>,
    ServerName(name): ServerName,
    _: Params<Nothing>,
) -> Answer<ServerStatus> {
    Ok(Json(plane.handle().enable(&name).await?))
}

pub(super) async fn disable(
    State(plane): State<Plane>,
    ServerName(name): ServerName,
    _: Params<Nothing>,
) -> Answer<ServerStatus> {
    Ok(Json(plane.handle().disable(&name).await?))
}

pub(super) async fn probe(
    State(plane): State<Plane>,
    ServerName(name): ServerName,
    _: Params<Nothing>,
) -> Answer<ProbeReport> {
    Ok(Json(plane.handle().probe(&name).await?))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Full {
    #[serde(default, deserialize_with = "switch")]
    full: bool,
}

pub(super) async fn catalog(
    State(plane): State<Plane>,
    ServerName(name): ServerName,
    Params(Full { full }): Params<Full>,
) -> Answer<CatalogReport> {
    Ok(Json(plane.handle().catalog(&name, full).await?))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Lines {
    tail: Option<usize>,
    /// Said by those who go by control-plane.md. There is nothing else to be had.
    #[serde(default, deserialize_with = "switch", rename = "stderr")]
    _stderr: bool,
}

pub(super) async fn logs(
    State(plane): State<Plane>,
    ServerName(name): ServerName,
    Params(Lines { tail, .. }): Params<Lines>,
) -> Answer<Logs> {
    let lines = plane.handle().logs(&name, tail.unwrap_or(LINES)).await?;
    Ok(Json(Logs { server: name, lines }))
}
