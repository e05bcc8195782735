//! Liveness, readiness, startup.

use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use tokio::time::Instant;
use tower::ServiceExt;

use crate::config::Require;
use crate::control::fake::{Fake, FakeSlot, count_connection};
use crate::control::router;

#[tokio::test(start_paused = true)]
async fn liveness_asks_the_tasks_and_not_the_servers() {
    let (failed, up) = (FakeSlot::failed("failed"), FakeSlot::connected("up"));
    let answer = Fake::new(&[&failed, &up]).get("/livez").await;
    assert_eq!((answer.status.as_u16(), &*answer.body, answer.media_type()), (200, "ok", "text/plain"));

    let fake = Fake::new(&[&up, &FakeSlot::connected("stopped")]);
    let asked = Instant::now();
    let answer = fake.get("/livez?verbose").await;
    assert_eq!(asked.elapsed(), Duration::from_secs(10));
    assert_eq!(answer.status, 503);
    let told = "[+]server:up ok\n[-]server:stopped failed: its task has not answered for 10 s\nlivez check failed\n";
    assert_eq!(answer.body, told);
    assert_eq!(fake.get("/livez?exclude=server:stopped").await.status, 200);
}

#[tokio::test]
async fn readiness_is_one_server_or_all_of_them() {
    let (up, down, off) = (FakeSlot::connected("up"), FakeSlot::failed("down"), FakeSlot::new("off"));
    off.paint(|slot| slot.enabled = false);
    let any = Fake::new(&[&up, &down, &off]);
    let all = Fake::that_requires(Require::All, &[&up, &down, &off]);
    for path in ["/readyz", "/healthz"] {
        assert_eq!((any.get(path).await.status.as_u16(), all.get(path).await.status.as_u16()), (200, 503), "{path}");
    }
    let told = all.get("/readyz?verbose").await.body;
    assert!(told.contains("[-]server:down failed: PermanentlyFailed\n"), "{told}");
    assert!(told.ends_with(
        "[-]servers failed: 1 of 2 enabled servers connected or standing by, all are needed\nreadyz check failed\n"
    ));
    assert_eq!(all.get("/readyz?exclude=server:down").await.status, 200);
    assert_eq!(all.get("/readyz?exclude=servers&exclude=shutdown").await.status, 200);
    let told = all.get("/readyz?verbose&exclude=x").await.body;
    assert!(told.contains("warn: there is no check \"x\" to exclude\n"), "{told}");

    up.paint(|slot| (slot.state, slot.status) = ("Reconnecting", "retrying"));
    assert_eq!(any.get("/readyz").await.status, 503);
    off.paint(|slot| slot.enabled = true);
    up.paint(|slot| slot.enabled = false);
    down.paint(|slot| slot.enabled = false);
    off.paint(|slot| slot.enabled = false);
    assert_eq!(all.get("/readyz").await.status, 503, "nobody is served where all are off");
    any.get("/readyz?verbos").await.is_problem(400, "invalid_request");
}

#[tokio::test]
async fn s123_readiness_in_the_words_of_document_001() {
    let up = FakeSlot::connected("up");
    up.handle.meter.clients.set(1);
    let fake = Fake::new(&[&up]);
    let ready = fake.get("/readyz?format=json").await;
    assert_eq!((ready.status.as_u16(), ready.media_type()), (200, "application/json"));
    let ready = ready.json();
    assert_eq!((&ready["status"], &ready["active_connections"]), (&"ready".into(), &1.into()));
    assert!(ready["uptime_secs"].is_u64());
    up.paint(|slot| slot.status = "retrying");
    let degraded = fake.get("/readyz?format=json").await;
    assert_eq!((degraded.status.as_u16(), degraded.json()["status"].as_str()), (503, Some("degraded")));
}

#[tokio::test]
async fn a_server_that_the_next_request_starts_is_ready() {
    let (up, idle) = (FakeSlot::connected("up"), FakeSlot::new("idle"));
    let fake = Fake::new(&[&idle]);
    assert_eq!(fake.get("/readyz").await.status, 503, "it is only about to be started");
    idle.paint(|slot| slot.standby = true);
    assert_eq!(fake.get("/readyz").await.status, 200);
    let all = Fake::that_requires(Require::All, &[&up, &idle]);
    assert_eq!(all.get("/readyz").await.status, 200);
    idle.paint(|slot| slot.enabled = false);
    assert_eq!(fake.get("/readyz").await.status, 503);
}

#[tokio::test]
async fn startup_is_every_server_once_and_stays() {
    let (one, lazy, off) = (FakeSlot::new("one"), FakeSlot::new("lazy"), FakeSlot::new("off"));
    lazy.paint(|slot| slot.lazy = true);
    off.paint(|slot| slot.enabled = false);
    let fake = Fake::new(&[&one, &lazy, &off]);
    assert_eq!(fake.get("/startupz").await.status, 503);
    count_connection(&one.handle.meter);
    one.paint(|slot| (slot.state, slot.status) = ("Reconnecting", "retrying"));
    assert_eq!(fake.get("/startupz").await.status, 200, "it was connected while nobody asked");
    let again = FakeSlot::new("one");
    fake.plane.handle().set_slots(vec![again.handle.clone()]);
    assert_eq!(fake.get("/startupz").await.status, 503, "another server has its name");
}

#[tokio::test]
async fn the_listener_of_probes_has_nothing_else() {
    let fake = Fake::new(&[&FakeSlot::connected("up")]);
    let probes = router::open(&fake.plane);
    for (path, status) in [
        ("/livez", 200),
        ("/readyz", 200),
        ("/healthz", 200),
        ("/startupz", 200),
        ("/metrics", 200),
        ("/mcp/servers", 404),
        ("/mcp/events", 404),
        ("/server_info", 404),
        ("/openapi.json", 404),
        ("/shutdown", 404),
    ] {
        let request = Request::get(path).header("host", "any.example").body(Body::empty()).unwrap();
        assert_eq!(probes.clone().oneshot(request).await.unwrap().status(), status, "{path}");
    }
    let request = Request::post("/shutdown").body(Body::empty()).unwrap();
    assert_eq!(probes.oneshot(request).await.unwrap().status(), 404);
}
