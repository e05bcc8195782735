//! The built-in health probes.
//!
//! Each is one file and one line in [`builtin`]. A probe sees the supervised server only through
//! [`probe_api::Context`]; rmcp lends the protocol's names and model types, and is used for nothing else here.

use probe_api::{ConfigError, Probe, ProbeKind};
use serde_json::{Map, Value};

mod discover;
mod ping;
mod request;
mod tools_list;

pub use discover::Discover;
pub use ping::Ping;
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
    const ENTRIES: &[Entry] = &[Entry::of::<Ping>(true), Entry::of::<Discover>(true), Entry::of::<ToolsList>(false)];
    ENTRIES
}

fn make<P: ProbeKind>(options: Value) -> Result<Box<dyn Probe>, ConfigError> {
    let options = if options.is_null() { Value::Object(Map::new()) } else { options };
    let config = serde_json::from_value(options).map_err(|error| ConfigError(error.to_string()))?;
    Ok(Box::new(P::new(config)?))
}

#[cfg(test)]
mod tests {
    use probe_api::Verdict;
    use probe_api::testing::FakeContext;
    use serde_json::json;

    use super::*;

    #[test]
    fn every_name_makes_a_probe_from_no_options() {
        let names: Vec<_> = builtin().iter().map(|kind| kind.name).collect();
        assert_eq!(names, ["ping", "discover", "tools_list"]);
        for kind in builtin() {
            for options in [Value::Null, json!({})] {
                let mut probe = kind.make(options).unwrap();
                assert_ne!(FakeContext::new().check(&mut *probe), Verdict::Inconclusive(String::new()));
            }
        }
    }

    #[test]
    fn unknown_options_and_wrong_shapes_are_refused() {
        for kind in builtin() {
            let refused = |options| kind.make(options).err().unwrap().to_string();
            assert!(refused(json!({ "timout": 3 })).contains("unknown field `timout`"), "{}", kind.name);
            assert!(refused(json!(["x"])).contains("invalid"), "{}", kind.name);
            assert!(refused(json!("x")).contains("invalid type"), "{}", kind.name);
        }
    }
}
