//! The server on `POST /mcp`.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};

use crate::control::Plane;

/// Answers a message. Who is let in, and how much may come, was decided in front of this, for all paths alike.
///
/// There are no sessions in either era, since nothing is kept that one would have to hold on to; so a service is made for
/// each message, which costs next to nothing.
pub(in crate::control) async fn handle(State(plane): State<Plane>, request: Request) -> Response {
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .disable_allowed_hosts();
    let sessions = Arc::new(NeverSessionManager::default());
    StreamableHttpService::new(move || Ok(plane.manager()), sessions, config).handle(request).await.map(Body::new)
}
