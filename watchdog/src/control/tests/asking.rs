//! Requests to a fake process, one at a time.

use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Method, Request, StatusCode, header};
use serde_json::Value;
use tower::ServiceExt;

use crate::control::fake::Fake;

/// An answer, read to its end.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    pub(crate) fn media_type(&self) -> &str {
        self.headers[header::CONTENT_TYPE].to_str().unwrap().split(';').next().unwrap()
    }

    #[track_caller]
    pub(crate) fn is_problem(&self, status: u16, code: &str) -> Value {
        let problem = self.json();
        assert_eq!((self.status.as_u16(), self.media_type()), (status, "application/problem+json"), "{problem}");
        assert_eq!((problem["status"].as_u64(), problem["code"].as_str()), (Some(status.into()), Some(code)));
        problem
    }
}

impl Fake {
    pub(crate) async fn ask(&self, request: Request<Body>) -> axum::response::Response {
        self.router.clone().oneshot(request).await.unwrap()
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> Answer {
        let (parts, body) = self.ask(request).await.into_parts();
        let body = String::from_utf8(to_bytes(body, usize::MAX).await.unwrap().to_vec()).unwrap();
        Answer { status: parts.status, headers: parts.headers, body }
    }

    pub(crate) async fn request(&self, method: Method, uri: &str) -> Answer {
        self.send(Request::builder().method(method).uri(uri).body(Body::empty()).unwrap()).await
    }

    pub(crate) async fn get(&self, uri: &str) -> Answer {
        self.request(Method::GET, uri).await
    }

    pub(crate) async fn post(&self, uri: &str) -> Answer {
        self.request(Method::POST, uri).await
    }

    /// With a body of this type.
    pub(crate) async fn carry(&self, uri: &str, media_type: &str, body: impl Into<Body>) -> Answer {
        let request = Request::post(uri).header(header::CONTENT_TYPE, media_type);
        self.send(request.body(body.into()).unwrap()).await
    }
}
