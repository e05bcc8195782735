//! Input that nobody sends by mistake: lines without an end, bytes that are no text, ids of every kind, files that grow when
//! they are read, and connections that keep others waiting. docs/reliability.md has the figures.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use harness::{Value, initialize, json, notification, tool_call};

use crate::rig::{FIXTURE, WATCHDOG, peak_memory, poll_until, setup, text};

const LIMIT: Duration = Duration::from_secs(60);

/// A watchdog that is spoken to in bytes, so that the test holds no more of them than it looks at.
struct Raw {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<Vec<u8>>,
    folder: tempfile::TempDir,
}

impl Raw {
    /// In front of this command, opened by a handshake of this revision.
    fn start(options: &[&str], command: &[&str], script: &Value, revision: &str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let file = folder.path().join("script.json");
        fs::write(&file, script.to_string()).expect("the folder can be written to");
        let mut watchdog = Command::new(WATCHDOG);
        watchdog.args(["--no-control", "--health-interval", "0"]).args(options).arg("--").args(command);
        watchdog.env("MCP_FIXTURE_SCRIPT", file).current_dir(folder.path());
        watchdog.stdin(Stdio::piped()).stdout(Stdio::piped());
        let stderr = fs::File::create(folder.path().join("stderr")).expect("the folder can be written to");
        let mut child = watchdog.stderr(stderr).spawn().expect("the watchdog can be started");
        let (send, lines) = channel();
        let mut stdout = BufReader::new(child.stdout.take().expect("stdout is a pipe"));
        thread::spawn(move || {
            let mut line = Vec::new();
            while let Ok(1..) = stdout.read_until(b'\n', &mut line) {
                if send.send(std::mem::take(&mut line)).is_err() {
                    break;
                }
            }
        });
        let stdin = child.stdin.take();
        let mut raw = Self { child, stdin, lines, folder };
        raw.write(format!("{}\n", initialize("open", revision)).as_bytes());
        assert!(raw.line().contains("protocolVersion"), "{}", raw.stderr());
        raw.write(format!("{}\n", notification("notifications/initialized", Value::Null)).as_bytes());
        raw
    }

    fn write(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().expect("it was not closed yet");
        stdin.write_all(bytes).expect("the watchdog reads");
    }

    /// So many MiB of a letter.
    fn write_much(&mut self, mib: usize) {
        let piece = vec![b'x'; 1 << 20];
        (0..mib).for_each(|_| self.write(&piece));
    }

    #[track_caller]
    fn bytes(&self) -> Vec<u8> {
        let line = self.lines.recv_timeout(LIMIT);
        line.unwrap_or_else(|error| panic!("no line ({error}); stderr: {}", self.stderr()))
    }

    /// The next line of stdout.
    #[track_caller]
    fn line(&self) -> String {
        let mut line = String::from_utf8(self.bytes()).expect("stdout is UTF-8");
        assert_eq!(line.pop(), Some('\n'), "half a line");
        line
    }

    /// What comes before the answer to a call that is made now.
    #[track_caller]
    fn before_a_call(&mut self, id: &str) -> Vec<String> {
        self.write(format!("{}\n", tool_call(id, "echo", json!({ "text": "still here" }))).as_bytes());
        let mut before = Vec::new();
        loop {
            let line = self.line();
            if line.contains(&format!("\"id\":\"{id}\"")) {
                assert!(line.contains("still here"), "{line}");
                return before;
            }
            before.push(line);
        }
    }

    fn stderr(&self) -> String {
        text(&fs::read(self.folder.path().join("stderr")).expect("it was made"))
    }

