//! Every route of the control plane, in one table: the router and the OpenAPI document are both made of it, so that neither
//! knows one that the other does not.

use std::time::Duration;

use axum::http::Method;
use axum::routing::{MethodFilter, MethodRouter, on};
use schemars::{Schema, SchemaGenerator};

use super::limit::{LONGEST, USUAL};
use super::model::{Logs, Reloaded, ServerDetail, ServerInfo, ServerList, Taken};
use super::{Plane, events, health, mcp, process, servers};
use crate::engine::{Accepted, CatalogReport, ProbeReport, RetriedAll, ServerStatus};

/// The paths of probes, which need no token.
const PROBES: [&str; 4] = ["/livez", "/readyz", "/healthz", "/startupz"];

/// Whether a path may be asked without a token.
pub(super) fn is_open(path: &str) -> bool {
    PROBES.contains(&path)
}

/// One method of one path.
pub(super) struct Route {
    pub(super) method: Method,
    pub(super) path: &'static str,
    /// What it does, in a line.
    pub(super) summary: &'static str,
    /// Its query.
    pub(super) query: Vec<(&'static str, &'static str)>,
    /// What it answers when all is well, and what it is known to refuse.
    pub(super) answers: Vec<(u16, Content)>,
    /// How long it may take; `None` where it sees to that itself.
    pub(super) limit: Option<Duration>,
    /// Whether it reads a body.
    pub(super) reads: bool,
    pub(super) handler: MethodRouter<Plane>,
}

/// A body.
#[derive(Clone, Copy)]
pub(super) enum Content {
    /// JSON of this type.
    Json(fn(&mut SchemaGenerator) -> Schema),
    /// A probe's text, or JSON where that is asked for.
    Probe,
    /// Numbers in one of the two forms that Prometheus reads.
    Metrics,
    /// A stream of events.
    Events,
    /// A problem with these codes.
    Problem(&'static str),
    /// JSON that is described elsewhere.
    OpenApi,
    /// An MCP message.
    Mcp,
}

fn json<T: schemars::JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

impl Route {
    fn new(method: Method, path: &'static str, summary: &'static str, handler: MethodRouter<Plane>) -> Self {
        Self {
            method,
            path,
            summary,
            query: Vec::new(),
            answers: Vec::new(),
            limit: Some(USUAL),
            reads: false,
            handler,
        }
    }

    fn answers(mut self, status: u16, content: Content) -> Self {
        self.answers.push((status, content));
        self
    }

    fn json<T: schemars::JsonSchema>(self, status: u16) -> Self {
        self.answers(status, Content::Json(json::<T>))
    }

    fn asks(mut self, name: &'static str, meaning: &'static str) -> Self {
        self.query.push((name, meaning));
        self
    }

    const fn within(mut self, limit: Option<Duration>) -> Self {
        self.limit = limit;
        self
    }

    /// Takes an MCP message.
    fn mcp(self) -> Self {
        Self { limit: None, reads: true, ..self }.answers(200, Content::Mcp)
    }

