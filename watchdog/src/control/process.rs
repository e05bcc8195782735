//! The watchdog itself: what it is, and what may be done to it.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::Value;

use super::model::{Reloaded, ServerInfo, Taken};
use super::problem::Problem;
use super::query::{Nothing, Params};
use super::{Plane, metrics, openapi};
use crate::telemetry::timestamp;

/// Those of the package's features that a user may look for.
const FEATURES: &[&str] = if cfg!(feature = "plugins") { &["plugins"] } else { &[] };

pub(super) async fn info(State(plane): State<Plane>, _: Params<Nothing>) -> Json<ServerInfo> {
    let info = plane.handle().info();
    Json(ServerInfo {
        name: env!("CARGO_PKG_NAME").to_owned(),
        version: info.version.to_owned(),
        pid: info.pid,
        started_at: timestamp(info.started),
        uptime_ms: u64::try_from(info.started_at.elapsed().as_millis()).unwrap_or(u64::MAX),
        config_file: info.config_file.as_ref().map(|path| path.display().to_string()),
        config_sha256: plane.handle().config_sha256(),
        sequence: plane.handle().events().sequence(),
        probes: plane.shared.probes.clone(),
        features: FEATURES.iter().map(|feature| (*feature).to_owned()).collect(),
    })
}

/// Scrapers send parameters of their own, which mean nothing here.
pub(super) async fn metrics(State(plane): State<Plane>, headers: HeaderMap) -> Response {
    let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let accepted = accepted.collect::<Vec<_>>().join(",");
    let (content_type, text) = metrics::render(plane.handle(), Some(&accepted));
    ([(header::CONTENT_TYPE, content_type)], text).into_response()
}

pub(super) async fn openapi(_: Params<Nothing>) -> Json<Value> {
    Json(openapi::document())
}

pub(super) async fn reload(State(plane): State<Plane>, _: Params<Nothing>) -> Result<Json<Reloaded>, Problem> {
    let changed = plane.handle().reload().await;
    changed
        .map(|changed| Json(Reloaded { changed }))
        .map_err(|why| Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "config_rejected", why))
}

pub(super) async fn shutdown(State(plane): State<Plane>, _: Params<Nothing>) -> Response {
    plane.handle().shutdown();
    (StatusCode::ACCEPTED, Json(Taken { accepted: true })).into_response()
}
