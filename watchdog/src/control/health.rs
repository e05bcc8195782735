//! Liveness, readiness and startup, for machines that read only the status (Kubernetes, load balancers, `mcp-watchdog health`).
//!
//! The watchdog lives while its tasks answer, whatever becomes of its servers: restarting it because a server is down would
//! make things worse.

use std::collections::HashSet;
use std::fmt::Write;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::Plane;
use super::model::Readiness;
use super::problem::Problem;
use super::query::Params;
use crate::config::Require;

/// A slot's task that does not answer for so long has stopped.
const STOPPED: Duration = Duration::from_secs(10);

/// One thing that was looked at.
struct Check {
    /// As `exclude` has it.
    name: String,
    /// What is wrong with it.
    failure: Option<String>,
    /// Whether it decides, or is only told.
    decides: bool,
}

/// What a probe asked: pairs, since `exclude` may come more than once.
struct Asked {
    verbose: bool,
    json: bool,
    exclude: HashSet<String>,
}

impl Asked {
    fn read(pairs: Vec<(String, String)>) -> Result<Self, Problem> {
        let mut asked = Self { verbose: false, json: false, exclude: HashSet::new() };
        for (key, value) in pairs {
            match (key.as_str(), value.as_str()) {
                ("verbose", "" | "1" | "true") => asked.verbose = true,
                ("verbose", "0" | "false") => asked.verbose = false,
                ("format", "json") => asked.json = true,
                ("format", "text") => asked.json = false,
                ("exclude", _) => _ = asked.exclude.insert(value),
                _ => {
                    let known = "known are verbose, exclude=CHECK and format=json|text";
                    return Err(Problem::invalid(format!("{key}={value} means nothing here: {known}")));
                }
            }
        }
        Ok(asked)
    }

    fn counts(&self, name: &str) -> bool {
        !self.exclude.contains(name)
    }
}

type Query = Params<Vec<(String, String)>>;

pub(super) async fn livez(State(plane): State<Plane>, Params(pairs): Query) -> Result<Response, Problem> {
    let asked = Asked::read(pairs)?;
    let answering = plane.handle().answering(STOPPED).await;
    let checks = answering.into_iter().map(|(server, answers)| Check {
        name: of_server(&server),
        failure: (!answers).then(|| format!("its task has not answered for {} s", STOPPED.as_secs())),
        decides: true,
    });
    Ok(answer(&plane, "livez", &asked, checks.collect()))
}

pub(super) async fn readyz(State(plane): State<Plane>, Params(pairs): Query) -> Result<Response, Problem> {
    let asked = Asked::read(pairs)?;
    let checks = readiness(&plane, &asked);
    Ok(answer(&plane, "readyz", &asked, checks))
}

pub(super) async fn startupz(State(plane): State<Plane>, Params(pairs): Query) -> Result<Response, Problem> {
    let asked = Asked::read(pairs)?;
    let checks = startup(&plane);
    Ok(answer(&plane, "startupz", &asked, checks))
}

fn of_server(name: &str) -> String {
    format!("server:{name}")
}

/// Not at its end, and as many servers connected, or standing by, as `ready.require` wants of those that are enabled.
fn readiness(plane: &Plane, asked: &Asked) -> Vec<Check> {
    let ending = plane.handle().is_draining().then(|| "the watchdog is shutting down".to_owned());
    let mut checks = vec![Check { name: "shutdown".to_owned(), failure: ending, decides: true }];
    let (mut enabled, mut ready) = (0, 0);
    for slot in &*plane.handle().slots() {
        let picture = &slot.published.borrow().slot;
        let name = of_server(&slot.name);
        // One that the next request starts is as good as one that runs.
        let is_ready = picture.status == "connected" || picture.enabled && picture.standby;
        if picture.enabled && asked.counts(&name) {
            enabled += 1;
            ready += usize::from(is_ready);
        }
        checks.push(Check { name, failure: (!is_ready).then(|| picture.state.to_owned()), decides: false });
    }
    let require = plane.shared.ready.require;
    let enough = match require {
        Require::Any => ready > 0,
        Require::All => ready == enabled && enabled > 0,
    };
    let wanted = match require {
        Require::Any => "one is needed",
        Require::All => "all are needed",
    };
    let failure = (!enough).then(|| format!("{ready} of {enabled} enabled servers connected or standing by, {wanted}"));
    checks.push(Check { name: "servers".to_owned(), failure, decides: true });
    checks
}

/// Every server has been connected once, of those that are started without being asked.
fn startup(plane: &Plane) -> Vec<Check> {
    let slots = plane.handle().slots();
    let checks = slots.iter().filter_map(|slot| {
        let picture = &slot.published.borrow().slot;
        let waited_for = picture.enabled && !picture.lazy;
        // Of the meter, which outlives the sessions of a served slot: a later loss does not undo a start.
        let failure = (!slot.meter.tally().has_connected()).then(|| picture.state.to_owned());
        waited_for.then(|| Check { name: of_server(&slot.name), failure, decides: true })
    });
    checks.collect()
}

/// The form of Kubernetes: one line a check where that was asked for.
fn answer(plane: &Plane, path: &str, asked: &Asked, checks: Vec<Check>) -> Response {
    let passed = checks.iter().all(|check| !check.decides || check.failure.is_none() || !asked.counts(&check.name));
    let status = if passed { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    if asked.json {
        return (status, Json(words_of_document_001(plane, passed))).into_response();
    }
    let end = if passed { "passed" } else { "failed" };
    let mut text = String::new();
    if asked.verbose {
        for check in &checks {
            // Writing to a string cannot fail.
            _ = match (&check.failure, asked.counts(&check.name)) {
                (_, false) => writeln!(text, "[+]{} excluded: ok", check.name),
                (None, true) => writeln!(text, "[+]{} ok", check.name),
                (Some(why), true) => writeln!(text, "[-]{} failed: {why}", check.name),
            };
        }
        for name in asked.exclude.iter().filter(|name| !checks.iter().any(|check| check.name == **name)) {
            _ = writeln!(text, "warn: there is no check \"{}\" to exclude", name.escape_debug());
        }
        _ = writeln!(text, "{path} check {end}");
    } else if passed {
        text.push_str("ok");
    } else {
        _ = writeln!(text, "{path} check failed: ask with ?verbose");
    }
    (status, [(header::CONTENT_TYPE, "text/plain; charset=utf-8")], text).into_response()
}

/// S123 of the requirements.
fn words_of_document_001(plane: &Plane, passed: bool) -> Readiness {
    Readiness {
        status: if passed { "ready" } else { "degraded" }.to_owned(),
        active_connections: plane.handle().slots().iter().map(|slot| slot.meter.clients.get()).sum(),
        uptime_secs: plane.handle().info().started_at.elapsed().as_secs(),
    }
}
