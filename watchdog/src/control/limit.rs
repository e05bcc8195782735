//! How long an answer may take.

use std::time::Duration;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tokio::time::timeout;

use super::problem::Problem;

/// Longer than a disabled server's processes are waited for.
pub(super) const USUAL: Duration = Duration::from_secs(15);

/// The longest wait that may be asked for, and the longest probe chain that is waited for.
pub(super) const LONGEST: Duration = Duration::from_secs(600);

/// Answers for a handler that does not.
pub(super) async fn within(State(limit): State<Duration>, request: Request, next: Next) -> Response {
    match timeout(limit, next.run(request)).await {
        Ok(response) => response,
        Err(_) => Problem::timeout(format!("no answer within {} s", limit.as_secs())).into_response(),
    }
}
