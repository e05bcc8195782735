//! A history in which all is well, and each promise broken once by hand and found.

use serde_json::json;

use super::*;
use crate::history::{Did, Event};
use crate::journal::{Entry, What};
use crate::message::Message;
use crate::plan::{End, Era, Target};
use crate::processes::Process;

const MS: u64 = 1_000_000;

/// A history that is being written.
struct Tape {
    history: History,
    now: u64,
}

impl Tape {
    fn new() -> Self {
        let mut tape = Self { history: History { exit: Some(0), ..History::default() }, now: MS };
        tape.history.plan.era = Era::Handshake;
        tape.begin(1);
        tape
    }

    fn did(&mut self, what: Did) -> &mut Self {
        self.now += MS;
        self.history.client.push(Event { at: self.now, what });
        self
    }

    fn send(&mut self, line: &str) -> &mut Self {
        self.did(Did::Send(Message::read(line.as_bytes())))
    }

    fn receive(&mut self, line: &str) -> &mut Self {
        self.did(Did::Receive(Message::read(line.as_bytes())))
    }

    fn note(&mut self, life: usize, what: What) -> &mut Self {
        self.now += MS;
        self.history.lives[life - 1].push(Entry { at: self.now, what });
        self
    }

    fn read(&mut self, life: usize, line: &str) -> &mut Self {
        self.note(life, What::Read(Message::read(line.as_bytes())))
    }

    fn write(&mut self, life: usize, line: &str) -> &mut Self {
        self.note(life, What::Writing(Message::read(line.as_bytes())))
    }

    /// A life begins, of which the watchdog tells under the same number.
    fn begin(&mut self, life: usize) -> &mut Self {
        let pid = 1000 + i32::try_from(life).unwrap();
        self.history.lives.push(Vec::new());
        self.history.stderr += &format!("{}\n", json!({ "generation": life, "data": { "pid": pid } }));
        self.note(life, What::Start { pid, guard: pid + 100 });
        let open = OPEN.replace("\"open-1\"", if life == 1 { "\"open-1\"" } else { "\"mcp-watchdog/5\"" });
        if life == 1 {
            self.send(OPEN);
        }
        self.read(life, &open);
        let opened = format!(r#"{{"jsonrpc":"2.0","id":"open-1","result":{{"_meta":{{"chaos":{{"life":{life}}}}}}}}}"#);
        self.write(life, &opened);
        if life == 1 {
            self.receive(&opened);
        }
        self
    }

    /// A request that is served.
    fn served(&mut self, life: usize, n: u64) -> &mut Self {
        self.send(&call(n)).read(life, &call(n)).write(life, &answer(n, life));
        self.note(life, What::Answered(n)).receive(&answer(n, life))
    }

    /// A request that a life takes to its grave.
    fn lost(&mut self, life: usize, n: u64) -> &mut Self {
        self.send(&call(n)).read(life, &call(n)).note(life, What::Dying("exit 1".to_owned()));
        self.receive(&gone(n, life))
    }

    fn end(&mut self) -> &mut Self {
        self.did(Did::End).did(Did::StreamEnd { half: 0 }).did(Did::Exit)
    }

    fn broken(&self) -> Vec<Promise> {
        let verdict = check(&self.history, 1);
        let mut promises: Vec<_> = verdict.violations.iter().map(|violation| violation.promise).collect();
        promises.dedup();
        promises
    }

    #[track_caller]
    fn breaks(&self, promise: Promise) {
        let verdict = check(&self.history, 1);
        let told: Vec<_> = verdict.violations.iter().map(ToString::to_string).collect();
        assert_eq!(self.broken(), [promise], "{told:#?}");
    }

    #[track_caller]
    fn is_well(&self) {
        let told: Vec<_> = check(&self.history, 1).violations.iter().map(ToString::to_string).collect();
        assert!(told.is_empty(), "{told:#?}");
    }
}

const OPEN: &str = r#"{"jsonrpc":"2.0","id":"open-1","method":"initialize","params":{"protocolVersion":"2025-11-25"}}"#;

fn request(n: u64, method: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{n},"method":"{method}","params":{{"_meta":{{"chaos":{{"n":{n}}}}}}}}}"#)
}

fn call(n: u64) -> String {
    request(n, "tools/call")
}

fn cancel(n: u64) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{n}}}}}"#)
}

