//! The API over slots that are only channels: no process, no socket.

mod asking;
mod document;
mod events;
mod probes;
pub(super) mod schema;

use std::io;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{Method, header};
use futures_util::stream::{self, StreamExt};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::control::fake::{Fake, FakeSlot};
use crate::engine::Order;

#[tokio::test]
async fn s168_s222_every_server_is_listed_whatever_its_state() {
    let (up, failed, off) = (FakeSlot::connected("up"), FakeSlot::failed("failed"), FakeSlot::new("off"));
    off.paint(|slot| (slot.enabled, slot.state, slot.status) = (false, "Disabled", "disconnected"));
    let fake = Fake::new(&[&up, &failed, &off]);
    let list = fake.get("/mcp/servers").await.json();
    let told: Vec<_> =
        list["servers"].as_array().unwrap().iter().map(|server| (&server["id"], &server["status"])).collect();
    let (up, failed, off) = (json!("up"), json!("failed"), json!("off"));
    assert_eq!(told, [(&up, &json!("connected")), (&failed, &json!("failed")), (&off, &json!("disconnected"))]);
}

#[tokio::test]
async fn s225_one_server_comes_with_its_latest_events_only() {
    let (one, two) = (FakeSlot::connected("one"), FakeSlot::connected("two"));
    let fake = Fake::new(&[&one, &two]);
    events::happen(&fake, "one");
    events::happen(&fake, "two");
    for path in ["/mcp/servers/one", "/mcp/servers/one/status"] {
        let detail = fake.get(path).await.json();
        assert_eq!((&detail["name"], &detail["state"]), (&json!("one"), &json!("Connected")));
        let history: Vec<_> = detail["history"].as_array().unwrap().iter().map(|event| &event["server"]).collect();
        assert_eq!(history, ["one"]);
    }
}

#[tokio::test]
async fn an_unknown_server_is_told_with_those_that_there_are() {
    let fake = Fake::new(&[&FakeSlot::new("memory"), &FakeSlot::new("files")]);
    for (method, rest) in [
        (Method::GET, ""),
        (Method::GET, "/status"),
        (Method::GET, "/catalog"),
        (Method::GET, "/logs"),
        (Method::POST, "/retry"),
        (Method::POST, "/restart"),
        (Method::POST, "/enable"),
        (Method::POST, "/disable"),
        (Method::POST, "/probe"),
    ] {
        let answer = fake.request(method, &format!("/mcp/servers/memroy{rest}")).await;
        let problem = answer.is_problem(404, "server_not_found");
        assert_eq!(problem["detail"], "Server 'memroy' not found (did you mean \"memory\"?); there are: memory, files");
    }
    fake.get("/mcp/events?server=memroy").await.is_problem(404, "server_not_found");
}

#[tokio::test]
async fn s223_s218_a_retry_is_taken_up_in_every_state_but_disabled() {
    let (failed, off) = (FakeSlot::failed("failed"), FakeSlot::new("off"));
    off.paint(|slot| slot.enabled = false);
    let fake = Fake::new(&[&failed, &off]);
    let answer = fake.post("/mcp/servers/failed/retry").await;
    assert_eq!(answer.status, 202);
    assert_eq!(answer.json()["accepted"], true);
    assert_eq!(fake.post("/mcp/servers/failed/restart").await.status, 202);
    assert_eq!(failed.retries.load(Ordering::Relaxed), 2);
    fake.post("/mcp/servers/off/retry").await.is_problem(409, "server_disabled");
}

#[tokio::test(start_paused = true)]
async fn a_retry_with_wait_tells_what_came_of_it() {
    let fake = Fake::new(&[&FakeSlot::failed("failed"), &FakeSlot::failed("stubborn")]);
    let answer = fake.post("/mcp/servers/failed/retry?wait=30s").await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.json()["state"], "Connected");
    let asked = Instant::now();
    fake.post("/mcp/servers/stubborn/retry?wait=1500ms").await.is_problem(504, "server_reconnecting");
    assert_eq!(asked.elapsed(), Duration::from_millis(1500));
    for wait in ["wait=", "wait=soon", "wait=601s", "wiat=1s"] {
        fake.post(&format!("/mcp/servers/failed/retry?{wait}")).await.is_problem(400, "invalid_request");
    }
}

