//! One server's entry, key by key.

use probe_api::options::Span;
use serde_yaml::{Mapping, Value};

use crate::ecosystem::client::{self, Kind, TRANSPORTS, URLS};
use crate::ecosystem::item::{self, Entry, Item};

use super::{Request, Unit, variables};

/// What there is to say about one server.
pub(super) struct Notes<'a> {
    pub(super) server: String,
    pub(super) warnings: &'a mut Vec<String>,
    pub(super) errors: &'a mut Vec<String>,
}

impl Notes<'_> {
    fn warn(&mut self, message: impl std::fmt::Display) {
        self.warnings.push(format!("{}: {message}", self.server));
    }

    fn error(&mut self, message: impl std::fmt::Display) {
        self.errors.push(format!("{}: {message}", self.server));
    }
}

/// The clients' keys that say nothing which holds for a server by itself.
const SILENT: [&str; 2] = ["source", "command"];

/// How much shorter than the client's limit of a call ours has to be: what is asked of the server must be known before the
/// client gives up.
const MARGIN: f64 = 1.5;

/// The section of one server, unless there can be none, which is noted.
pub(super) fn section(entry: &Item, request: &Request<'_>, notes: &mut Notes<'_>) -> Option<Mapping> {
    let mut made = Made { section: Mapping::new(), request, notes };
    match client::kind(entry) {
        Kind::Command(command, args) => made.command(command, args),
        Kind::Remote => made.notes.warn("is remote, and this version runs servers that are commands"),
        Kind::Extension => {
            made.notes.warn("is left out: it belongs to an extension of the client, which knows its command");
            return None;
        }
        Kind::Other(reason) => {
            made.notes.error(reason);
            return None;
        }
    }
    for Entry { key, item, .. } in entry.entries() {
        let counts = entry.entry(key).is_some_and(|last| std::ptr::eq(&raw const last.item, item));
        if counts && !matches!(item.value, item::Value::Null) {
            made.key(key, item);
        }
    }
    if let Some(ours) = entry.get("x-mcp-watchdog") {
        made.ours(ours);
    }
    Some(made.section)
}

struct Made<'a, 'n> {
    section: Mapping,
    request: &'a Request<'a>,
    notes: &'a mut Notes<'n>,
}

impl Made<'_, '_> {
    fn put(&mut self, key: &str, value: impl Into<Value>) {
        self.section.insert(key.into(), value.into());
    }

    /// Sets a key one level deeper.
    fn put_in(&mut self, map: &str, key: &str, value: impl Into<Value>) {
        let inner = self.section.entry(map.into()).or_insert_with(|| Value::Mapping(Mapping::new()));
        if let Value::Mapping(inner) = inner {
            inner.insert(key.into(), value.into());
        }
    }

    fn convert(&mut self, key: &str, text: &str) -> String {
        variables::convert(text, self.request.workspace).unwrap_or_else(|error| {
            self.notes.error(format_args!("`{key}`: {error}"));
            String::new()
        })
    }

    fn command(&mut self, command: &Item, args: Option<&Item>) {
        let args = args.and_then(Item::as_list).unwrap_or_default();
        let mut words: Vec<&Item> = std::iter::once(command).chain(args).collect();
        if client::is_watchdog(command.as_text().unwrap_or_default(), None) {
            match args.iter().position(|arg| arg.as_text() == Some("--")) {
                Some(dashes) if dashes + 1 < args.len() => {
                    self.notes
                        .warn("runs under mcp-watchdog already: the server behind `--` is taken, without the options");
                    words.drain(..dashes + 2);
                }
                _ => self.notes.error("runs mcp-watchdog, but without a command behind `--`"),
            }
        }
        let mut words = words.into_iter();
        if let Some(program) = words.next().and_then(Item::scalar) {
            let program = self.convert("command", &program);
            if words.len() == 0 && program.contains(char::is_whitespace) {
                self.notes.warn("`command` has spaces and is not split: arguments go into `args`, there is no shell");
            }
            self.put("command", program);
        }
        let mut list = Vec::new();
        for word in words {
            match word.scalar() {
                Some(text) => list.push(Value::from(self.convert("args", &text))),
                None => self.notes.error("`args`: an argument is not text"),
            }
        }
        if !list.is_empty() {
            self.put("args", list);
        }
    }

    fn key(&mut self, key: &str, item: &Item) {
        match key {
            // They were looked at together, or come last.
            "args" | "x-mcp-watchdog" => {}
            _ if SILENT.contains(&key) => {}
            _ if TRANSPORTS.contains(&key) => self.transport(key, item),
            _ if URLS.contains(&key) => self.text(key, "url", item),
            "cwd" => self.text(key, "cwd", item),
            "env" => self.texts(key, "env", item),
            "headers" | "http_headers" => self.texts(key, "headers", item),
            "envFile" | "env_file" => self.env_file(key, item),
            "disabled" | "enabled" => self.enabled(key, item),
            "timeout" => match self.request.timeout_unit {
                Some(unit) => self.tool_timeout(key, item, unit),
                None => self.notes.warn(
                    "`timeout` is left out: to some clients it is seconds, to others milliseconds; `mcp-watchdog import --timeout-unit` takes it",
                ),
            },
            "tool_timeout_sec" => self.tool_timeout(key, item, Unit::Seconds),
            "startup_timeout_sec" => self.duration(key, item, Unit::Seconds, "handshake", "timeout"),
            "startup_timeout_ms" => self.duration(key, item, Unit::Milliseconds, "handshake", "timeout"),
            "connection" => self.connection(item),
            _ => self.notes.warn(format_args!("`{key}` is the client's own and is left out")),
        }
    }

