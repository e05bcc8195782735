//! From the table of routes to a router.

use axum::Router;
use axum::extract::Request;
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::Response;

use super::access::{self, Access};
use super::problem::Problem;
use super::route::{self, Route};
use super::{Plane, body, limit};

/// Everything, for those whom `access` lets in.
pub fn router(plane: &Plane, access: Access) -> Router {
    let routes = table(route::all());
    finish(routes.layer(middleware::from_fn_with_state(access, access::guard)), plane)
}

/// Probes and metrics, for everyone.
pub(super) fn open(plane: &Plane) -> Router {
    finish(table(route::open()), plane)
}

fn table(routes: Vec<Route>) -> Router<Plane> {
    let router = routes.into_iter().fold(Router::new(), |router, route| {
        let mut handler = route.handler;
        if let Some(limit) = route.limit {
            handler = handler.route_layer(middleware::from_fn_with_state(limit, limit::within));
        }
        // Outermost: the limit of an answer begins when the whole request is there.
        if route.reads {
            handler = handler.route_layer(middleware::from_fn(body::expect_any));
        } else if route.method == Method::POST {
            handler = handler.route_layer(middleware::from_fn(body::expect_none));
        }
        router.route(route.path, handler)
    });
    router.fallback(not_found).method_not_allowed_fallback(not_allowed)
}

fn finish(router: Router<Plane>, plane: &Plane) -> Router {
    router.layer(middleware::from_fn(label)).with_state(plane.clone())
}

async fn not_found(request: Request) -> Problem {
    let detail = format!("there is nothing at {}; /openapi.json tells what there is", request.uri().path());
    Problem::new(StatusCode::NOT_FOUND, "not_found", detail)
}

async fn not_allowed(request: Request) -> Problem {
    let detail = format!("{} cannot be done here; the Allow header tells what can", request.method());
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", detail)
}

/// An answer is of its moment, and of the type that it says.
async fn label(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}