    /// The client leaves.
    #[track_caller]
    fn finish(mut self) {
        self.stdin = None;
        let begin = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("the child is ours") {
                break status;
            }
            assert!(begin.elapsed() < LIMIT, "it does not end: {}", self.stderr());
            thread::sleep(Duration::from_millis(5));
        };
        assert_eq!(status.code(), Some(0), "{}", self.stderr());
        let stderr = self.stderr();
        assert!(!stderr.contains("panicked"), "{stderr}");
        assert!(self.lines.try_recv().is_err(), "nothing more came");
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const NO_SCRIPT: Value = Value::Null;
const SMALL: [&str; 2] = ["--set", "limits.max_line=1MiB"];

/// What a line of so many MiB may cost, in MiB. The limit of a line is one of them.
const COST: u64 = 12;

fn long_line_of_the_client(mib: usize) -> Duration {
    let mut raw = Raw::start(&SMALL, &[FIXTURE], &json!({}), "2025-11-25");
    let before = peak_memory(raw.child.id());
    let begin = Instant::now();
    raw.write(br#"{"jsonrpc":"2.0","id":"long","method":"tools/call","params":{"name":"echo","arguments":{"text":""#);
    raw.write_much(mib);
    raw.write(b"\"}}}\n");
    let answer: Value = serde_json::from_str(&raw.line()).expect("a line of stdout is JSON");
    let took = begin.elapsed();
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!("long"), &json!(-31008)), "{answer}");
    assert_eq!(answer["error"]["data"]["sent"], false);
    assert_eq!(raw.before_a_call("after"), [""; 0]);
    let cost = peak_memory(raw.child.id()) - before;
    assert!(cost <= COST, "{mib} MiB cost {cost} MiB");
    raw.finish();
    took
}

fn long_line_of_the_server(mib: usize) -> Duration {
    // What the shell writes is not in the memory of anybody.
    let script = format!(
        r#"read open; printf '%s\n' '{{"jsonrpc":"2.0","id":"open","result":{{"protocolVersion":"2025-11-25","capabilities":{{}},"serverInfo":{{"name":"sh","version":"1"}}}}}}'
           read opened; read call
           printf '%s' '{{"jsonrpc":"2.0","id":"long","result":{{"content":"'; head -c {} /dev/zero | tr '\0' x; printf '%s\n' '"}}}}'
           read call; printf '%s\n' '{{"jsonrpc":"2.0","id":"after","result":{{"content":"still here"}}}}'; cat >/dev/null"#,
        mib << 20
    );
    let mut raw = Raw::start(&SMALL, &["sh", "-c", &script], &NO_SCRIPT, "2025-11-25");
    let before = peak_memory(raw.child.id());
    let begin = Instant::now();
    raw.write(format!("{}\n", tool_call("long", "t", json!({}))).as_bytes());
    let answer: Value = serde_json::from_str(&raw.line()).expect("a line of stdout is JSON");
    let took = begin.elapsed();
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!("long"), &json!(-31008)), "{answer}");
    assert_eq!(answer["error"]["data"]["sent"], true);
    assert_eq!(raw.before_a_call("after"), [""; 0]);
    let cost = peak_memory(raw.child.id()) - before;
    assert!(cost <= COST, "{mib} MiB cost {cost} MiB");
    raw.finish();
    took
}

#[test]
fn a_line_without_end_costs_no_memory_either_way() {
    long_line_of_the_client(96);
    long_line_of_the_server(96);
}

#[test]
#[ignore = "moves 2 GiB; its figures are in docs/reliability.md"]
fn a_line_of_one_gibibyte_costs_no_memory_either_way() {
    println!("client to watchdog: {:?}", long_line_of_the_client(1024));
    println!("server to watchdog: {:?}", long_line_of_the_server(1024));
}