    fn transport(&mut self, key: &str, item: &Item) {
        match item.as_text() {
            Some("stdio") => {}
            Some(transport) => self.put("type", transport),
            None => self.notes.error(format_args!("`{key}` is not text")),
        }
    }

    fn text(&mut self, key: &str, ours: &str, item: &Item) {
        match item.as_text() {
            Some(text) => {
                let text = self.convert(key, text);
                self.put(ours, text);
            }
            None => self.notes.error(format_args!("`{key}` is not text")),
        }
    }

    fn texts(&mut self, key: &str, ours: &str, item: &Item) {
        if !matches!(item.value, item::Value::Map(_)) {
            return self.notes.error(format_args!("`{key}` is not a map"));
        }
        for entry in item.entries().iter().filter(|entry| !matches!(entry.item.value, item::Value::Null)) {
            let name = format!("{key}.{}", entry.key);
            match entry.item.scalar() {
                Some(text) => {
                    let text = self.convert(&name, &text);
                    self.put_in(ours, &entry.key, text);
                }
                None => self.notes.error(format_args!("`{name}` is not text")),
            }
        }
    }

    /// Relative files lie beside the client's file, and the result may lie elsewhere.
    fn env_file(&mut self, key: &str, item: &Item) {
        let Some(text) = item.as_text() else { return self.notes.error(format_args!("`{key}` is not text")) };
        let path = self.convert(key, text);
        let whole = path.starts_with('/') || path.starts_with("${");
        match (whole, self.request.folder) {
            (true, _) => self.put("env_file", path),
            (false, Some(folder)) => {
                let folder = folder.replace("${", "$${");
                self.put("env_file", format!("{}/{path}", folder.trim_end_matches('/')));
            }
            (false, None) => self.notes.error(format_args!("`{key}` is relative to a folder whose name is not UTF-8")),
        }
    }

    fn enabled(&mut self, key: &str, item: &Item) {
        match item.as_bool() {
            // The default needs no line.
            Some(value) if (key == "enabled") != value => self.put("enabled", false),
            Some(_) => {}
            None => self.notes.error(format_args!("`{key}` is neither `true` nor `false`")),
        }
    }

    fn tool_timeout(&mut self, key: &str, item: &Item, unit: Unit) {
        let Some(limit) = self.time(key, item, unit, MARGIN) else { return };
        self.notes.warn(format_args!(
            "`{key}` is when the client gives up; `tool_timeout` is {limit}, so that what ails the server is known before"
        ));
        self.put("tool_timeout", limit);
    }

    fn duration(&mut self, key: &str, item: &Item, unit: Unit, map: &str, ours: &str) {
        if let Some(time) = self.time(key, item, unit, 1.0) {
            self.put_in(map, ours, time);
        }
    }

    /// A number of a unit, divided, as we write durations.
    fn time(&mut self, key: &str, item: &Item, unit: Unit, divisor: f64) -> Option<String> {
        let number = match &item.value {
            item::Value::Number(number) => number.parse::<f64>().ok(),
            _ => None,
        };
        let millis = number.map(|number| number * if unit == Unit::Seconds { 1000.0 } else { 1.0 } / divisor);
        match millis.and_then(|millis| std::time::Duration::try_from_secs_f64(millis.round() / 1000.0).ok()) {
            Some(time) if !time.is_zero() => Some(Span(time).to_string()),
            _ => {
                self.notes.error(format_args!("`{key}` is not a time above zero"));
                None
            }
        }
    }

    /// Toolman's keys.
    fn connection(&mut self, item: &Item) {
        for Entry { key, item, .. } in item.entries() {
            let name = format!("connection.{key}");
            match key.as_str() {
                "keepalive_timeout" => self.duration(&name, item, Unit::Seconds, "keepalive", "timeout"),
                "heartbeat_interval" => self.duration(&name, item, Unit::Seconds, "keepalive", "interval"),
                "reconnect_delay" => self.duration(&name, item, Unit::Milliseconds, "restart", "initial_delay"),
                "reconnect_attempts" => match item.scalar().and_then(|text| text.parse::<u32>().ok()) {
                    Some(attempts) => self.put_in("restart", "max_attempts", attempts),
                    None => self.notes.error(format_args!("`{name}` is not a whole number")),
                },
                _ => self.notes.warn(format_args!("`{name}` is not known and is left out")),
            }
        }
    }

    /// Keys of ours that the user keeps in the client's file win over what was made of the client's.
    fn ours(&mut self, item: &Item) {
        match yaml(item) {
            Value::Mapping(ours) => overlay(&mut self.section, ours),
            _ => self.notes.error("`x-mcp-watchdog` is not a map of keys"),
        }
    }
}

fn overlay(lower: &mut Mapping, upper: Mapping) {
    for (key, value) in upper {
        match (lower.get_mut(&key), value) {
            (Some(Value::Mapping(lower)), Value::Mapping(upper)) => overlay(lower, upper),
            (_, value) => {
                lower.insert(key, value);
            }
        }
    }
}

fn yaml(item: &Item) -> Value {
    match &item.value {
        item::Value::Null => Value::Null,
        item::Value::Bool(value) => Value::Bool(*value),
        item::Value::Text(text) => Value::from(text.as_str()),
        item::Value::Number(text) => serde_yaml::from_str(text).unwrap_or_else(|_| Value::from(text.as_str())),
        item::Value::List(items) => Value::Sequence(items.iter().map(yaml).collect()),
        item::Value::Map(map) => {
            Value::Mapping(map.entries.iter().map(|entry| (entry.key.as_str().into(), yaml(&entry.item))).collect())
        }
    }
}
