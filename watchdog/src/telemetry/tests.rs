use std::io::Read;

use tracing::{Level, debug, error, info, info_span, warn};

use super::*;

fn log(level: LogLevel, format: LogFormat) -> (LogHandle, io::PipeReader) {
    let (read, write) = io::pipe().unwrap();
    (LogHandle::start(write.into(), &Log { level, format }, "memory").unwrap(), read)
}

/// What `write` leaves in the log, line by line.
fn written(level: LogLevel, format: LogFormat, write: impl FnOnce(&LogHandle)) -> Vec<String> {
    let (handle, mut read) = log(level, format);
    tracing::subscriber::with_default(subscriber(&handle), || write(&handle));
    assert!(handle.flush(Duration::from_secs(20)));
    drop(handle);
    let mut text = String::new();
    read.read_to_string(&mut text).unwrap();
    text.lines().map(str::to_owned).collect()
}

/// Checks the time at the start of a line and cuts it off.
fn without_time(line: &str) -> &str {
    let (time, rest) = line.split_at("2026-11-27T21:00:00.123Z".len());
    humantime::parse_rfc3339(time).unwrap();
    rest
}

#[test]
fn text_lines() {
    let error = io::Error::from_raw_os_error(2);
    let lines = written(LogLevel::Info, LogFormat::Text, |_| {
        info!(target: "mcp", generation = 3, event = "server_connected", "memory: connected");
        warn!(reason = "two words", empty = "", word = "one", ok = true, ratio = 0.5, "said");
        error!(target: "rmcp::model", error = &error as &dyn std::error::Error, "a stranger\nspeaks \u{1b}[31m");
        debug!("not wanted");
        let _span = info_span!("slot", server = "memory", generation = 4).entered();
        info!(attempt = 2, "in a span");
    });
    let lines: Vec<_> = lines.iter().map(|line| without_time(line)).collect();
    assert_eq!(
        lines,
        [
            "  INFO [mcp] memory: connected generation=3 event=server_connected",
            r#"  WARN said reason="two words" empty="" word=one ok=true ratio=0.5"#,
            r#" ERROR rmcp::model: a stranger\nspeaks \u{1b}[31m error="No such file or directory (os error 2)""#,
            "  INFO in a span attempt=2 server=memory generation=4",
        ]
    );
}

#[test]
fn json_lines() {
    let lines = written(LogLevel::Debug, LogFormat::Json, |handle| {
        debug!(target: "mcp", generation = 3_u64, quoted = "a \"b\"\n", ok = false, "said \u{1b}");
        let _span = info_span!("slot", server = "memory").entered();
        info!(attempt = -2, ratio = f64::NAN, "in a span");
        handle.line(b"one \"two\" \xff");
        handle.stray(b"Server running on stdio");
        handle.probe_line("check-db", b"slow");
    });
    let mut objects: Vec<serde_json::Value> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    for object in &mut objects {
        let time = object.as_object_mut().unwrap().remove("time").unwrap();
        humantime::parse_rfc3339(time.as_str().unwrap()).unwrap();
    }
    let expected = serde_json::json!([
        { "level": "debug", "target": "mcp", "message": "said \u{1b}", "generation": 3, "quoted": "a \"b\"\n", "ok": false },
        { "level": "info", "target": "watchdog::telemetry::tests", "message": "in a span", "attempt": -2, "ratio": null,
          "server": "memory" },
        { "level": "info", "target": "stderr", "server": "memory", "message": "one \"two\" \u{fffd}" },
        { "level": "info", "target": "stdout", "server": "memory", "message": "Server running on stdio" },
        { "level": "info", "target": "probe", "server": "memory", "probe": "check-db", "message": "slow" },
    ]);
    assert_eq!(serde_json::Value::from(objects), expected);
}

#[test]
fn server_lines_have_a_prefix_and_keep_their_bytes() {
    let (handle, mut read) = log(LogLevel::Error, LogFormat::Text);
    handle.line(b"\x1b[31mred\x1b[0m \xff");
    handle.stray(b"hello");
    handle.probe_line("check-db", b"slow\xff");
    handle.line(&[b'x'; 20_000]);
    assert!(handle.flush(Duration::from_secs(20)));
    drop(handle);
    let mut bytes = Vec::new();
    read.read_to_end(&mut bytes).unwrap();
    let mut expected = b"[mcp] memory: \x1b[31mred\x1b[0m \xff\n[mcp] memory: stdout: hello\n".to_vec();
    expected.extend_from_slice(b"[mcp] memory: probe check-db: slow\xff\n[mcp] memory: ");
    expected.extend_from_slice(&[b'x'; LONGEST_LINE]);
    expected.push(b'\n');
    assert!(bytes == expected);
}

#[test]
fn levels() {
    for (level, expected) in [
        (LogLevel::Error, "error"),
        (LogLevel::Warn, "error warn"),
        (LogLevel::Info, "error warn info"),
        (LogLevel::Debug, "error warn info debug"),
        (LogLevel::Trace, "error warn info debug trace"),
    ] {
        let lines = written(level, LogFormat::Text, |handle| {
            error!("error");
            warn!("warn");
            info!("info");
            debug!("debug");
            tracing::trace!("trace");
            assert!(handle.enabled(Level::ERROR));
            assert_eq!(handle.enabled(Level::INFO), expected.contains("info"));
        });
        let said: Vec<_> = lines.iter().map(|line| without_time(line).split_whitespace().nth(1).unwrap()).collect();
        assert_eq!(said.join(" "), expected);
    }
}

#[test]
fn off_is_silence() {
    let handle = LogHandle::discard();
    handle.line(b"x");
    handle.raw(b"x");
    assert!(!handle.enabled(Level::ERROR));
    assert!(handle.flush(Duration::ZERO));
}

#[test]
fn the_summary_fits_its_room_in_both_forms() {
    for format in [LogFormat::Text, LogFormat::Json] {
        let line = format::dropped(format, u64::MAX);
        assert!(line.contains("18446744073709551615"));
        assert!(line.len() < 256);
    }
    let line = format::dropped(LogFormat::Json, 3);
    assert_eq!(serde_json::from_str::<serde_json::Value>(&line).unwrap()["dropped"], 3);
}

#[test]
fn timestamps() {
    let at =
        |seconds: u64, millis| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds) + Duration::from_millis(millis);
    assert_eq!(timestamp(at(1_795_813_200, 123)), "2026-11-27T21:00:00.123Z");
    assert_eq!(timestamp(SystemTime::UNIX_EPOCH - Duration::from_secs(1)), "1970-01-01T00:00:00.000Z");
    assert_eq!(timestamp(at(1_000_000_000_000, 0)), "9999-12-31T23:59:59.000Z");
}