#[test]
fn what_is_no_message_is_refused_and_forgotten() {
    let deep = |open: &str| open.repeat(100_000);
    // The line, and the code and the id of the error that it gets.
    type Case = (Vec<u8>, Option<(i64, Value)>);
    let cases: Vec<Case> = vec![
        (b"\0\0\0".to_vec(), Some((-32700, Value::Null))),
        (b"\xff\xfe\x00{".to_vec(), Some((-32700, Value::Null))),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\",\"x\":\"\xc3\x28\"}".to_vec(),
            Some((-32700, Value::Null)),
        ),
        (b"hello".to_vec(), Some((-32700, Value::Null))),
        (b"{".to_vec(), Some((-32700, Value::Null))),
        (b"{}".to_vec(), Some((-32600, Value::Null))),
        (br#"{"jsonrpc":"2.0","id":7}"#.to_vec(), Some((-32600, json!(7)))),
        (br#"{"jsonrpc":"2.0","id":true,"method":"ping"}"#.to_vec(), Some((-32600, Value::Null))),
        (br#"{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}"#.to_vec(), Some((-32600, Value::Null))),
        (br#"{"jsonrpc":"2.0","id":[1],"method":"ping"}"#.to_vec(), Some((-32600, Value::Null))),
        (b"[]".to_vec(), Some((-32600, Value::Null))),
        (br#"[{"jsonrpc":"2.0","id":7,"method":"ping"}]"#.to_vec(), Some((-32600, Value::Null))),
        (deep("[").into_bytes(), Some((-32700, Value::Null))),
        (deep("{\"a\":").into_bytes(), Some((-32700, Value::Null))),
        (br#""text""#.to_vec(), Some((-32700, Value::Null))),
        // Without an id, or with none that counts, it is a notification.
        (br#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#.to_vec(), None),
        // A line end is LF and nothing else, blank lines are nothing, and answers to nobody are dropped.
        (b"\r".to_vec(), None),
        (b"".to_vec(), None),
        (br#"{"jsonrpc":"2.0","id":9,"result":{}}"#.to_vec(), None),
        (br#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}"#.to_vec(), None),
        (br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{"a":1}}}"#.to_vec(), None),
        (br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":[]}"#.to_vec(), None),
    ];
    let mut raw = Raw::start(&[], &[FIXTURE], &json!({}), "2025-11-25");
    for (at, (line, expected)) in cases.into_iter().enumerate() {
        raw.write(&line);
        raw.write(b"\n");
        let shown = text(&line[..line.len().min(80)]);
        let got: Vec<Value> = raw
            .before_a_call(&format!("c{at}"))
            .iter()
            .map(|line| serde_json::from_str(line).expect("a line of stdout is JSON"))
            .collect();
        let got: Vec<_> = got.iter().map(|got| (got["error"]["code"].as_i64(), &got["id"])).collect();
        let expected: Vec<_> = expected.iter().map(|(code, id)| (Some(*code), id)).collect();
        assert_eq!(got, expected, "{shown:?}");
    }
    raw.finish();
}

#[test]
fn ids_of_every_kind_come_back_as_they_were_spelled() {
    let ids = [
        "0",
        "-0",
        "-1",
        "1.5",
        "1.0",
        "1E+2",
        "1e400",
        "-1e-400",
        "123456789012345678901234567890",
        "0.1000000000000000055511151231257827021181583404541015625",
        "\"\"",
        "\" \"",
        "\"null\"",
        "\"\\u0000\"",
        "\"\\ud800\"",
        "\"\\udfff\\ud800\"",
        "\"\\ud83d\\ude00\"",
        "\"a\u{2028}b\u{2029}c\u{feff}\"",
        "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"",
        "2000000000",
        "\"mcp-watchdog/1\"",
    ];
    let long = format!("\"{}\"", "i".repeat(100_000));
    let mut raw = Raw::start(&[], &[FIXTURE], &json!({}), "2025-11-25");
    for id in ids.into_iter().chain([long.as_str()]) {
        raw.write(format!("{{\"id\":{id},\"jsonrpc\":\"2.0\",\"method\":\"ping\"}}\n").as_bytes());
        let line = raw.line();
        assert!(
            line.contains(&format!("\"id\":{id},")) || line.contains(&format!("\"id\":{id}}}")),
            "{id}: {line:.200}"
        );
    }
    // All in flight at once at the death of the server that had them: each is answered once. (-0 is 0.)
    let ids: Vec<_> = ids.into_iter().filter(|id| *id != "-0").collect();
    for id in &ids {
        let params = r#"{"name":"silence"}"#;
        raw.write(
            format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{params}}}\n").as_bytes(),
        );
    }
    raw.write(format!("{}\n", tool_call("end", "exit", json!({ "code": 5 }))).as_bytes());
    let answers: Vec<_> = (0..=ids.len()).map(|_| raw.line()).collect();
    for id in ids.iter().chain(&["\"end\""]) {
        let of_id = answers.iter().filter(|line| line.contains(&format!("\"id\":{id},\"error\":{{\"code\":-31000")));
        assert_eq!(of_id.count(), 1, "{id}: {answers:#?}");
    }
    assert_eq!(raw.before_a_call("after"), [""; 0]);
    raw.finish();
}

#[test]
fn odd_but_sound_messages_reach_the_server_as_they_are() {
    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    let lines = [
        r#"{"jsonrpc":"2.0","id":1,"method":"ping","method":"ping"}"#.to_owned(),
        r#"{"id":9,"jsonrpc":"2.0","method":"ping","id":2}"#.to_owned(),
        "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"ping\",\"x\":\"\u{2028}\u{0085}\u{feff}\"}".to_owned(),
        "\t {\r\t\"jsonrpc\" :\"2.0\", \"id\" :4 , \"method\":\"ping\" } \t".to_owned(),
        format!(r#"{{"jsonrpc":"2.0","id":5,"method":"ping","x":{deep}}}"#),
        format!(r#"{{"jsonrpc":"2.0","id":6,{}"method":"ping"}}"#, r#""k":1,"#.repeat(100_000)),
        "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"}\r".to_owned(),
    ];
    // The server says back what it read.
    let echo = concat!(
        r#"read open; printf '%s\n' '{"jsonrpc":"2.0","id":"open","result":{"protocolVersion":"2025-11-25","#,
        r#""capabilities":{},"serverInfo":{"name":"sh","version":"1"}}}'; cat"#
    );
    let mut raw = Raw::start(&[], &["sh", "-c", echo], &NO_SCRIPT, "2025-11-25");
    // It says `notifications/initialized` back too.
    assert!(raw.line().contains("initialized"));
    for line in &lines {
        raw.write(format!("{line}\n").as_bytes());
        // A mark before the message and CR before the line end are the two things that are dropped.
        assert_eq!(
            raw.line(),
            line.trim_start_matches('\u{feff}').trim_end_matches('\r'),
            "as a request of the server"
        );
    }
    // Its questions, as it seems, are taken back at the end.
    drop(raw);
}

#[test]
fn batches_of_every_kind() {
    let mut raw = Raw::start(&[], &[FIXTURE], &json!({}), "2025-03-26");
    let code = |line: &str| serde_json::from_str::<Value>(line).expect("JSON")["error"]["code"].as_i64();
    for line in ["[]", "[", "[1", "[,]"] {
        raw.write(format!("{line}\n").as_bytes());
        assert!(matches!(code(&raw.line()), Some(-32600 | -32700)), "{line}");
    }
    // What is no message inside is the server's to refuse, and a batch in a batch is none.
    raw.write(b"[[],[[]],1,null,\"x\",{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]\n");
    let answered = raw.line();
    assert!(answered.contains("\"id\":1"), "{answered}");
    let many = (0..5000).map(|at| format!(r#"{{"jsonrpc":"2.0","id":"b{at}","method":"ping"}}"#)).collect::<Vec<_>>();
    raw.write(format!("[{}]\n", many.join(",")).as_bytes());
    let answers: Vec<Value> = serde_json::from_str(&raw.line()).expect("the answers of a batch are one");
    assert_eq!(answers.len(), 5000);
    assert_eq!(raw.before_a_call("after"), [""; 0]);
    raw.finish();
}

/// Batches that are longer than a line may be: each request is answered for itself, whoever wrote too much.
#[test]
fn of_a_batch_that_is_too_long_each_request_is_answered() {
    const MANY: usize = 8;
    let batch = |first: usize, tool: &str, text: &str| {
        let calls = (first..first + MANY).map(|id| tool_call(id, tool, json!({ "text": text })).to_string());
        format!("[{}]\n", calls.collect::<Vec<_>>().join(","))
    };
    let refused = |raw: &mut Raw, first: usize, sent: bool| {
        for id in first..first + MANY {
            let answer: Value = serde_json::from_str(&raw.line()).expect("JSON");
            let error = &answer["error"];
            assert_eq!(
                (&answer["id"], &error["code"], &error["data"]["sent"]),
                (&json!(id), &json!(-31008), &json!(sent))
            );
        }
    };
    let script = json!({ "rules": [{ "on": "tools/call", "tool": "long", "do": [{ "big": 3000 }] }] });
    let mut raw = Raw::start(&["--set", "limits.max_line=16KiB"], &[FIXTURE], &script, "2025-03-26");
    raw.write(batch(10, "echo", &"x".repeat(3000)).as_bytes());
    refused(&mut raw, 10, false);
    raw.write(batch(20, "long", "").as_bytes());
    refused(&mut raw, 20, true);
    assert_eq!(raw.before_a_call("after"), [""; 0]);
    raw.finish();
}

/// One read brings far more lines than are taken in one go, and nothing comes after it.
#[test]
fn a_burst_of_short_lines_is_passed_on_to_the_last_either_way() {
    const MANY: usize = 1500;
    let notes = "{\"jsonrpc\":\"2.0\",\"method\":\"n/n\"}\n".repeat(MANY);
    let burst = format!("{notes}{{\"jsonrpc\":\"2.0\",\"id\":\"b\",\"result\":{{}}}}\n");
    let script = json!({ "rules": [{ "on": "tools/call", "tool": "burst", "do": [{ "stdout": burst }] }] });
    let mut raw = Raw::start(&["--log-level", "error"], &[FIXTURE], &script, "2025-11-25");
    let pings: Vec<_> =
        (0..MANY).map(|at| format!("{{\"jsonrpc\":\"2.0\",\"id\":{at},\"method\":\"ping\"}}\n")).collect();
    let pings = pings.concat();
    assert!(notes.len() < 64 * 1024 && pings.len() < 128 * 1024, "about one read");
    let begin = Instant::now();
    raw.write(pings.as_bytes());
    for at in 0..MANY {
        assert!(raw.line().contains(&format!("\"id\":{at},")), "in their order");
    }
    raw.write(format!("{}\n", tool_call("b", "burst", json!({}))).as_bytes());
    for _ in 0..MANY {
        assert!(raw.line().contains("n/n"));
    }
    assert!(raw.line().contains("\"id\":\"b\""));
    assert!(begin.elapsed() < Duration::from_secs(20), "it was a timer that found the rest");
    raw.finish();
}

#[test]
fn a_server_that_answers_what_it_likes_is_kept_apart_from_the_client() {
    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    let answer = format!(r#"{{"jsonrpc":"2.0","id":"evil","result":{{"x":{deep}}}}}"#);
    let noise = [
        r#"{"jsonrpc":"2.0","id":"nobody","result":{}}"#,
        r#"{"jsonrpc":"2.0","id":"open","result":{"again":true}}"#,
        r#"{"jsonrpc":"2.0","id":true,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":{},"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":null,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":1e400,"result":{},"error":{}}"#,
        r#"{"id":"evil"}"#,
        r#"[{"jsonrpc":"2.0","id":"evil","result":{}}]"#,
        "{\"jsonrpc\":\"2.0\",\"id\":\"evil\",\"result\":{}",
        "\u{0}\u{0}",
        "\r\r\r",
        &"[".repeat(100_000),
    ];
    let lines = noise.map(|line| format!("{line}\n")).concat();
    let script = json!({ "rules": [{ "on": "tools/call", "tool": "evil", "do": [
        { "stdout": lines }, { "stdout": format!("{answer}\n") }, { "stdout": format!("{answer}\n") }, { "stdout": lines },
    ] }, { "on": "tools/call", "tool": "both", "do": [
        { "stdout": "{\"jsonrpc\":\"2.0\",\"id\":\"both\",\"result\":{},\"error\":{\"code\":1,\"message\":\"x\"}}\n" },
    ] }] });
    let mut raw = Raw::start(&["--log-level", "error"], &[FIXTURE], &script, "2025-11-25");
    raw.write(format!("{}\n", tool_call("evil", "evil", json!({}))).as_bytes());
    assert_eq!(raw.line(), answer, "the first that answers it, with all its depth");
    assert_eq!(raw.before_a_call("after"), [""; 0], "and nothing else");
    raw.write(format!("{}\n", tool_call("both", "both", json!({}))).as_bytes());
    assert!(raw.line().contains("\"both\""), "result and error at once: the client's to judge");
    assert_eq!(raw.before_a_call("at last"), [""; 0]);
    raw.finish();
}

/// A server that prints without end would fill the disk by way of the log.
#[test]
fn what_is_no_message_is_in_the_log_up_to_a_limit_and_is_counted_beyond_it() {
    const LINES: usize = 50_000;
    let session = setup().options(["--log-level", "error"]).start();
    session.initialize();
    session.send(tool_call(1, "stray", json!({ "stdout": "junk of a server\n".repeat(LINES) })));
    assert_eq!(session.answer(1).text(), "strayed");
    let count = || {
        let log = session.stderr();
        let shown = log.lines().filter(|line| line.contains("stdout: junk of a server")).count();
        let counted = log
            .lines()
            .filter_map(|line| line.split_once(" lines of stdout that are no messages")?.0.rsplit(' ').next());
        (shown, shown + counted.map(|count| count.parse::<usize>().expect("a number")).sum::<usize>())
    };
    // Though nothing comes behind them.
    poll_until("all of them to be shown or counted", || count().1 == LINES);
    let shown = count().0;
    assert!((100..LINES / 10).contains(&shown), "{shown}");
    session.finish();
}

/// Checks a file within bounds of time and memory, and gives the exit code and what was said.
#[track_caller]
fn check_config(yaml: &str) -> (Option<i32>, String) {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let file = folder.path().join("large.yaml");
    fs::write(&file, yaml).expect("the folder can be written to");
    let mut shell = Command::new("sh");
    // Memory in KiB, and seconds of a processor: how many others want one does not matter.
    shell.args(["-c", "ulimit -v 1500000; ulimit -t 30; exec \"$0\" check-config \"$1\"", WATCHDOG]).arg(&file);
    let output = shell.current_dir(folder.path()).stdin(Stdio::null()).output().expect("there is a shell");
    let said = text(&output.stderr) + &text(&output.stdout);
    assert!(!said.contains("panicked"), "{said:.2000}");
    assert!(said.len() < 1_000_000, "{} bytes are said", said.len());
    (output.status.code(), said)
}

#[test]
fn a_file_that_grows_when_it_is_read_is_refused_in_time() {
    let mut bomb = String::from("x-a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol, lol]\n");
    for level in 1..12 {
        let items = vec![format!("*a{}", level - 1); 10].join(", ");
        bomb += &format!("x-a{level}: &a{level} [{items}]\n");
    }
    bomb += "version: 1\nservers:\n  s: { command: 'true', args: *a11 }\n";
    let (code, said) = check_config(&bomb);
    assert_eq!(code, Some(78), "{said:.2000}");

    for (open, close) in [("[", "]"), ("{a: ", "}")] {
        let deep = format!("version: 1\nx-deep: {}1{}\n", open.repeat(100_000), close.repeat(100_000));
        let (code, said) = check_config(&deep);
        assert_eq!(code, Some(78), "{said:.2000}");
    }
    let indented: String = (0..3000).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect();
    let (code, said) = check_config(&format!("x-deep:\n{}", indented.replace("a:\n", " a:\n")));
    assert_eq!(code, Some(78), "{said:.2000}");
}

#[test]
fn a_large_file_is_read_or_refused_in_time() {
    let servers = |count: usize, key: &str| -> String {
        let args = vec!["\"an argument of some length\""; 14].join(", ");
        (0..count).map(|at| format!("  server-{at}:\n    {key}: 'true'\n    args: [{args}]\n")).collect()
    };
    let yaml = |servers: String| format!("version: 1\nservers:\n{servers}");
    let (code, said) = check_config(&yaml(servers(20_000, "command")));
    assert_eq!(code, Some(78), "ten megabytes: {said:.2000}");
    assert!(said.contains("is longer than 4 MiB"), "{said:.2000}");
    let (code, said) = check_config(&yaml(servers(500, "command")));
    assert_eq!(code, Some(0), "{said:.2000}");
    // A mistake in each of them, and one name for all.
    let (code, said) = check_config(&yaml(servers(500, "comand")));
    assert_eq!(code, Some(78), "{said:.2000}");
    let (code, said) = check_config(&yaml("  same: { command: 'true' }\n".repeat(2000)));
    assert_eq!(code, Some(78), "{said:.2000}");
    assert!(said.contains("duplicate server name"), "{said:.2000}");
    // What little text can bring by an alias.
    let keys = (0..2000).map(|at| format!("K{at}: v")).collect::<Vec<_>>().join(", ");
    let users: String = (0..2000).map(|at| format!("  s{at}: {{ command: 'true', env: *e }}\n")).collect();
    let (code, said) = check_config(&format!("version: 1\nx-env: &e {{ {keys} }}\nservers:\n{users}"));
    assert_eq!(code, Some(78), "{said:.2000}");
    assert!(said.contains("more than 100000 values"), "{said:.2000}");
}

#[test]
fn who_keeps_the_control_socket_waiting_keeps_nobody_else() {
    let session = setup().start();
    session.initialize();
    let mut socket = None;
    poll_until("control socket", || {
        let end = format!("-{}.sock", session.pid());
        let entries = fs::read_dir(session.folder()).expect("the folder is there").flatten().map(|entry| entry.path());
        socket = entries.into_iter().find(|path| path.to_string_lossy().ends_with(&end));
        socket.as_ref().is_some_and(|path| UnixStream::connect(path).is_ok())
    });
    let socket = socket.expect("it was waited for");
    let before = peak_memory(session.pid());
    let connect = || UnixStream::connect(&socket).ok();
    // Many that say half a word, many that never read, one whose head has no end.
    let halves: Vec<_> = (0..200)
        .filter_map(|at| {
            let mut stream = connect()?;
            let begin = if at % 2 == 0 { "GET /mcp/serv" } else { "POST /mcp/servers/x/retry HTTP/1.1\r\nhost: x\r\n" };
            stream.write_all(begin.as_bytes()).ok().map(|()| stream)
        })
        .collect();
    let deaf: Vec<_> = (0..40)
        .filter_map(|_| {
            let mut stream = connect()?;
            let ask = "GET /openapi.json HTTP/1.1\r\nhost: x\r\n\r\n".repeat(20);
            stream.set_write_timeout(Some(Duration::from_millis(50))).ok()?;
            // As much of it as is taken.
            let _ = stream.write_all(ask.as_bytes());
            Some(stream)
        })
        .collect();
    if let Some(mut endless) = connect() {
        endless.set_write_timeout(Some(Duration::from_secs(5))).expect("it is open");
        endless.set_read_timeout(Some(Duration::from_secs(5))).expect("it is open");
        let _ = endless.write_all(b"GET /mcp/servers HTTP/1.1\r\n");
        let line = format!("x-long: {}\r\n", "y".repeat(8000));
        let refused = (0..5000).find(|_| endless.write_all(line.as_bytes()).is_err());
        let mut said = Vec::new();
        let _ = endless.read_to_end(&mut said);
        assert!(refused.is_some() || said.starts_with(b"HTTP/1.1 4"), "40 MB of head were taken");
    }
    for id in 1..=20 {
        session.send(tool_call(id, "echo", json!({ "text": "x" })));
        assert_eq!(session.answer(id).text(), "x");
        assert!(session.took(id) < Duration::from_secs(3), "a call took {:?}", session.took(id));
    }
    let cost = peak_memory(session.pid()) - before;
    assert!(cost < 64, "{cost} MiB");
    assert!(!halves.is_empty() && !deaf.is_empty());
    drop((halves, deaf));
    session.finish();
}
