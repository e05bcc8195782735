use probe_api::{CallError, Context as _, Era, Reply, Snapshot, Trigger, async_trait};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::*;
use crate::config::{self, ChainMode};
use crate::core::chain::{Evidence, Outcome};
use crate::probe::Registry;
use crate::telemetry::LogHandle;

const SECOND: Duration = Duration::from_secs(1);
const TOTAL: Duration = Duration::from_secs(10);
const ANY: ChainPolicy = ChainPolicy { mode: ChainMode::Any, confirmations: 1 };

/// A probe made of a function.
struct Scripted<F>(F);

#[async_trait]
impl<F, C> Probe for Scripted<F>
where
    F: FnMut() -> C + Send + 'static,
    C: Future<Output = Verdict> + Send + 'static,
{
    async fn check(&mut self, _cx: &dyn probe_api::Context) -> Verdict {
        (self.0)().await
    }
}

fn link<F, C>(name: &str, check: F) -> LoadedLink
where
    F: FnMut() -> C + Send + 'static,
    C: Future<Output = Verdict> + Send + 'static,
{
    LoadedLink {
        broken: Arc::default(),
        name: name.to_owned(),
        timeout: 3 * SECOND,
        skippable: false,
        methods: Vec::new(),
        probe: Box::new(Scripted(check)),
    }
}

/// The default chain: a ping, then `tools/list`.
fn default_links() -> Vec<LoadedLink> {
    let chain = ["ping", "tools_list"].map(|kind| config::Link::new(kind, json!({})));
    let mut server = crate::core::testing::server();
    server.probe.timeout = 3 * SECOND;
    server.probe.chain = chain.to_vec();
    Registry::with_builtins().load(&server, &LogHandle::discard()).unwrap()
}

fn subject(era: Era) -> Subject {
    let mut snapshot = Snapshot::new("s", 1, Trigger::ToolTimeout);
    snapshot.era = Some(era);
    Subject { snapshot, processes: None }
}

/// Runs a chain against a server that answers as `server` says, or never where it says nothing.
async fn run_against(
    links: &mut [LoadedLink],
    policy: ChainPolicy,
    total: Duration,
    mut server: impl FnMut(&CallRequest) -> Option<Result<Reply, CallError>>,
) -> (Report, Vec<String>) {
    let (calls, mut requests) = mpsc::channel::<CallRequest>(4);
    let mut seen = Vec::new();
    let subject = subject(Era::Handshake);
    let report = {
        let driver = async {
            let mut silent = Vec::new();
            while let Some(request) = requests.recv().await {
                seen.push(request.method.clone());
                match server(&request) {
                    Some(outcome) => request.reply.send(outcome).unwrap(),
                    None => silent.push(request),
                }
            }
        };
        let chain = chain(links, policy, &Latches::default());
        tokio::select! {
            report = run(links, chain, &subject, &calls, total) => report,
            () = driver => panic!("the driver ended first"),
        }
    };
    (report, seen)
}

async fn run_alone(links: &mut [LoadedLink], policy: ChainPolicy) -> Report {
    run_against(links, policy, TOTAL, |_| None).await.0
}

fn judge(report: &Report) -> Outcome {
    report.chain.finish(&Evidence::default())
}

#[tokio::test(start_paused = true)]
async fn the_first_answer_ends_the_chain() {
    let answer = Ok(Reply::Error(json!({ "code": -32603 })));
    let (report, seen) = run_against(&mut default_links(), ANY, TOTAL, |_| Some(answer.clone())).await;
    assert_eq!((judge(&report), seen), (Outcome::Alive, vec!["ping".to_owned()]));
    assert_eq!(report.links.len(), 1);
    let first = &report.links[0];
    assert_eq!((first.name.as_str(), &first.verdict, first.heard), ("ping", &Verdict::Pass, Heard::Answer));
}

#[tokio::test(start_paused = true)]
async fn a_silent_server_costs_the_limit_of_each_link() {
    let (report, seen) = run_against(&mut default_links(), ANY, TOTAL, |_| None).await;
    assert_eq!(seen, ["ping", "tools/list"]);
    let dead = "ping: no answer to ping within 3s; tools_list: no answer to tools/list within 3s";
    assert_eq!(judge(&report), Outcome::Dead(dead.into()));
    assert_eq!(report.elapsed, 6 * SECOND);
    assert!(report.links.iter().all(|link| link.elapsed == 3 * SECOND && link.heard == Heard::Silence));
    assert!(!report.chain.any_reply());
}

