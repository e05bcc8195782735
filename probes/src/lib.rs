//! The built-in health probes.
//!
//! Each is one file and one line in [`builtin`]. A probe sees the supervised server only through
//! [`probe_api::Context`]; rmcp lends the protocol's names and model types, and is used for nothing else here.

use probe_api::{ConfigError, Probe, ProbeKind};
use serde_json::{Map, Value};

mod activity;
mod address;
pub mod aside;
mod cpu;
mod discover;
mod file;
mod http;
mod memory;
mod ping;
mod process;
mod question;
mod request;
mod tcp;
mod tool_call;
mod tools_list;

pub use activity::Activity;
pub use cpu::Cpu;
pub use discover::Discover;
pub use file::File;
pub use http::Http;
pub use memory::{Memory, memory_above};
pub use ping::Ping;
pub use process::Process;
pub use tcp::Tcp;
pub use tool_call::ToolCall;
pub use tools_list::ToolsList;

/// A line of a registry: a probe that links of a chain can name.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// The word behind `type:`.
    pub name: &'static str,
    /// Whether the probe only asks whether one optional request is answered, so that a server which leaves that
    /// request unanswered but answers later links is well, and need not be asked so again.
    pub skippable: bool,
    /// Methods that the probe calls besides those that every probe may: naming such a probe in a chain permits them.
    pub methods: &'static [&'static str],
    make: fn(Value) -> Result<Box<dyn Probe>, ConfigError>,
}

impl Entry {
    /// Describes a probe by its type.
    #[must_use]
    pub const fn of<P: ProbeKind>(skippable: bool) -> Self {
        Self { name: P::NAME, skippable, methods: &[], make: make::<P> }
    }

    /// The same, with methods that it may call.
    #[must_use]
    pub const fn calling(self, methods: &'static [&'static str]) -> Self {
        Self { methods, ..self }
    }

    /// Makes a probe from a link's options; `null` stands for none.
    ///
    /// # Errors
    /// When the options are not what the probe knows, or cannot work.
    pub fn make(&self, options: Value) -> Result<Box<dyn Probe>, ConfigError> {
        (self.make)(options)
    }
}

/// All built-in probes.
#[must_use]
pub fn builtin() -> &'static [Entry] {
    const ENTRIES: &[Entry] = &[
        Entry::of::<Ping>(true),
        Entry::of::<Discover>(true),
        Entry::of::<ToolsList>(false),
        Entry::of::<ToolCall>(false).calling(&["tools/call"]),
        Entry::of::<Process>(false),
        Entry::of::<Activity>(false),
        Entry::of::<Cpu>(false),
        Entry::of::<Memory>(false),
        Entry::of::<Tcp>(false),
        Entry::of::<Http>(false),
        Entry::of::<File>(false),
    ];
    ENTRIES
}

fn make<P: ProbeKind>(options: Value) -> Result<Box<dyn Probe>, ConfigError> {
    let options = if options.is_null() { Value::Object(Map::new()) } else { options };
    let config = serde_json::from_value(options).map_err(|error| ConfigError(error.to_string()))?;
    Ok(Box::new(P::new(config)?))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The least options of each.
    fn least(name: &str) -> Value {
        match name {
            "tool_call" => json!({ "tool": "status" }),
            "memory" => json!({ "limit": "512MiB" }),
            "tcp" => json!({ "address": "127.0.0.1:5432" }),
            "http" => json!({ "url": "http://127.0.0.1:8080/health" }),
            "file" => json!({ "path": "/run/server/beat" }),
            _ => json!({}),
        }
    }

    #[test]
    fn every_name_makes_a_probe_from_the_least_options() {
        let names: Vec<_> = builtin().iter().map(|kind| kind.name).collect();
        let expected = [
            "ping",
            "discover",
            "tools_list",
            "tool_call",
            "process",
            "activity",
            "cpu",
            "memory",
            "tcp",
            "http",
            "file",
        ];
        assert_eq!(names, expected);
        for kind in builtin() {
            assert!(kind.make(least(kind.name)).is_ok(), "{}", kind.name);
            let without = kind.make(Value::Null).err().map(|error| error.0);
            let required = least(kind.name).as_object().and_then(|options| options.keys().next().cloned());
            assert_eq!(without, required.map(|key| format!("missing field `{key}`")), "{}", kind.name);
        }
    }

    #[test]
    fn unknown_options_and_wrong_shapes_are_refused() {
        for kind in builtin() {
            let refused = |options| kind.make(options).err().unwrap().to_string();
            let mut options = least(kind.name);
            options["timout"] = json!(3);
            assert!(refused(options).contains("unknown field `timout`"), "{}", kind.name);
            assert!(refused(json!("x")).contains("invalid type"), "{}", kind.name);
        }
    }

    #[test]
    fn only_the_probe_that_runs_tools_may_call_more_than_all_may() {
        let more: Vec<_> = builtin().iter().filter(|kind| !kind.methods.is_empty()).collect();
        assert_eq!(
            more.iter().map(|kind| (kind.name, kind.methods)).collect::<Vec<_>>(),
            [("tool_call", &["tools/call"][..])]
        );
    }
}
