//! The OpenAPI 3.1 document, made of the table of routes and the schemas of the types that are answered with.

use axum::http::StatusCode;
use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::events::JSON_LINES;
use super::model::Readiness;
use super::problem::{self, Problem};
use super::route::{self, Content, Route};

/// The document.
#[must_use]
pub fn document() -> Value {
    // The dialect of OpenAPI 3.1 is JSON Schema 2020-12; its components have a place of their own.
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    });
    let mut generator = settings.into_generator();
    let mut paths = Map::new();
    for route in route::all() {
        let item = paths.entry(route.path).or_insert_with(|| json!({}));
        item[route.method.as_str().to_lowercase()] = operation(&route, &mut generator);
    }
    let schemas = generator.take_definitions(true);
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "mcp-watchdog",
            "version": env!("CARGO_PKG_VERSION"),
            "summary": env!("CARGO_PKG_DESCRIPTION"),
            "license": { "name": env!("CARGO_PKG_LICENSE") },
        },
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
        },
    })
}

fn operation(route: &Route, generator: &mut SchemaGenerator) -> Value {
    let in_path = route.path.contains("{id}").then(|| parameter("id", "path", "The server's name"));
    let in_query = route.query.iter().map(|(name, meaning)| parameter(name, "query", meaning));
    let parameters: Vec<_> = in_path.into_iter().chain(in_query).collect();
    let mut responses = Map::new();
    for (status, content) in &route.answers {
        responses.insert(status.to_string(), response(*status, *content, generator));
    }
    responses.insert("default".to_owned(), response(0, Content::Problem("see `code`"), generator));
    let mut operation = json!({
        "operationId": operation_id(route),
        "summary": route.summary,
        "parameters": parameters,
        "responses": responses,
    });
    if route.reads {
        let schema = json!({ "schema": { "type": "object" } });
        operation["requestBody"] = json!({ "required": true, "content": { "application/json": schema } });
    }
    if !route::is_open(route.path) {
        // Without a token where none is configured, and on the unix socket.
        operation["security"] = json!([{ "token": [] }, {}]);
    }
    operation
}

/// `post-mcp-servers-id-retry`
fn operation_id(route: &Route) -> String {
    let words = route.path.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let method = route.method.as_str().to_lowercase();
    std::iter::once(method.as_str()).chain(words).collect::<Vec<_>>().join("-")
}

fn parameter(name: &str, place: &str, meaning: &str) -> Value {
    json!({
        "name": name, "in": place, "required": place == "path", "description": meaning,
        "schema": { "type": "string" },
    })
}

fn response(status: u16, content: Content, generator: &mut SchemaGenerator) -> Value {
    let words = StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason());
    let (description, content) = match content {
        Content::Json(schema) => {
            (words.unwrap_or_default().to_owned(), json!({ "application/json": { "schema": schema(generator) } }))
        }
        Content::Probe => {
            let json = generator.subschema_for::<Readiness>();
            let text = json!({ "schema": { "type": "string" } });
            let content = json!({ "text/plain": text, "application/json": { "schema": json } });
            (words.unwrap_or_default().to_owned(), content)
        }
        Content::Metrics => {
            let text = json!({ "schema": { "type": "string" } });
            (
                "Text 0.0.4, or OpenMetrics 1.0".to_owned(),
                json!({ "text/plain": text, "application/openmetrics-text": text }),
            )
        }
        Content::Events => {
            let event = generator.subschema_for::<super::model::EventRecord>();
            let text = json!({ "schema": { "type": "string" } });
            let content = json!({ "text/event-stream": text, JSON_LINES: { "schema": event } });
            ("Events, until the watchdog ends".to_owned(), content)
        }
        Content::Problem(code) => {
            let schema = generator.subschema_for::<Problem>();
            (format!("Problem: {code}"), json!({ problem::MEDIA_TYPE: { "schema": schema } }))
        }
        Content::OpenApi => {
            ("OpenAPI 3.1".to_owned(), json!({ "application/json": { "schema": { "type": "object" } } }))
        }
        Content::Mcp => (
            "JSON-RPC 2.0, as MCP has it".to_owned(),
            json!({ "application/json": { "schema": { "type": "object" } } }),
        ),
    };
    json!({ "description": description, "content": content })
}