#[tokio::test]
async fn s224_s233_retry_all_means_the_failed_ones_unless_told_otherwise() {
    let (up, failed, off) = (FakeSlot::connected("up"), FakeSlot::failed("failed"), FakeSlot::new("off"));
    off.paint(|slot| slot.enabled = false);
    let fake = Fake::new(&[&up, &failed, &off]);
    let answer = fake.post("/mcp/servers/retry-all").await;
    assert_eq!(answer.status, 202);
    let all = answer.json();
    assert_eq!(all["accepted"][0]["server"], "failed");
    assert_eq!(
        all["skipped"],
        json!([{"id": "up", "reason": "connected"}, {"id": "off", "reason": "server_disabled"}])
    );
    let any = fake.post("/mcp/servers/retry-all?state=any").await.json();
    assert_eq!((any["accepted"].as_array().unwrap().len(), any["skipped"].as_array().unwrap().len()), (2, 1));
    assert_eq!((up.retries.load(Ordering::Relaxed), failed.retries.load(Ordering::Relaxed)), (1, 2));
    fake.post("/mcp/servers/retry-all?state=all").await.is_problem(400, "invalid_request");
}

#[tokio::test]
async fn servers_are_switched_off_and_on_and_it_is_remembered() {
    let mut fake = Fake::new(&[&FakeSlot::connected("one")]);
    for (verb, enabled) in [("disable", false), ("disable", false), ("enable", true), ("enable", true)] {
        let answer = fake.post(&format!("/mcp/servers/one/{verb}")).await;
        assert_eq!((answer.status.as_u16(), &answer.json()["enabled"]), (200, &json!(enabled)));
        assert!(matches!(fake.orders.try_recv(), Ok(Order::Remember { enabled: said, .. }) if said == enabled));
    }
}

#[tokio::test]
async fn probes_catalogs_and_logs_are_told() {
    let (up, down) = (FakeSlot::connected("up"), FakeSlot::failed("down"));
    let fake = Fake::new(&[&up, &down]);
    assert_eq!(fake.post("/mcp/servers/up/probe").await.json()["verdict"], "alive");
    fake.post("/mcp/servers/down/probe").await.is_problem(409, "server_disconnected");

    let catalog = fake.get("/mcp/servers/up/catalog").await.json();
    assert_eq!(catalog["tools"], json!({ "generation": 1, "complete": true, "names": ["echo"] }));
    assert!(catalog["prompts"].is_null());
    for (full, shown) in [("full=1", true), ("full", true), ("full=0", false)] {
        let catalog = fake.get(&format!("/mcp/servers/up/catalog?{full}")).await.json();
        assert_eq!(catalog["tools"]["pages"].is_array(), shown, "{full}");
    }
    fake.get("/mcp/servers/up/catalog?full=yes").await.is_problem(400, "invalid_request");

    assert_eq!(fake.get("/mcp/servers/up/logs?tail=3").await.json()["lines"], json!(["0", "1", "2"]));
    assert_eq!(fake.get("/mcp/servers/up/logs").await.json()["lines"].as_array().unwrap().len(), 200);
    fake.get("/mcp/servers/up/logs?tail=-1").await.is_problem(400, "invalid_request");
}

#[tokio::test]
async fn what_changes_something_is_posted_without_a_body_or_with_an_empty_one() {
    let fake = Fake::new(&[&FakeSlot::failed("one")]);
    let path = "/mcp/servers/one/retry";
    let refused = fake.get(path).await;
    refused.is_problem(405, "method_not_allowed");
    assert_eq!(refused.headers[header::ALLOW], "POST");
    fake.request(Method::DELETE, path).await.is_problem(405, "method_not_allowed");
    assert_eq!(fake.post("/mcp/servers").await.headers[header::ALLOW], "GET,HEAD");

    let json_type = "application/json; charset=utf-8";
    assert_eq!(fake.carry(path, json_type, "").await.status, 202);
    assert_eq!(fake.carry(path, json_type, " {} ").await.status, 202);
    for form in ["application/x-www-form-urlencoded", "text/plain", "multipart/form-data; boundary=x"] {
        fake.carry(path, form, "wait=1s").await.is_problem(415, "unsupported_media_type");
        fake.carry(path, form, "").await.is_problem(415, "unsupported_media_type");
    }
    for body in [r#"{"wait":"1s"}"#, "[]", "{", "null"] {
        fake.carry(path, json_type, body).await.is_problem(400, "invalid_request");
    }
    fake.carry(path, json_type, " ".repeat(64 * 1024 + 1)).await.is_problem(413, "content_too_large");
}