#[tokio::test(start_paused = true)]
async fn a_ping_that_is_ignored_is_left_out_of_the_next_chain() {
    let mut links = default_links();
    let list = |request: &CallRequest| (request.method == "tools/list").then_some(Ok(Reply::Result(Value::Null)));
    let (report, seen) = run_against(&mut links, ANY, TOTAL, list).await;
    assert_eq!((judge(&report), seen), (Outcome::Alive, vec!["ping".to_owned(), "tools/list".to_owned()]));
    let mut latches = Latches::default();
    latches.learn(&report.chain);
    assert_eq!(chain(&links, ANY, &latches).next_link(), Some(LinkIndex(1)));
}

#[tokio::test(start_paused = true)]
async fn an_unknown_ping_is_life_and_is_told_apart() {
    let unknown = Ok(Reply::Error(json!({ "code": -32601 })));
    let mut links = default_links();
    let (report, _) = run_against(&mut links, ANY, TOTAL, |_| Some(unknown.clone())).await;
    assert_eq!((judge(&report), report.links[0].heard), (Outcome::Alive, Heard::Unknown));
    let mut latches = Latches::default();
    latches.learn(&report.chain);
    assert_eq!(chain(&links, ANY, &latches).next_link(), Some(LinkIndex(1)));
}

#[tokio::test(start_paused = true)]
async fn a_short_total_is_shared_between_the_links() {
    let list = |request: &CallRequest| (request.method == "tools/list").then_some(Ok(Reply::Result(Value::Null)));
    let (report, _) = run_against(&mut default_links(), ANY, 2 * SECOND, list).await;
    assert_eq!((judge(&report), report.elapsed), (Outcome::Alive, SECOND), "the ping got one half of it");
    let (report, _) = run_against(&mut default_links(), ANY, 2 * SECOND, |_| None).await;
    assert_eq!(report.elapsed, 2 * SECOND);
    assert!(matches!(judge(&report), Outcome::Dead(_)));
}

