//! A host in the test drives the descriptor that the macro would export.

#![expect(unsafe_code, reason = "the border, from its other side")]

use std::cell::RefCell;
use std::ffi::{CStr, c_void};
use std::mem::offset_of;
use std::panic::panic_any;
use std::time::Duration;

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Value, json};

use super::*;
use crate::abi::{Check, Host, Str, call, log, verdict};
use crate::{ConfigError, Context, Era, Probe, ProcessState, Trigger, Verdict};

/// What the host of this thread was told, and what it says.
#[derive(Default)]
struct Told {
    details: Vec<String>,
    log: Vec<(i32, String)>,
    calls: Vec<(String, String, u32)>,
    code: i32,
    /// `None`: a null.
    reply: Option<&'static [u8]>,
}

thread_local! {
    static TOLD: RefCell<Told> = RefCell::default();
}

fn told() -> Told {
    TOLD.take()
}

fn read(text: Str) -> String {
    // SAFETY: the plugin lends its text for the call.
    unsafe { border::text(&text) }.into_owned()
}

unsafe extern "C" fn host_call(_: *mut Check, method: Str, params: Str, timeout_ms: u32, reply: *mut Str) -> i32 {
    TOLD.with_borrow_mut(|told| {
        told.calls.push((read(method), read(params), timeout_ms));
        if let Some(bytes) = told.reply {
            // SAFETY: the plugin hands over a place for the reply.
            unsafe { reply.write(Str { ptr: bytes.as_ptr().cast(), len: bytes.len() }) };
        }
        told.code
    })
}

unsafe extern "C" fn host_remaining_ms(_: *mut Check) -> i64 {
    1500
}

unsafe extern "C" fn host_detail(_: *mut Check, text: Str) {
    TOLD.with_borrow_mut(|told| told.details.push(read(text)));
}

unsafe extern "C" fn host_log(_: *mut Check, level: i32, text: Str) {
    TOLD.with_borrow_mut(|told| told.log.push((level, read(text))));
}

const HOST: Host = Host {
    size: size_of::<Host>() as u32,
    abi_major: ABI_MAJOR,
    abi_minor: ABI_MINOR,
    call: host_call,
    remaining_ms: host_remaining_ms,
    detail: host_detail,
    log: host_log,
};

const PLUGIN: Plugin = descriptor::<Scripted>(
    __terminated!(Scripted::NAME),
    __terminated!("1.2.3"),
    __terminated!(Scripted::CONFIG_SCHEMA),
);

const NO_CHECK: *mut Check = std::ptr::null_mut();

/// An instance, ended with the test.
struct Instance(*mut c_void);

impl Instance {
    fn of(config: &str) -> Option<Self> {
        Self::on(&HOST, config)
    }

    fn on(host: &Host, config: &str) -> Option<Self> {
        // SAFETY: as a host does it.
        let made = unsafe { PLUGIN.create.unwrap()(host, Str::borrow(config), NO_CHECK) };
        (!made.is_null()).then_some(Self(made))
    }

    fn check(&self) -> i32 {
        self.check_with(&HOST, r#"{"server":"s","generation":3,"trigger":"periodic"}"#)
    }

    fn check_with(&self, host: *const Host, context: &str) -> i32 {
        // SAFETY: as a host does it.
        unsafe { PLUGIN.check.unwrap()(self.0, host, NO_CHECK, Str::borrow(context)) }
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // SAFETY: as a host does it.
        unsafe { PLUGIN.destroy.unwrap()(self.0) };
    }
}

/// The verdict's code of one check, and the reasons that were given.
fn outcome(deed: &str) -> (i32, Vec<String>) {
    let instance = Instance::of(&json!({ "do": deed }).to_string()).unwrap();
    let code = instance.check();
    (code, told().details)
}

/// What a call gave the probe that made it.
fn outcome_of_call(code: i32, reply: Option<&'static [u8]>) -> String {
    TOLD.with_borrow_mut(|told| (told.code, told.reply) = (code, reply));
    outcome("call").1.remove(0)
}

#[derive(Debug)]
struct Scripted {
    deed: String,
    checks: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {
    #[serde(rename = "do", default)]
    deed: String,
}

impl ProbeKind for Scripted {
    const NAME: &'static str = "scripted";
    type Config = Config;
    const CONFIG_SCHEMA: &'static str = "{}";