    /// About the server that the path names.
    fn of_server(self) -> Self {
        self.answers(404, Content::Problem("server_not_found"))
    }
}

fn get<H, T>(path: &'static str, summary: &'static str, handler: H) -> Route
where
    H: axum::handler::Handler<T, Plane>,
    T: 'static,
{
    // HEAD comes with it.
    Route::new(Method::GET, path, summary, on(MethodFilter::GET, handler))
}

fn post<H, T>(path: &'static str, summary: &'static str, handler: H) -> Route
where
    H: axum::handler::Handler<T, Plane>,
    T: 'static,
{
    Route::new(Method::POST, path, summary, on(MethodFilter::POST, handler))
}

fn probe(route: Route) -> Route {
    route
        .asks("verbose", "One line for each check")
        .asks("exclude", "A check that does not count, such as `server:NAME`; may be repeated")
        .asks("format", "`json`: status, active_connections and uptime_secs; else `text`")
        .answers(200, Content::Probe)
        .answers(503, Content::Probe)
}

/// What may be told to everyone, on a listener that has nothing else.
pub(super) fn open() -> Vec<Route> {
    vec![
        probe(get("/livez", "Whether the watchdog works, whatever its servers do", health::livez)),
        probe(get("/readyz", "Whether servers are connected, by `ready.require`", health::readyz)),
        probe(get("/healthz", "The same as /readyz", health::readyz)),
        probe(get("/startupz", "Whether every server that starts by itself has been connected once", health::startupz)),
        get("/metrics", "The numbers of all servers", process::metrics).answers(200, Content::Metrics),
    ]
}

/// All of them.
pub(super) fn all() -> Vec<Route> {
    let disabled = Content::Problem("server_disabled");
    let retry = |path, summary| {
        post(path, summary, servers::retry)
            .asks("wait", "Answer when it is connected, after so long at most, such as `30s`")
            .within(None)
            .json::<Accepted>(202)
            .json::<Accepted>(200)
            .answers(409, disabled)
            .answers(504, Content::Problem("server_reconnecting"))
            .of_server()
    };
    let detail =
        |path| get(path, "One server, with its latest events", servers::detail).json::<ServerDetail>(200).of_server();
    let mut routes = open();
    routes.extend([
        get("/server_info", "The watchdog itself", process::info).json::<ServerInfo>(200),
        get("/openapi.json", "This document", process::openapi).answers(200, Content::OpenApi),
        get("/mcp/servers", "All servers, in every state", servers::list).json::<ServerList>(200),
        detail("/mcp/servers/{id}"),
        detail("/mcp/servers/{id}/status"),
        retry("/mcp/servers/{id}/retry", "An attempt now, whatever the state; the budget starts anew"),
        retry("/mcp/servers/{id}/restart", "The same: a server that is connected is replaced"),
        post("/mcp/servers/retry-all", "An attempt now of all that have failed for good", servers::retry_all)
            .asks("state", "`failed`, or `any`: all that are enabled, connected ones too")
            .json::<RetriedAll>(202),
        post("/mcp/servers/{id}/enable", "Switch it on", servers::enable).json::<ServerStatus>(200).of_server(),
        post("/mcp/servers/{id}/disable", "Switch it off; answered when its processes are gone", servers::disable)
            .json::<ServerStatus>(200)
            .of_server(),
        post("/mcp/servers/{id}/probe", "Run its probe chain once; never restarts it", servers::probe)
            .within(Some(LONGEST))
            .json::<ProbeReport>(200)
            .answers(409, Content::Problem("server_disconnected"))
            .of_server(),
        get("/mcp/servers/{id}/catalog", "The lists that its client has seen", servers::catalog)
            .asks("full", "`1`: the results themselves, too")
            .json::<CatalogReport>(200)
            .of_server(),
        get("/mcp/servers/{id}/logs", "The last lines of its stderr", servers::logs)
            .asks("tail", "So many lines; 200 if not given")
            .asks("stderr", "`1`: those of stderr, which are all there are")
            .json::<Logs>(200)
            .of_server(),
        get("/mcp/events", "Events as they happen; `Last-Event-ID` makes up for what was missed", events::listen)
            .asks("server", "Of these servers only, with commas")
            .asks("type", "Of these types only, with commas")
            .asks("since", "After the event of this number")
            .within(None)
            .answers(200, Content::Events)
            .of_server(),
        post("/mcp", "The tools for models: MCP over Streamable HTTP, without sessions", mcp::handle).mcp(),
        // What is asked for by then happens all the same: an answer that comes sooner would be wrong about that.
        post("/config/reload", "Read the configuration again", process::reload)
            .within(Some(LONGEST))
            .json::<Reloaded>(200)
            .answers(422, Content::Problem("config_rejected")),
        post("/shutdown", "End the watchdog and its servers", process::shutdown).json::<Taken>(202),
    ]);
    routes
}
