//! Events as they happen: server-sent events, or JSON lines for whoever accepts `application/x-ndjson`.
//!
//! A listener that comes again with the number of the last event that it has seen gets what it missed, as far as the ring
//! holds it, and is told where that is not all. One that is too slow loses events and is told how many; nobody waits for it.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::sse::{self, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream::{self, Stream, StreamExt};
use serde::Deserialize;
use serde_json::json;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio::sync::{OwnedSemaphorePermit, broadcast, watch};

use super::problem::Problem;
use super::query::Params;
use super::{Plane, closed};
use crate::events::bus::Record;
use crate::events::{Bus, Event, EventKind};

/// A connection whose other end has gone without a word is noticed by writing to it.
const KEEPALIVE: Duration = Duration::from_secs(15);

/// The media type of JSON lines.
pub(super) const JSON_LINES: &str = "application/x-ndjson";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Wanted {
    /// Of these servers only, with commas.
    server: Option<String>,
    /// Of these types only, with commas.
    r#type: Option<String>,
    /// What came after this number.
    since: Option<u64>,
}

pub(super) async fn listen(
    State(plane): State<Plane>,
    headers: HeaderMap,
    Params(wanted): Params<Wanted>,
) -> Result<Response, Problem> {
    let since = last_seen(&headers)?.or(wanted.since);
    let filter = Filter { servers: names(wanted.server.as_deref()), kinds: names(wanted.r#type.as_deref()) };
    for server in filter.servers.iter().flatten() {
        plane.handle().slot(server)?;
    }
    EventKind::check_names(filter.kinds.iter().flatten().map(String::as_str)).map_err(Problem::invalid)?;
    let seat = plane.shared.listeners.clone().try_acquire_owned().map_err(|_| {
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, "overloaded", "too many listen to events already")
    })?;
    let bus = plane.handle().events().clone();
    let joined = bus.subscribe(since);
    let mut waiting: VecDeque<_> = joined.backlog.into_iter().map(News::Event).collect();
    if joined.gap {
        let oldest = waiting.front().map_or_else(|| bus.sequence() + 1, News::sequence);
        waiting.push_front(News::Gap { since: since.unwrap_or_default(), oldest });
    }
    let closing = plane.shared.closing.clone();
    let listener =
        Listener { waiting, live: joined.live, bus, filter, closing, seen: since.unwrap_or_default(), _seat: seat };
    let news = stream::unfold(listener, Listener::next);
    Ok(if accepts_json_lines(&headers) { json_lines(news) } else { server_sent(news) })
}

/// What an `EventSource` sends when it comes again.
fn last_seen(headers: &HeaderMap) -> Result<Option<u64>, Problem> {
    let Some(value) = headers.get("last-event-id").filter(|value| !value.is_empty()) else { return Ok(None) };
    let number = value.to_str().ok().and_then(|text| text.parse().ok());
    number.map(Some).ok_or_else(|| Problem::invalid("Last-Event-ID is not the number of an event"))
}

/// `None` where nothing is named, which means all: who fills in an empty word has no wish.
fn names(list: Option<&str>) -> Option<Vec<String>> {
    let names = list?.split(',').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty());
    Some(names.collect()).filter(|names: &Vec<String>| !names.is_empty())
}

fn accepts_json_lines(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let mut types = accepted.flat_map(|value| value.split(',')).filter_map(|range| range.split(';').next());
    types.any(|range| range.trim().eq_ignore_ascii_case(JSON_LINES))
}

/// What a listener wants to hear.
struct Filter {
    servers: Option<Vec<String>>,
    kinds: Option<Vec<String>>,
}

impl Filter {
    fn wants(&self, event: &Event) -> bool {
        let server = |names: &Vec<String>| names.iter().any(|name| event.server.as_deref() == Some(name));
        let kind = |names: &Vec<String>| names.iter().any(|name| name == event.name());
        self.servers.as_ref().is_none_or(server) && self.kinds.as_ref().is_none_or(kind)
    }
}

/// What a listener is told.
enum News {
    Event(Arc<Record>),
    /// Some of what came after `since` and before `oldest` is lost.
    Gap {
        since: u64,
        oldest: u64,
    },
    /// It was too slow: an event of its own, under the number of the last one that was lost.
    Lost {
        sequence: u64,
        json: Box<str>,
    },
}

impl News {
    fn sequence(&self) -> u64 {
        match self {
            Self::Event(record) => record.sequence,
            Self::Gap { since, .. } => *since,
            Self::Lost { sequence, .. } => *sequence,
        }
    }

    fn gap(since: u64, oldest: u64) -> String {
        json!({ "since": since, "oldest": oldest }).to_string()
    }
}

struct Listener {
    waiting: VecDeque<News>,
    live: broadcast::Receiver<Arc<Record>>,
    bus: Bus,
    filter: Filter,
    closing: watch::Receiver<bool>,
    /// The number of the last event that was looked at.
    seen: u64,
    _seat: OwnedSemaphorePermit,
}

impl Listener {
    /// The next that it wants to hear; `None` at the end of the program, once everything is told.
    async fn next(mut self) -> Option<(News, Self)> {
        loop {
            let news = match self.waiting.pop_front() {
                Some(news) => news,
                None => self.heard().await?,
            };
            self.seen = news.sequence().max(self.seen);
            match &news {
                News::Event(record) if !self.filter.wants(&record.event) => {}
                _ => return Some((news, self)),
            }
        }
    }

    async fn heard(&mut self) -> Option<News> {
        let heard = tokio::select! {
            biased;
            heard = self.live.recv() => heard,
            () = closed(&mut self.closing) => self.live.try_recv().map_err(|error| match error {
                TryRecvError::Lagged(dropped) => RecvError::Lagged(dropped),
                TryRecvError::Empty | TryRecvError::Closed => RecvError::Closed,
            }),
        };
        match heard {
            Ok(record) => Some(News::Event(record)),
            Err(RecvError::Lagged(dropped)) => {
                let sequence = self.seen + dropped;
                let event = Event::of_watchdog(EventKind::EventsSuppressed { dropped });
                Some(News::Lost { sequence, json: self.bus.compose(&event, sequence, SystemTime::now()) })
            }
            Err(RecvError::Closed) => None,
        }
    }
}

fn server_sent(news: impl Stream<Item = News> + Send + 'static) -> Response {
    let events = news.map(|news| {
        let event = sse::Event::default();
        Ok::<_, Infallible>(match news {
            News::Event(record) => event.id(record.sequence.to_string()).data(&*record.json),
            News::Lost { sequence, json } => event.id(sequence.to_string()).data(json),
            News::Gap { since, oldest } => event.event("gap").data(News::gap(since, oldest)),
        })
    });
    Sse::new(events).keep_alive(KeepAlive::new().interval(KEEPALIVE).text("keepalive")).into_response()
}

fn json_lines(news: impl Stream<Item = News> + Send + 'static) -> Response {
    let lines = news.map(|news| {
        let line = match news {
            News::Event(record) => format!("{}\n", record.json),
            News::Lost { json, .. } => format!("{json}\n"),
            News::Gap { since, oldest } => format!("{{\"type\":\"gap\",\"data\":{}}}\n", News::gap(since, oldest)),
        };
        Ok::<_, Infallible>(Bytes::from(line))
    });
    ([(header::CONTENT_TYPE, JSON_LINES)], Body::from_stream(lines)).into_response()
}
