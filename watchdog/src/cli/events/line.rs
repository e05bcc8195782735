//! An event as a line for people.

use serde_json::Value;

use crate::cli::operator::terminal::{Colour, Screen};
use crate::telemetry::plain;

/// `TIME LEVEL SERVER TYPE field=value…`, with the words of the JSON form, so that what is seen here can be looked for there.
pub(super) fn text(event: &Value, screen: Screen) -> String {
    let word = |key: &str| event[key].as_str().map(clean);
    let level = word("level").unwrap_or_default().to_uppercase();
    let colour = match level.as_str() {
        "ERROR" => Some(Colour::Red),
        "WARN" => Some(Colour::Yellow),
        "DEBUG" => Some(Colour::Grey),
        _ => None,
    };
    let level = format!("{level:>5}");
    let level = colour.map_or_else(|| level.clone(), |colour| screen.paint(&level, colour));
    let time = word("time").unwrap_or_default();
    let server = word("server").unwrap_or_else(|| "-".to_owned());
    let kind = word("type").unwrap_or_else(|| "unknown".to_owned());
    let mut line = format!("{time} {level} {server} {kind}");
    if let Some(generation) = event["generation"].as_u64() {
        line.push_str(&format!(" generation={generation}"));
    }
    for (key, value) in event["data"].as_object().into_iter().flatten() {
        if !is_told_already(key, value) {
            line.push_str(&format!(" {}={}", clean(key), written(value)));
        }
    }
    line.trim_start().to_owned()
}

/// What the line has in front, and what is empty.
fn is_told_already(key: &str, value: &Value) -> bool {
    let is_empty = match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    };
    is_empty || matches!(key, "name" | "generation")
}

/// A word as it is, anything else as JSON.
fn written(value: &Value) -> String {
    match value {
        Value::String(text) if !text.contains([' ', '"', '=']) && !text.contains(char::is_control) => clean(text),
        other => clean(&other.to_string()),
    }
}

fn clean(text: &str) -> String {
    plain::text(text, usize::MAX)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_words_of_the_json_form() {
        let event = json!({
            "v": 1, "id": "01J", "seq": 42, "time": "2026-11-27T21:00:00.123Z", "level": "error",
            "type": "server_reconnecting", "server": "memory", "generation": 7,
            "data": { "name": "memory", "attempt": 3, "nextRetryMs": 5000, "reason": "transport-exit",
                      "lastError": "exit code 1\u{1b}[2J", "suppressed": 0, "extra": null },
        });
        let wanted = "2026-11-27T21:00:00.123Z ERROR memory server_reconnecting generation=7 attempt=3 \
                      lastError=\"exit code 1\\u001b[2J\" nextRetryMs=5000 reason=transport-exit suppressed=0";
        assert_eq!(text(&event, Screen::default()), wanted);
        let colour = text(&event, Screen { colour: true, ..Screen::default() });
        assert!(colour.contains("\u{1b}[31mERROR\u{1b}[0m memory"), "{colour}");
    }

    #[test]
    fn what_is_missing_is_left_out() {
        let gap = json!({ "type": "gap", "data": { "since": 1, "oldest": 9 } });
        assert_eq!(
            text(&gap, Screen::default()).split_whitespace().collect::<Vec<_>>(),
            ["-", "gap", "oldest=9", "since=1"]
        );
        let started = json!({ "time": "t", "level": "info", "type": "server_added", "server": "a", "data": {} });
        assert_eq!(text(&started, Screen::default()), "t  INFO a server_added");
    }
}