fn progress(n: u64, life: usize) -> String {
    let stamp = format!(r#""_meta":{{"chaos":{{"life":{life},"n":{n}}}}}"#);
    format!(r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{n},{stamp}}}}}"#)
}

fn answer(n: u64, life: usize) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{n},"result":{{"_meta":{{"chaos":{{"life":{life},"n":{n}}}}}}}}}"#)
}

fn error(n: u64, generation: usize, change: impl Fn(&mut serde_json::Value)) -> String {
    let data = json!({
        "source": "mcp-watchdog", "code": "server_disconnected", "server": "chaos", "state": "Reconnecting",
        "status": "retrying", "generation": generation, "sent": true, "retryable": false,
        "reason": "transport-exit", "exit": { "code": 1 },
    });
    let mut error = json!({ "code": -31000, "message": "Server disconnected", "data": data });
    change(&mut error);
    json!({ "jsonrpc": "2.0", "id": n, "error": error }).to_string()
}

fn gone(n: u64, generation: usize) -> String {
    error(n, generation, |_| {})
}

fn process(name: &str) -> Process {
    Process { pid: 7, started: 7, name: name.to_owned() }
}

#[test]
fn all_is_well() {
    let mut tape = Tape::new();
    tape.served(1, 1).lost(1, 2).begin(2).served(2, 3).end().is_well();
    let figures = check(&tape.history, 1).figures;
    assert_eq!((figures.runs, figures.lives, figures.requests, figures.faults), (1, 2, 4, 1));
    assert_eq!((figures.served, figures.deaths.as_slice()), (3, &[MS][..]));
}

#[test]
fn stdout_is_the_protocol() {
    Tape::new().receive("Listening on stdio").end().breaks(Promise::OnlyProtocol);
    let mut tape = Tape::new();
    tape.did(Did::End).did(Did::StreamEnd { half: 5 }).did(Did::Exit).breaks(Promise::OnlyProtocol);
}

#[test]
fn bytes_are_kept_either_way() {
    let spaced = answer(1, 1).replace(':', ": ");
    let mut tape = Tape::new();
    tape.send(&call(1)).read(1, &call(1)).write(1, &answer(1, 1)).receive(&spaced).end().breaks(Promise::Bytes);
    let mut tape = Tape::new();
    tape.send(&call(1)).read(1, &call(1).replace(',', ", ")).write(1, &answer(1, 1)).receive(&answer(1, 1));
    tape.end().breaks(Promise::Bytes);
    let made_up = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
    Tape::new().receive(made_up).end().breaks(Promise::Bytes);
    Tape::new().read(1, &call(9)).end().breaks(Promise::Bytes);
}

#[test]
fn a_list_of_the_catalog_is_one_that_was_written() {
    let cached = |body: &str| answer(1, 1).replace("\"id\":1", "\"id\":2").replace("\"result\":{", body);
    let mut tape = Tape::new();
    let list = |n| request(n, "tools/list");
    tape.send(&list(1)).read(1, &list(1)).write(1, &answer(1, 1)).receive(&answer(1, 1));
    tape.send(&list(2)).receive(&cached("\"result\":{")).end().is_well();
    tape.history.client.clear();
    tape.send(OPEN).receive(&answer(0, 1).replace("\"id\":0", "\"id\":\"open-1\""));
    tape.send(&list(1)).receive(&answer(1, 1)).send(&list(2)).receive(&cached("\"result\":{\"x\":1,")).end();
    assert!(tape.broken().contains(&Promise::Bytes));
}

#[test]
fn every_request_gets_one_answer_and_it_is_its_own() {
    let mut tape = Tape::new();
    tape.send(&call(1)).read(1, &call(1)).end().breaks(Promise::OneAnswer);
    let mut tape = Tape::new();
    tape.served(1, 1).receive(&answer(1, 1)).end().breaks(Promise::OneAnswer);
    let mut tape = Tape::new();
    tape.served(1, 1).write(1, &answer(7, 1)).receive(&answer(7, 1)).end().breaks(Promise::OneAnswer);
    let mut tape = Tape::new();
    let crossed = answer(2, 1).replace("\"id\":2", "\"id\":1");
    tape.send(&call(1)).read(1, &call(1)).write(1, &crossed).receive(&crossed).end().breaks(Promise::OneAnswer);
    // The stream may end instead, where the client has not waited for the end.
    let mut tape = Tape::new();
    tape.history.plan.end = End::Terminate;
    tape.history.exit = Some(143);
    tape.send(&call(1)).read(1, &call(1)).end().is_well();
    tape.history.client.insert(4, Event { at: tape.now, what: Did::GaveUp });
    tape.breaks(Promise::OneAnswer);
}

