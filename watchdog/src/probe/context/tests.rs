use probe_api::{Snapshot, Trigger};
use serde_json::json;

use super::*;

const SECOND: Duration = Duration::from_secs(1);

struct Bench {
    subject: Subject,
    calls: mpsc::Sender<CallRequest>,
    requests: mpsc::Receiver<CallRequest>,
}

fn bench() -> Bench {
    let (calls, requests) = mpsc::channel(1);
    Bench { subject: Subject { snapshot: Snapshot::new("s", 1, Trigger::Manual), processes: None }, calls, requests }
}

impl Bench {
    fn context(&self, limit: Duration) -> ChannelContext<'_> {
        ChannelContext::new(&self.subject, &self.calls, LinkIndex(2), &[], Instant::now() + limit)
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_reaches_the_driver_and_its_answer_comes_back() {
    let mut bench = bench();
    let calls = bench.calls.clone();
    let cx = ChannelContext::new(&bench.subject, &calls, LinkIndex(2), &[], Instant::now() + SECOND);
    let driver = async {
        let request = bench.requests.recv().await.unwrap();
        assert_eq!(
            (request.link, request.method.as_str(), &request.params),
            (LinkIndex(2), "ping", &json!({ "a": 1 }))
        );
        request.reply.send(Ok(Reply::Result(json!({})))).unwrap();
    };
    let (reply, ()) = tokio::join!(cx.call("ping", json!({ "a": 1 }), SECOND), driver);
    assert_eq!((reply, cx.heard()), (Ok(Reply::Result(json!({}))), Heard::Answer));
    assert_eq!(cx.remaining(), SECOND, "no time has passed");
}

#[tokio::test(start_paused = true)]
async fn a_timeout_leaves_the_driver_with_a_closed_reply() {
    let mut bench = bench();
    let start = Instant::now();
    let cx = bench.context(SECOND);
    assert_eq!(cx.call("ping", Value::Null, SECOND / 2).await, Err(CallError::Timeout));
    assert_eq!((start.elapsed(), cx.heard()), (SECOND / 2, Heard::Silence));
    assert_eq!(cx.remaining(), SECOND / 2);
    let request = bench.requests.recv().await.unwrap();
    assert!(request.reply.is_closed(), "the driver sees that a late answer is late");
}

#[tokio::test(start_paused = true)]
async fn the_deadline_of_the_check_bounds_every_call() {
    let bench = bench();
    let start = Instant::now();
    let cx = bench.context(SECOND);
    assert_eq!(cx.call("ping", Value::Null, SECOND * 60).await, Err(CallError::Timeout));
    assert_eq!(start.elapsed(), SECOND);
    assert_eq!(cx.call("ping", Value::Null, SECOND).await, Err(CallError::Cancelled));
    assert_eq!((start.elapsed(), cx.remaining()), (SECOND, Duration::ZERO));
}

#[tokio::test(start_paused = true)]
async fn a_driver_that_takes_nothing_is_silence_too() {
    let bench = bench();
    let cx = bench.context(SECOND * 3);
    assert_eq!(cx.call("ping", Value::Null, SECOND).await, Err(CallError::Timeout));
    assert_eq!(cx.call("tools/list", Value::Null, SECOND).await, Err(CallError::Timeout), "the channel is full");
    assert_eq!(cx.heard(), Heard::Silence);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_goes_is_gone_at_once() {
    let mut bench = bench();
    let calls = bench.calls.clone();
    let cx = ChannelContext::new(&bench.subject, &calls, LinkIndex(0), &[], Instant::now() + SECOND);
    let start = Instant::now();
    let driver = async { drop(bench.requests.recv().await.unwrap().reply) };
    let (reply, ()) = tokio::join!(cx.call("ping", Value::Null, SECOND), driver);
    assert_eq!(reply, Err(CallError::Gone));
    drop(bench.requests);
    assert_eq!(cx.call("ping", Value::Null, SECOND).await, Err(CallError::Gone));
    assert_eq!((start.elapsed(), cx.heard()), (Duration::ZERO, Heard::Nothing));
}

#[tokio::test(start_paused = true)]
async fn an_unknown_method_is_told_from_other_answers_and_the_best_counts() {
    let mut bench = bench();
    let calls = bench.calls.clone();
    let cx = ChannelContext::new(&bench.subject, &calls, LinkIndex(0), &[], Instant::now() + SECOND);
    for (answer, heard) in [
        (Err(CallError::Cancelled), Heard::Nothing),
        (Err(CallError::Timeout), Heard::Silence),
        (Ok(Reply::Error(json!({ "code": -32601 }))), Heard::Unknown),
        (Err(CallError::Timeout), Heard::Unknown),
        (Ok(Reply::Error(json!({ "code": -32602 }))), Heard::Answer),
        (Ok(Reply::Error(json!({ "code": -32601 }))), Heard::Answer),
    ] {
        let driver = async { bench.requests.recv().await.unwrap().reply.send(answer.clone()).unwrap() };
        let (reply, ()) = tokio::join!(cx.call("ping", Value::Null, SECOND), driver);
        assert_eq!((reply, cx.heard()), (answer, heard));
    }
}

#[tokio::test(start_paused = true)]
async fn only_what_reads_may_be_asked() {
    let mut bench = bench();
    for method in ["tools/call", "initialize", "resources/read", "logging/setLevel", "subscriptions/listen", "list", ""]
    {
        let cx = bench.context(SECOND);
        assert_eq!(cx.call(method, Value::Null, SECOND).await, Err(CallError::Invalid), "{method}");
        assert_eq!(cx.heard(), Heard::Nothing);
    }
    assert!(bench.requests.try_recv().is_err(), "nothing was sent");
    for method in ["ping", "server/discover", "tools/list", "prompts/list", "resources/templates/list", "x-vendor/list"]
    {
        assert!(is_harmless(method), "{method}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_link_may_call_what_its_configuration_permits_and_no_more() {
    let (calls, mut requests) = mpsc::channel(1);
    let subject = Subject { snapshot: Snapshot::new("s", 1, Trigger::Manual), processes: None };
    let methods = ["tools/call".to_owned()];
    let cx = ChannelContext::new(&subject, &calls, LinkIndex(0), &methods, Instant::now() + SECOND);
    let driver = async {
        let request: CallRequest = requests.recv().await.unwrap();
        request.reply.send(Ok(Reply::Result(json!({ "of": request.method })))).unwrap();
    };
    let (reply, ()) = tokio::join!(cx.call("tools/call", Value::Null, SECOND), driver);
    assert_eq!(reply, Ok(Reply::Result(json!({ "of": "tools/call" }))));
    assert_eq!(cx.call("resources/read", Value::Null, SECOND).await, Err(CallError::Invalid));
    assert!(requests.try_recv().is_err(), "nothing was sent");
}
