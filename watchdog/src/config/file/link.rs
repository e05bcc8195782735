//! One of `probe.chain`: the keys of the chain itself, and the probe's own options, which only the probe knows.

use std::fmt;
use std::time::Duration;

use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde_json::{Map, Value};

use super::Text;
use crate::config::duration::Above;
use crate::config::text::{FromText, Written, quoted};

/// The longest name of a link and of a method: both go into every line that tells of them.
const LONGEST: usize = 64;

/// A link as it is written.
pub(crate) struct Link {
    pub(crate) kind: String,
    pub(crate) name: Option<String>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) allow_methods: Vec<String>,
    pub(crate) options: Map<String, Value>,
}

impl<'de> Deserialize<'de> for Link {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(LinkVisitor)
    }
}

struct LinkVisitor;

impl<'de> Visitor<'de> for LinkVisitor {
    type Value = Link;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a link such as `{type: ping}`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Link, A::Error> {
        let (mut kind, mut name, mut timeout, mut methods) = (None, None, None, None);
        let mut options = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            match key.as_str() {
                "type" => kind = entries.next_value::<Text>()?.map(|text| text.0),
                "name" => name = entries.next_value::<Option<Written<Label>>>()?.map(|label| label.0.0),
                "timeout" => timeout = entries.next_value::<Option<Written<Above>>>()?.map(|limit| limit.0.0),
                "allow_methods" => methods = entries.next_value::<Option<Vec<Written<Callable>>>>()?,
                _ => {
                    options.insert(key, entries.next_value()?);
                }
            }
        }
        let kind = kind.ok_or_else(|| A::Error::custom("a link needs a `type`, such as `type: ping`"))?;
        let allow_methods = methods.unwrap_or_default().into_iter().map(|method| method.0.0).collect();
        Ok(Link { kind, name, timeout, allow_methods, options })
    }
}

/// `name`: a link's label.
struct Label(String);

impl FromText for Label {
    const EXPECTED: &'static str = "a name of letters, digits, `.`, `_` and `-`, at most 64 of them";

    fn from_text(text: &str) -> Result<Self, String> {
        match is_word(text, b"._-") {
            true => Ok(Self(text.to_owned())),
            false => Err(format!("expected {}, not {}", Self::EXPECTED, quoted(text))),
        }
    }
}

/// One of `allow_methods`.
struct Callable(String);

impl FromText for Callable {
    const EXPECTED: &'static str = "a method such as `resources/read`";

    fn from_text(text: &str) -> Result<Self, String> {
        if !is_word(text, b"/._-$") {
            return Err(format!("expected {}, not {}", Self::EXPECTED, quoted(text)));
        }
        // Nothing answers a notification, and a second `initialize` would end the client's session.
        if text == "initialize" || text.starts_with("notifications/") {
            return Err(format!("{} is not for probes", quoted(text)));
        }
        Ok(Self(text.to_owned()))
    }
}

fn is_word(text: &str, marks: &[u8]) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || marks.contains(&byte);
    (1..=LONGEST).contains(&text.len()) && text.bytes().all(allowed)
}