#[test]
fn a_call_is_written_to_one_process_and_a_question_to_two() {
    let mut tape = Tape::new();
    tape.lost(1, 1).begin(2).read(2, &call(1)).end();
    assert!(tape.broken().contains(&Promise::OneProcess));
    let list = request(1, "tools/list");
    let mut tape = Tape::new();
    tape.send(&list).read(1, &list).note(1, What::Dying("exit 1".to_owned())).begin(2).read(2, &list);
    tape.write(2, &answer(1, 2)).receive(&answer(1, 2)).end().is_well();
    let mut tape = Tape::new();
    tape.send(&list).read(1, &list).read(1, &list).write(1, &answer(1, 1)).receive(&answer(1, 1)).end();
    tape.breaks(Promise::OneProcess);
    let mut tape = Tape::new();
    for life in 1..=3 {
        if life > 1 {
            tape.begin(life);
        } else {
            tape.send(&list);
        }
        tape.read(life, &list).note(life, What::Dying("exit 1".to_owned()));
    }
    let refused = error(1, 3, |error| error["data"]["retryable"] = true.into());
    tape.receive(&refused).end().breaks(Promise::OneProcess);
}

#[test]
fn nothing_of_an_older_generation() {
    let note = progress(1, 1).replace("progress\"", "message\"").replace("progressToken", "level");
    let mut tape = Tape::new();
    tape.write(1, &note).lost(1, 1).begin(2).served(2, 2).receive(&note).end().breaks(Promise::NothingOld);
}

#[test]
fn nothing_for_what_is_cancelled_or_finished() {
    let mut tape = Tape::new();
    tape.send(&call(1)).read(1, &call(1)).send(&cancel(1)).read(1, &cancel(1)).write(1, &answer(1, 1));
    tape.receive(&answer(1, 1)).end().breaks(Promise::NothingLate);
    // It was under way when the cancel was.
    let mut tape = Tape::new();
    tape.send(&call(1)).read(1, &call(1)).write(1, &answer(1, 1)).send(&cancel(1)).receive(&answer(1, 1));
    tape.read(1, &cancel(1)).end().is_well();
    let mut tape = Tape::new();
    tape.send(&call(1)).read(1, &call(1)).write(1, &answer(1, 1)).send(&cancel(1));
    tape.now += 3000 * MS;
    tape.receive(&answer(1, 1)).end().breaks(Promise::NothingLate);
    let mut tape = Tape::new();
    tape.served(1, 1).write(1, &progress(1, 1)).receive(&progress(1, 1)).end().breaks(Promise::NothingLate);
}

#[test]
fn a_death_is_answered_at_once() {
    let late = |ms: u64| {
        let mut tape = Tape::new();
        tape.send(&call(1)).read(1, &call(1)).note(1, What::Dying("exit 1".to_owned()));
        tape.now += ms * MS;
        tape
    };
    late(900).receive(&gone(1, 1)).end().is_well();
    late(1100).receive(&gone(1, 1)).end().breaks(Promise::DeathAtOnce);
    let by_probe = error(1, 1, |error| error["data"]["reason"] = "probe-failure".into());
    let mut tape = late(500);
    tape.history.plan.patient = false;
    tape.receive(&by_probe).end().breaks(Promise::DeathAtOnce);
    // A machine that has no processor for the client has none for the watchdog.
    late(1100).did(Did::Stalled(300 * MS)).receive(&gone(1, 1)).end().is_well();
    late(2100).did(Did::Stalled(300 * MS)).receive(&gone(1, 1)).end().breaks(Promise::DeathAtOnce);
    // A client that does not read sees it later.
    let mut tape = Tape::new();
    tape.send(&call(1)).read(1, &call(1)).did(Did::StopReading).note(1, What::Dying("exit 1".to_owned()));
    tape.now += 2000 * MS;
    tape.did(Did::GoOnReading).receive(&gone(1, 1)).end().is_well();
}

#[test]
fn nothing_outlives_its_generation_or_the_watchdog() {
    let mut tape = Tape::new();
    tape.lost(1, 1).begin(2).note(2, What::Overlap { life: 1, process: process("daemon") }).end();
    tape.breaks(Promise::NoSurvivors);
    let mut tape = Tape::new();
    tape.history.left.push(process("session"));
    tape.end().breaks(Promise::NoSurvivors);
}