#[tokio::test(start_paused = true)]
async fn a_body_that_does_not_come_is_not_waited_for() {
    let fake = Fake::new(&[&FakeSlot::failed("one")]);
    let silent = || Body::from_stream(stream::pending::<io::Result<Bytes>>());
    let endless = || {
        Body::from_stream(stream::repeat(()).then(|()| async {
            sleep(Duration::from_secs(3)).await;
            io::Result::Ok(Bytes::from_static(b" "))
        }))
    };
    for path in
        ["/mcp", "/mcp/servers/one/retry", "/mcp/servers/one/retry?wait=1m", "/mcp/servers/one/probe", "/shutdown"]
    {
        for body in [silent(), endless()] {
            let asked = Instant::now();
            let answer = fake.carry(path, "application/json", body).await;
            answer.is_problem(408, "timeout");
            assert_eq!(asked.elapsed(), Duration::from_secs(10));
            assert_eq!(answer.headers[header::CONNECTION], "close");
        }
    }
    let slow = stream::iter(["{", " ", "}"]).then(|piece| async move {
        sleep(Duration::from_secs(3)).await;
        io::Result::Ok(piece)
    });
    let answer = fake.carry("/mcp/servers/one/retry", "application/json", Body::from_stream(slow)).await;
    assert_eq!(answer.status, 202);
}

#[tokio::test]
async fn errors_have_one_form_everywhere() {
    let fake = Fake::new(&[&FakeSlot::new("one")]);
    fake.get("/").await.is_problem(404, "not_found");
    fake.get("/mcp/servers/one/x").await.is_problem(404, "not_found");
    fake.get("/mcp/servers?x=1").await.is_problem(400, "invalid_request");
    fake.get("/mcp/servers/%FF").await.is_problem(400, "invalid_request");
    let answer = fake.get("/mcp/servers").await;
    assert_eq!(answer.headers[header::CACHE_CONTROL], "no-store");
    assert_eq!(answer.headers[header::X_CONTENT_TYPE_OPTIONS], "nosniff");
}

#[tokio::test]
async fn a_reload_answers_with_what_changed_or_why_nothing_did() {
    let mut fake = Fake::new(&[]);
    let answers = tokio::spawn({
        let (_keep, orders) = tokio::sync::mpsc::unbounded_channel();
        let mut orders = std::mem::replace(&mut fake.orders, orders);
        async move {
            let mut outcomes = vec![Err("line 3".to_owned()), Ok(vec!["memory: command".to_owned()])];
            while let Some(Order::Reload(answer)) = orders.recv().await {
                answer.send(outcomes.pop().unwrap()).unwrap();
            }
        }
    });
    assert_eq!(fake.post("/config/reload").await.json(), json!({ "changed": ["memory: command"] }));
    let problem = fake.post("/config/reload").await.is_problem(422, "config_rejected");
    assert_eq!(problem["detail"], "line 3");
    answers.abort();
}

#[tokio::test(start_paused = true)]
async fn a_reload_that_takes_a_while_is_waited_for() {
    let mut fake = Fake::new(&[]);
    let (_keep, orders) = tokio::sync::mpsc::unbounded_channel();
    let mut orders = std::mem::replace(&mut fake.orders, orders);
    tokio::spawn(async move {
        let Some(Order::Reload(answer)) = orders.recv().await else { panic!("a reload is asked for") };
        sleep(Duration::from_secs(90)).await;
        answer.send(Ok(Vec::new())).unwrap();
    });
    assert_eq!(fake.post("/config/reload").await.json(), json!({ "changed": [] }));
}

#[tokio::test]
async fn a_shutdown_is_an_order_and_ends_readiness() {
    let mut fake = Fake::new(&[&FakeSlot::connected("one")]);
    assert_eq!(fake.get("/readyz").await.status, 200);
    assert_eq!(fake.post("/shutdown").await.status, 202);
    assert!(matches!(fake.orders.try_recv(), Ok(Order::Shutdown)));
    assert_eq!(fake.get("/readyz").await.status, 503);
    assert_eq!(fake.get("/livez").await.status, 200);
}

#[tokio::test]
async fn the_watchdog_tells_what_it_is() {
    let fake = Fake::new(&[]);
    let info = fake.get("/server_info").await.json();
    assert_eq!((&info["name"], &info["probes"]), (&json!("mcp-watchdog"), &json!(["ping"])));
    assert_eq!((&info["configFile"], &info["pid"]), (&json!("/etc/x.yaml"), &json!(std::process::id())));
    let features = if cfg!(feature = "plugins") { json!(["plugins"]) } else { json!([]) };
    assert_eq!((&info["configSha256"], &info["features"]), (&Value::Null, &features));
    fake.plane.handle().set_config_sha256(Some("ab01".to_owned()));
    assert_eq!(fake.get("/server_info").await.json()["configSha256"], "ab01");
}
