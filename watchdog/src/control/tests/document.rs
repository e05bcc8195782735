//! The OpenAPI document says what the router does.

use std::collections::HashSet;

use axum::body::Body;
use axum::http::{Method, Request};
use serde_json::Value;

use super::schema::faults;
use crate::control::document;
use crate::control::fake::{Fake, FakeSlot};
use crate::engine::Order;

/// The described operations: method, path, and what is said of it.
fn operations(document: &Value) -> Vec<(Method, String, Value)> {
    let paths = document["paths"].as_object().unwrap();
    let all = paths.iter().flat_map(|(path, item)| {
        let methods = item.as_object().unwrap().iter();
        methods.map(|(method, operation)| (method.to_uppercase().parse().unwrap(), path.clone(), operation.clone()))
    });
    all.collect()
}

/// What any MCP server answers.
const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

/// Asks it as described, of a server of this name.
async fn check(
    fake: &Fake,
    document: &Value,
    (method, path, operation): &(Method, String, Value),
    server: &str,
) -> u16 {
    let uri = path.replace("{id}", server);
    let request = Request::builder().method(method).uri(&uri);
    let request = if operation["requestBody"].is_object() {
        let headers = [("content-type", "application/json"), ("accept", "application/json, text/event-stream")];
        let request = headers.into_iter().fold(request, |request, (name, value)| request.header(name, value));
        request.header("host", "localhost").body(Body::from(PING)).unwrap()
    } else {
        request.body(Body::empty()).unwrap()
    };
    let answer = if path == "/mcp/events" {
        // It does not end by itself.
        fake.closing.send_replace(true);
        let answer = fake.send(request).await;
        fake.closing.send_replace(false);
        answer
    } else {
        fake.send(request).await
    };
    let status = answer.status.as_u16();
    let described = &operation["responses"][status.to_string()];
    let content = &described["content"][answer.media_type()];
    assert!(content.is_object(), "{method} {uri}: {status} {} is not described", answer.media_type());
    if answer.media_type().ends_with("json") {
        let found = faults(document, &content["schema"], &answer.json(), "");
        assert!(found.is_empty(), "{method} {uri}: {found:#?}");
    }
    status
}

#[tokio::test]
async fn every_operation_answers_as_described() {
    let document = document();
    let operations = operations(&document);
    assert!(operations.len() >= 20, "{}", operations.len());
    let (up, down) = (FakeSlot::connected("up"), FakeSlot::failed("down"));
    let mut fake = Fake::new(&[&up, &down]);
    super::events::happen(&fake, "up");
    let mut orders = {
        let (_keep, none) = tokio::sync::mpsc::unbounded_channel();
        std::mem::replace(&mut fake.orders, none)
    };
    tokio::spawn(async move {
        while let Some(order) = orders.recv().await {
            if let Order::Reload(answer) = order {
                answer.send(Ok(Vec::new())).unwrap();
            }
        }
    });
    for operation in operations.iter().filter(|(_, path, _)| path != "/shutdown") {
        // What came before may have switched it off.
        up.paint(|slot| (slot.enabled, slot.state, slot.status) = (true, "Connected", "connected"));
        let status = check(&fake, &document, operation, "up").await;
        assert!((200..300).contains(&status), "{} {}: {status}", operation.0, operation.1);
        if operation.1.contains("{id}") {
            assert_eq!(check(&fake, &document, operation, "nobody").await, 404);
        }
    }
    let shutdown = operations.iter().find(|(_, path, _)| path == "/shutdown").unwrap();
    assert_eq!(check(&fake, &document, shutdown, "").await, 202);
    let ready = operations.iter().find(|(_, path, _)| path == "/readyz").unwrap();
    assert_eq!(check(&fake, &document, ready, "").await, 503);
}

#[test]
fn the_document_is_whole() {
    let document = document();
    assert_eq!(document["openapi"], "3.1.0");
    let mut ids = HashSet::new();
    for (method, path, operation) in operations(&document) {
        assert!(ids.insert(operation["operationId"].clone()), "{method} {path} has no name of its own");
        assert!(operation["summary"].as_str().is_some_and(|summary| !summary.is_empty()));
        assert!(operation["responses"]["default"].is_object());
        assert_eq!(operation["security"].is_array(), !path.ends_with('z'), "{path}");
        let described = operation["parameters"].as_array().unwrap().iter().any(|parameter| parameter["in"] == "path");
        assert_eq!(described, path.contains("{id}"), "{path}");
    }
    let text = document.to_string();
    let references = text.split(r##""$ref":"#"##).skip(1).map(|rest| rest.split('"').next().unwrap());
    for reference in references.collect::<HashSet<_>>() {
        assert!(document.pointer(reference).is_some(), "{reference} leads nowhere");
    }
    assert!(document["components"]["schemas"]["ServerStatus"]["properties"]["retryCount"].is_object());
}