#[test]
fn a_healthy_server_is_kept() {
    let mut tape = Tape::new();
    tape.served(1, 1).begin(2).end().breaks(Promise::NoNeedlessRestart);
    // Where probes have little time, it is counted.
    tape.history.plan.patient = false;
    tape.is_well();
    assert_eq!(check(&tape.history, 1).figures.hasty, 1);
    let mut tape = Tape::new();
    tape.did(Did::Kill(Target::Server, Process { pid: 1001, ..process("server") })).begin(2).end().is_well();
}

#[test]
fn errors_are_as_the_contract_says() {
    let with = |change: fn(&mut serde_json::Value)| {
        let mut tape = Tape::new();
        tape.send(&call(1)).read(1, &call(1)).note(1, What::Dying("exit 1".to_owned()));
        tape.receive(&error(1, 1, change)).end();
        tape
    };
    with(|_| {}).is_well();
    with(|error| error["code"] = (-31001).into()).breaks(Promise::Errors);
    with(|error| error["data"]["retryable"] = true.into()).breaks(Promise::Errors);
    with(|error| error["data"]["sent"] = false.into()).breaks(Promise::Errors);
    with(|error| error["data"]["generation"] = 0.into()).is_well();
    with(|error| error["data"]["exit"] = json!({ "signal": "SIGSEGV" })).breaks(Promise::Errors);
    with(|error| drop(error["data"].as_object_mut().map(|data| data.remove("reason")))).breaks(Promise::Errors);
    let unplanned = |error: &mut serde_json::Value| {
        error["code"] = (-31004).into();
        error["data"]["code"] = "server_disabled".into();
    };
    with(unplanned).breaks(Promise::Errors);
    let mut tape = Tape::new();
    tape.lost(1, 1).begin(2).send(&call(2)).read(2, &call(2)).note(2, What::Dying("exit 1".to_owned()));
    tape.receive(&gone(2, 1)).end().breaks(Promise::Errors);
}

#[test]
fn last_words_are_heard() {
    let mut tape = Tape::new();
    tape.send(&call(1)).read(1, &call(1)).write(1, &answer(1, 1)).note(1, What::Answered(1));
    tape.note(1, What::Dying("exit 1".to_owned())).receive(&gone(1, 1)).end().breaks(Promise::LastWords);
    // Unless the watchdog has ended it for its silence, and hears it no more.
    tape.history.stderr += "{\"type\":\"server_killed\",\"data\":{\"pid\":1001}}\n";
    tape.is_well();
}

#[test]
fn a_fresh_server_hears_its_session_and_nothing_else() {
    let mut tape = Tape::new();
    tape.lost(1, 1).history.lives.push(Vec::new());
    tape.note(2, What::Start { pid: 1002, guard: 1102 }).send(&call(2)).read(2, &call(2)).write(2, &answer(2, 2));
    tape.receive(&answer(2, 2)).end().breaks(Promise::Session);
    let mut tape = Tape::new();
    tape.send(&call(1)).read(1, &call(1)).note(1, What::Dying("exit 1".to_owned())).send(&cancel(1)).begin(2);
    tape.read(2, &cancel(1)).end().breaks(Promise::Session);
    let mut tape = Tape::new();
    tape.note(1, What::StrayAnswer(Message::read(answer(1, 2).as_bytes()))).end().breaks(Promise::Session);
    let mut tape = Tape::new();
    tape.send(&call(1)).send(&call(2)).read(1, &call(2)).read(1, &call(1)).write(1, &answer(1, 1));
    tape.write(1, &answer(2, 1)).receive(&answer(1, 1)).receive(&answer(2, 1)).end().breaks(Promise::Session);
}

#[test]
fn the_exit_code_tells_why() {
    let mut tape = Tape::new();
    tape.history.exit = Some(125);
    tape.end().breaks(Promise::ExitCode);
    tape.history.exit = None;
    tape.breaks(Promise::ExitCode);
    Tape::new().did(Did::StreamEnd { half: 0 }).did(Did::Exit).breaks(Promise::ExitCode);
}

#[test]
fn no_panic() {
    let mut tape = Tape::new();
    tape.history.stderr += "thread 'main' panicked at src/main.rs:1\n";
    tape.end().breaks(Promise::NoPanic);
}