#[tokio::test(start_paused = true)]
async fn all_rounds_of_a_confirmation_share_one_total() {
    let twice = ChainPolicy { confirmations: 2, ..ANY };
    let (report, seen) = run_against(&mut default_links(), twice, TOTAL, |_| None).await;
    assert_eq!(seen, ["ping", "tools/list", "ping", "tools/list"]);
    assert_eq!(report.elapsed, TOTAL, "and not four times three seconds");
    assert!(matches!(judge(&report), Outcome::Dead(_)));
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_does_not_end_is_dropped_and_says_nothing() {
    let mut links = [link("stuck", std::future::pending), link("fine", || async { Verdict::Pass })];
    let report = run_alone(&mut links, ANY).await;
    let stuck = Verdict::Inconclusive("the probe did not end in time".into());
    assert_eq!((&report.links[0].verdict, judge(&report)), (&stuck, Outcome::Alive));
    assert_eq!(report.elapsed, 3 * SECOND + GRACE);
    let mut links = [link("stuck", std::future::pending)];
    assert!(matches!(judge(&run_alone(&mut links, ANY).await), Outcome::Undecided(_)));
}

#[tokio::test(start_paused = true)]
async fn a_link_has_its_own_limit() {
    let slow = || async {
        sleep(SECOND).await;
        Verdict::Pass
    };
    let mut links = [LoadedLink { timeout: SECOND / 2, ..link("slow", slow) }, link("slow", slow)];
    let report = run_alone(&mut links, ANY).await;
    assert!(matches!(report.links[0].verdict, Verdict::Inconclusive(_)));
    assert_eq!((&report.links[1].verdict, report.links[1].elapsed), (&Verdict::Pass, SECOND));
}

/// Throws when it is dropped.
struct Mine;

impl Drop for Mine {
    fn drop(&mut self) {
        panic!("thrown by drop");
    }
}

#[tokio::test(start_paused = true)]
async fn panics_of_a_probe_are_contained() {
    let mut times = 0;
    let sometimes = move || {
        times += 1;
        let first = times == 1;
        async move {
            sleep(SECOND).await;
            assert!(!first, "after an await");
            Verdict::Pass
        }
    };
    let trapped = || async {
        let _mine = Mine;
        std::future::pending().await
    };
    let payload = || async { std::panic::panic_any(Mine) };
    let begins: fn() -> std::future::Ready<Verdict> = || panic!("at once {}", 7);
    let mut links =
        [link("sometimes", sometimes), link("trapped", trapped), link("payload", payload), link("begins", begins)];
    let report = run_alone(&mut links, ANY).await;
    let verdicts: Vec<_> = report.links.iter().map(|link| link.verdict.clone()).collect();
    let expected = [
        "the probe panicked: after an await",
        "the probe did not end in time",
        "the probe panicked: without a message",
        "the probe panicked: at once 7",
    ];
    assert_eq!(verdicts, expected.map(|text| Verdict::Inconclusive(text.into())));
    assert!(matches!(judge(&report), Outcome::Undecided(_)));
    let report = run_alone(&mut links, ANY).await;
    assert_eq!(report.links[0].verdict, Verdict::Pass, "it can be asked again");
}

#[tokio::test(start_paused = true)]
async fn a_chain_over_other_links_harms_nobody() {
    let (calls, _requests) = mpsc::channel(1);
    let chain = chain(&default_links(), ANY, &Latches::default());
    let report = run(&mut [], chain, &subject(Era::Handshake), &calls, TOTAL).await;
    assert!(matches!(judge(&report), Outcome::Undecided(_)));
}

#[tokio::test(start_paused = true)]
async fn a_probe_sees_its_share_of_the_time() {
    struct Look;
    #[async_trait]
    impl Probe for Look {
        async fn check(&mut self, cx: &dyn probe_api::Context) -> Verdict {
            Verdict::Busy(format!("{:?}", cx.remaining()))
        }
    }
    let all = ChainPolicy { mode: ChainMode::All, confirmations: 1 };
    let look = || LoadedLink { probe: Box::new(Look), ..link("look", || async { Verdict::Pass }) };
    let (report, _) = run_against(&mut [look(), look()], all, 4 * SECOND, |_| None).await;
    let verdicts: Vec<_> = report.links.iter().map(|link| link.verdict.clone()).collect();
    assert_eq!(verdicts, [Verdict::Busy("2s".into()), Verdict::Busy("3s".into())], "what is saved goes to the next");
}

#[test]
fn a_run_can_be_spawned() {
    fn is_send<T: Send>(value: T) -> T {
        value
    }
    let (calls, _requests) = mpsc::channel(1);
    let mut links = default_links();
    let chain = chain(&links, ANY, &Latches::default());
    drop(is_send(run(&mut links, chain, &subject(Era::Handshake), &calls, TOTAL)));
    let cx = ChannelContext::new(&subject(Era::Stateless), &calls, LinkIndex(0), &[], Instant::now()).remaining();
    assert_eq!(cx, Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn time_in_which_the_watchdog_itself_stood_still_condemns_nobody_and_is_given_back() {
    let stopped = || async {
        tokio::time::advance(12 * SECOND).await;
        Verdict::Fail("too late".into())
    };
    let mut links = [link("stopped", stopped), link("asks", || async { Verdict::Pass })];
    let report = run_alone(&mut links, ANY).await;
    assert_eq!(judge(&report), Outcome::Alive, "the next link had its turn");
    let reason = Verdict::Inconclusive("the watchdog itself was held up for 8 s".into());
    assert_eq!(report.links[0].verdict, reason);
    let mut alone = [link("stopped", stopped)];
    let report = run_alone(&mut alone, ANY).await;
    assert!(matches!(judge(&report), Outcome::Undecided(_)));
}

#[tokio::test(start_paused = true)]
async fn a_link_for_which_no_time_is_left_is_not_asked_and_condemns_nobody() {
    let long = || async {
        sleep(Duration::from_secs(2)).await;
        Verdict::Unsupported
    };
    let mut links = [link("long", long), link("late", || async { Verdict::Fail("asked".into()) })];
    let report = {
        let (calls, _requests) = mpsc::channel(1);
        let chain = chain(&links, ANY, &Latches::default());
        run(&mut links, chain, &subject(Era::Handshake), &calls, Duration::ZERO).await
    };
    assert!(report.links.iter().all(|link| matches!(link.verdict, Verdict::Inconclusive(_))), "{:?}", report.links);
}