    fn new(config: Config) -> Result<Self, ConfigError> {
        match config.deed.as_str() {
            "refuse" => Err(ConfigError("do: not this".to_owned())),
            "panic in new" => panic!("number {}", 7),
            _ => Ok(Self { deed: config.deed, checks: 0 }),
        }
    }
}

impl Drop for Scripted {
    fn drop(&mut self) {
        assert!(self.deed != "panic in drop", "in drop");
    }
}

struct Boom;

impl Drop for Boom {
    fn drop(&mut self) {
        panic!("in the drop of a payload");
    }
}

struct Unspeakable;

impl std::fmt::Display for Unspeakable {
    fn fmt(&self, _f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        panic!("in Display");
    }
}

#[async_trait]
impl Probe for Scripted {
    async fn check(&mut self, cx: &dyn Context) -> Verdict {
        self.checks += 1;
        match self.deed.as_str() {
            "pass" => Verdict::Pass,
            "busy" => Verdict::Busy("occupied".to_owned()),
            "fail" => Verdict::Fail("unwell".to_owned()),
            "inconclusive" => Verdict::Inconclusive("unclear".to_owned()),
            "unsupported" => Verdict::Unsupported,
            "count" => Verdict::Busy(self.checks.to_string()),
            "panic first" if self.checks == 1 => panic!("in check"),
            "panic in Display" => Verdict::Fail(Unspeakable.to_string()),
            "panic in payload" => panic_any(Boom),
            "remaining" => Verdict::Busy(format!("{:?}", cx.remaining())),
            "snapshot" => Verdict::Busy(format!("{:?}", cx.snapshot())),
            "thread" => {
                let text = std::thread::scope(|scope| scope.spawn(|| cx.remaining()).join());
                Verdict::Busy(format!("{text:?}"))
            }
            _ => {
                let reply = cx.call("ping", json!({ "a": 1 }), Duration::from_micros(1200)).await;
                Verdict::Busy(format!("{reply:?}"))
            }
        }
    }
}

#[test]
fn the_descriptor_says_who_it_is() {
    // SAFETY: constants with a NUL behind them.
    let text = |at: *const c_char| unsafe { CStr::from_ptr(at) }.to_str().unwrap();
    assert_eq!((PLUGIN.magic, PLUGIN.abi_major, PLUGIN.abi_minor), (MAGIC, ABI_MAJOR, ABI_MINOR));
    assert_eq!(PLUGIN.size as usize, size_of::<Plugin>());
    assert_eq!((text(PLUGIN.name), text(PLUGIN.version), text(PLUGIN.config_schema)), ("scripted", "1.2.3", "{}"));
    assert!(text(PLUGIN.built_with).starts_with("Rust, probe-api 0."));
    assert!(descriptor::<Scripted>(b"a\0", b"1\0", b"\0").config_schema.is_null(), "an empty schema is none");
}

#[test]
fn a_verdict_is_a_code_and_a_reason() {
    let none = Vec::<String>::new();
    assert_eq!(outcome("pass"), (verdict::PASS, none.clone()));
    assert_eq!(outcome("busy"), (verdict::BUSY, vec!["occupied".to_owned()]));
    assert_eq!(outcome("fail"), (verdict::FAIL, vec!["unwell".to_owned()]));
    assert_eq!(outcome("inconclusive"), (verdict::INCONCLUSIVE, vec!["unclear".to_owned()]));
    assert_eq!(outcome("unsupported"), (verdict::UNSUPPORTED, none));
}

#[test]
fn an_instance_keeps_its_state() {
    let instance = Instance::of(r#"{"do":"count"}"#).unwrap();
    assert_eq!((instance.check(), instance.check()), (verdict::BUSY, verdict::BUSY));
    assert_eq!(told().details, ["1", "2"]);
}

#[test]
fn a_refused_configuration_says_why() {
    let refusal = |config: &str| {
        assert!(Instance::of(config).is_none(), "{config}");
        told().details.join("|")
    };
    assert_eq!(refusal(r#"{"do":"refuse"}"#), "do: not this");
    assert_eq!(refusal(r#"{"doo":"pass"}"#), "unknown field `doo`, expected `do`");
    assert_eq!(refusal("7"), "invalid type: integer `7`, expected struct Config");
    assert!(refusal("{").starts_with("config: EOF"), "no JSON at all");
    assert!(refusal("").starts_with("config: EOF"));
    assert_eq!(refusal(r#"{"do":"panic in new"}"#), "the probe panicked: number 7");
}

#[test]
fn no_configuration_is_one_without_options() {
    assert!(Instance::of("null").is_some());
}

#[test]
fn a_panic_is_inconclusive_and_the_instance_goes_on() {
    let instance = Instance::of(r#"{"do":"panic first"}"#).unwrap();
    assert_eq!(instance.check(), verdict::INCONCLUSIVE);
    let first = told();
    assert_eq!(first.details, ["the probe panicked: in check"]);
    let [(level, line)] = &first.log[..] else { panic!("{:?}", first.log) };
    assert_eq!(*level, log::ERROR);
    assert!(line.starts_with("panicked at ") && line.contains("tests.rs:") && line.ends_with(": in check"), "{line}");
    assert_eq!(instance.check(), verdict::BUSY, "it is asked again");
}

#[test]
fn panics_in_odd_places_are_held_too() {
    assert_eq!(outcome("panic in Display"), (verdict::INCONCLUSIVE, vec!["the probe panicked: in Display".to_owned()]));
    assert_eq!(
        outcome("panic in payload"),
        (verdict::INCONCLUSIVE, vec!["the probe panicked: no message".to_owned()]),
        "the payload is never dropped"
    );
    drop(Instance::of(r#"{"do":"panic in drop"}"#).unwrap());
}

#[test]
fn every_code_of_a_call_has_its_meaning() {
    let ok = Some(&br#"{"b":2}"#[..]);
    assert_eq!(outcome_of_call(call::RESULT, ok), r#"Ok(Result(Object {"b": Number(2)}))"#);
    assert_eq!(outcome_of_call(call::ERROR, ok), r#"Ok(Error(Object {"b": Number(2)}))"#);
    assert_eq!(outcome_of_call(call::TIMEOUT, None), "Err(Timeout)");
    assert_eq!(outcome_of_call(call::CANCELLED, None), "Err(Cancelled)");
    assert_eq!(outcome_of_call(call::GONE, None), "Err(Gone)");
    assert_eq!(outcome_of_call(call::INVALID, None), "Err(Invalid)");
    assert_eq!(outcome_of_call(-99, ok), "Err(Cancelled)", "a failure that only newer hosts know");
    assert_eq!(outcome_of_call(99, ok), r#"Ok(Result(Object {"b": Number(2)}))"#, "an answer that only they know");
}

#[test]
fn an_answer_counts_even_if_it_cannot_be_read() {
    for reply in [None, Some(&b""[..]), Some(b"\xff\xfe"), Some(b"{\"a\":")] {
        assert_eq!(outcome_of_call(call::RESULT, reply), "Ok(Result(Null))", "{reply:?}");
        assert_eq!(outcome_of_call(call::ERROR, reply), "Ok(Error(Null))", "{reply:?}");
    }
    assert_eq!(outcome_of_call(call::RESULT, Some(b"\"\xff\"")), "Ok(Result(String(\"\u{fffd}\")))");
}

#[test]
fn a_call_says_what_it_sends_and_how_long_it_waits() {
    let instance = Instance::of(r#"{"do":"call"}"#).unwrap();
    instance.check();
    assert_eq!(told().calls, [("ping".to_owned(), r#"{"a":1}"#.to_owned(), 2)], "a started millisecond counts");
    let milliseconds = context::milliseconds;
    assert_eq!(milliseconds(Duration::ZERO), 0);
    assert_eq!(milliseconds(Duration::from_nanos(1)), 1);
    assert_eq!(milliseconds(Duration::from_secs(3)), 3000);
    assert_eq!(milliseconds(Duration::MAX), u32::MAX);
}

#[test]
fn parameters_of_null_are_none() {
    let border = || {
        // SAFETY: a host that lives for ever.
        unsafe { border::Border::new(&raw const HOST_STATIC, NO_CHECK) }.unwrap()
    };
    let cx = context::PluginContext::new(border(), "{}").unwrap();
    executor::block_on(cx.call("ping", Value::Null, Duration::ZERO)).unwrap();
    assert_eq!(told().calls, [("ping".to_owned(), String::new(), 0)]);
}

static HOST_STATIC: Host = HOST;

#[test]
fn time_and_snapshot_come_from_the_host() {
    assert_eq!(outcome("remaining").1, ["1.5s"]);
    let instance = Instance::of(r#"{"do":"snapshot"}"#).unwrap();
    let context = json!({
        "server": "s", "generation": 3, "trigger": "invented", "era": "invented", "inFlight": 2, "invented": {},
        "process": { "state": "invented", "pids": [7], "invented": 1 },
    });
    assert_eq!(instance.check_with(&HOST, &context.to_string()), verdict::BUSY);
    let seen = told().details.remove(0);
    for part in
        ["server: \"s\"", "generation: 3", "trigger: Other", "era: None", "in_flight: 2", "pids: [7]", "state: None"]
    {
        assert!(seen.contains(part), "{part} in {seen}");
    }
    assert_eq!(instance.check_with(&HOST, "nonsense"), verdict::INCONCLUSIVE);
    let why = told().details.remove(0);
    assert!(why.starts_with("cannot read the context of the check: "), "{why}");
}

#[test]
fn known_values_of_a_snapshot_are_kept() {
    let mut snapshot = crate::Snapshot::new("s", 3, Trigger::ToolTimeout);
    snapshot.era = Some(Era::Stateless);
    snapshot.process.state = Some(ProcessState::Stopped);
    let text = serde_json::to_string(&snapshot).unwrap();
    assert_eq!(serde_json::from_str::<crate::Snapshot>(&text).unwrap(), snapshot);
}

#[test]
fn the_context_may_be_used_from_another_thread() {
    assert_eq!(outcome("thread").1, ["Ok(1.5s)"]);
}

/// A host whose struct ends before a field: what lies there must not be called.
fn truncated(end: usize) -> Host {
    Host { size: u32::try_from(end).unwrap(), ..HOST }
}

#[test]
fn an_older_host_is_used_as_far_as_it_goes() {
    let check = |end: usize, deed: &str| {
        let host = truncated(end);
        let instance = Instance::on(&host, &json!({ "do": deed }).to_string()).unwrap();
        let code = instance.check_with(&host, "{}");
        (code, told())
    };
    let (code, seen) = check(offset_of!(Host, log), "panic first");
    assert_eq!((code, seen.log.len(), seen.details.len()), (verdict::INCONCLUSIVE, 0, 1));
    let (code, seen) = check(offset_of!(Host, detail), "fail");
    assert_eq!((code, seen.details.len()), (verdict::FAIL, 0));
    let (_, seen) = check(offset_of!(Host, call), "call");
    assert!(seen.calls.is_empty() && seen.details.is_empty());
    // One byte short of the end of a field is short of the field.
    let (code, seen) = check(offset_of!(Host, log) - 1, "fail");
    assert_eq!((code, seen.details.len()), (verdict::FAIL, 0));
    let (_, seen) = check(offset_of!(Host, log), "fail");
    assert_eq!(seen.details, ["unwell"]);
}

#[test]
fn nulls_are_survived() {
    assert!(Instance::on(&HOST, "null").is_some());
    let instance = Instance::of("null").unwrap();
    assert_eq!(instance.check_with(std::ptr::null(), "{}"), verdict::INCONCLUSIVE);
    // SAFETY: neither pointer leads anywhere, which is what is tried.
    let made = unsafe { PLUGIN.create.unwrap()(std::ptr::null(), Str::EMPTY, NO_CHECK) };
    assert!(made.is_null());
    // SAFETY: the same.
    let code = unsafe { PLUGIN.check.unwrap()(std::ptr::null_mut(), &HOST, NO_CHECK, Str::EMPTY) };
    assert_eq!(code, verdict::INCONCLUSIVE);
    // SAFETY: the same.
    unsafe { PLUGIN.destroy.unwrap()(std::ptr::null_mut()) };
}

#[test]
fn a_text_is_terminated_at_compile_time() {
    const TEXT: &[u8] = __terminated!("é");
    assert_eq!(TEXT, [0xc3, 0xa9, 0]);
    assert_eq!(terminated::<1>(""), [0]);
    assert!(std::panic::catch_unwind(|| terminated::<4>("a\0b")).is_err());
    assert!(std::panic::catch_unwind(|| terminated::<4>("ab")).is_err());
}
