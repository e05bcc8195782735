//! Listening to events.

use std::time::{Duration, SystemTime};

use axum::body::{Body, BodyDataStream};
use axum::http::{Request, header};
use futures_util::StreamExt;
use serde_json::Value;

use crate::control::fake::{Fake, FakeSlot};
use crate::events::{Event, EventKind};

pub(super) fn happen(fake: &Fake, server: &str) {
    let event = Event::of_server(EventKind::ServerHealthRestored, server.into(), Some(1));
    fake.events.publish(event, SystemTime::UNIX_EPOCH);
}

/// An open answer, read piece by piece.
struct Hearing(BodyDataStream);

impl Hearing {
    async fn next(&mut self) -> Option<String> {
        let piece = tokio::time::timeout(Duration::from_secs(60), self.0.next()).await.expect("something is told");
        piece.map(|piece| String::from_utf8(piece.unwrap().to_vec()).unwrap())
    }

    /// The number and the JSON of the next event.
    async fn event(&mut self) -> (String, Value) {
        let text = self.next().await.expect("the stream goes on");
        let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default().to_owned();
        (field("id: "), serde_json::from_str(&field("data: ")).unwrap_or_else(|error| panic!("{error}: {text}")))
    }

    async fn ids(&mut self, count: usize) -> Vec<String> {
        let mut ids = Vec::new();
        for _ in 0..count {
            ids.push(self.event().await.0);
        }
        ids
    }
}

async fn listen(fake: &Fake, query: &str, headers: &[(&str, &str)]) -> Hearing {
    let mut request = Request::get(format!("/mcp/events{query}"));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = fake.ask(request.body(Body::empty()).unwrap()).await;
    assert_eq!(response.status(), 200);
    let wanted = headers.iter().find(|(name, _)| *name == "accept").map_or("text/event-stream", |(_, value)| value);
    assert_eq!(response.headers()[header::CONTENT_TYPE], wanted);
    Hearing(response.into_body().into_data_stream())
}

#[tokio::test(start_paused = true)]
async fn events_are_told_as_they_happen_and_a_silence_is_filled() {
    let fake = Fake::new(&[]);
    let mut hearing = listen(&fake, "", &[]).await;
    happen(&fake, "one");
    let (id, event) = hearing.event().await;
    assert_eq!((&*id, &event["type"], &event["seq"]), ("1", &"server_health_restored".into(), &1.into()));
    let before = tokio::time::Instant::now();
    assert_eq!(hearing.next().await.unwrap().trim(), ": keepalive");
    assert_eq!(before.elapsed().as_secs(), 15);
}

#[tokio::test]
async fn who_comes_again_gets_what_it_missed() {
    let fake = Fake::new(&[]);
    for _ in 0..4 {
        happen(&fake, "one");
    }
    assert_eq!(listen(&fake, "?since=1", &[]).await.ids(3).await, ["2", "3", "4"]);
    let mut again = listen(&fake, "?since=1", &[("last-event-id", "3")]).await;
    assert_eq!(again.ids(1).await, ["4"], "the newer of the two counts");
    happen(&fake, "one");
    assert_eq!(again.ids(1).await, ["5"]);
}

#[tokio::test]
async fn what_the_ring_does_not_hold_any_more_is_a_gap() {
    let fake = Fake::new(&[]);
    for _ in 0..6 {
        happen(&fake, "one");
    }
    let mut hearing = listen(&fake, "?since=1", &[]).await;
    let gap = hearing.next().await.unwrap();
    assert!(gap.starts_with("event: gap\n") && gap.contains(r#"data: {"oldest":3,"since":1}"#), "{gap}");
    assert_eq!(hearing.ids(4).await, ["3", "4", "5", "6"]);
    let mut of_another_process = listen(&fake, "?since=99", &[]).await;
    assert!(of_another_process.next().await.unwrap().starts_with("event: gap\n"));
    happen(&fake, "one");
    assert_eq!(of_another_process.ids(1).await, ["7"]);
}

#[tokio::test]
async fn servers_and_types_are_picked() {
    let fake = Fake::new(&[&FakeSlot::new("one"), &FakeSlot::new("two"), &FakeSlot::new("three")]);
    let mut hearing = listen(&fake, "?server=one,three&type=server_health_restored", &[]).await;
    happen(&fake, "two");
    fake.events.publish(Event::of_server(EventKind::ServerAdded, "one".into(), None), SystemTime::UNIX_EPOCH);
    happen(&fake, "three");
    happen(&fake, "one");
    assert_eq!(hearing.ids(2).await, ["3", "4"]);
}

#[tokio::test]
async fn a_type_that_there_is_not_is_told_with_those_that_there_are() {
    let fake = Fake::new(&[]);
    for query in ["type=server_exitd", "type=server_added,server_exitd"] {
        let problem = fake.get(&format!("/mcp/events?{query}")).await.is_problem(400, "invalid_request");
        let detail = problem["detail"].as_str().unwrap();
        let start = r#"there is no type of event "server_exitd" (did you mean "server_exited"?); there are: "#;
        assert!(detail.starts_with(start), "{detail}");
        assert!(EventKind::NAMES.iter().all(|name| detail.contains(name)), "{detail}");
    }
    let every = EventKind::NAMES.join(",");
    for query in [format!("?type={every}"), "?type=&server=".to_owned(), "?type=,".to_owned()] {
        let mut all = listen(&fake, &query, &[]).await;
        happen(&fake, "one");
        assert_eq!(all.event().await.1["type"], "server_health_restored", "{query}");
    }
}

#[tokio::test]
async fn a_listener_that_is_too_slow_is_told_how_much_it_lost() {
    let fake = Fake::new(&[]);
    let mut hearing = listen(&fake, "", &[]).await;
    for _ in 0..7 {
        happen(&fake, "one");
    }
    let (id, lost) = hearing.event().await;
    assert_eq!((&*id, &lost["type"], &lost["data"]["dropped"]), ("3", &"events_suppressed".into(), &3.into()));
    assert_eq!(hearing.ids(4).await, ["4", "5", "6", "7"]);
}

#[tokio::test]
async fn json_lines_for_whoever_accepts_them() {
    let fake = Fake::new(&[]);
    for _ in 0..5 {
        happen(&fake, "one");
    }
    let mut hearing = listen(&fake, "?since=0", &[("accept", "application/x-ndjson")]).await;
    let gap: Value = serde_json::from_str(&hearing.next().await.unwrap()).unwrap();
    assert_eq!((&gap["type"], &gap["data"]["oldest"]), (&"gap".into(), &2.into()));
    let line = hearing.next().await.unwrap();
    assert!(line.ends_with("}\n") && line.contains(r#""seq":2"#), "{line}");
}

#[tokio::test]
async fn the_last_words_are_told_before_the_stream_ends() {
    let fake = Fake::new(&[]);
    let mut hearing = listen(&fake, "", &[]).await;
    happen(&fake, "one");
    happen(&fake, "one");
    fake.closing.send_replace(true);
    assert_eq!(hearing.ids(2).await, ["1", "2"]);
    assert_eq!(hearing.next().await, None);
}

#[tokio::test]
async fn listeners_leave_room_for_commands() {
    let fake = Fake::new(&[]);
    let mut all = Vec::new();
    for _ in 0..super::super::LISTENERS {
        all.push(listen(&fake, "", &[]).await);
    }
    fake.get("/mcp/events").await.is_problem(503, "overloaded");
    all.pop();
    let _room = listen(&fake, "", &[]).await;
    fake.get("/mcp/events?sinc=1").await.is_problem(400, "invalid_request");
}
