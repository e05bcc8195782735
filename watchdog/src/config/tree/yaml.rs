//! YAML text to a tree.

use std::cell::Cell;
use std::fmt;

use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, EnumAccess, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor,
};

use super::place::Place;
use super::{Kind, Node, Origin, Scalar, SourceId, Step, Value};

/// The text is not YAML.
#[derive(Debug)]
pub(crate) struct SyntaxError {
    pub(crate) message: String,
    pub(crate) place: Option<Place>,
}

/// The parser takes time that grows with the square of this, and refuses a fraction of it in the end.
const DEEPEST: usize = 500;

/// More values than any configuration has, those of aliases counted as often as they are named: each costs memory.
const MOST_VALUES: u32 = 100_000;

/// Where too many brackets are open. Those in quotes and comments count too: nobody writes so many there.
fn too_deep(text: &str) -> Option<Place> {
    let mut open = 0_usize;
    let at = text.bytes().position(|byte| {
        match byte {
            b'[' | b'{' => open += 1,
            b']' | b'}' => open = open.saturating_sub(1),
            _ => {}
        }
        open > DEEPEST
    })?;
    let before = text.get(..at)?;
    let line = before.rsplit('\n').next().unwrap_or_default();
    Some(Place { line: before.matches('\n').count() + 1, column: line.chars().count() + 1 })
}

/// Reads a text. Duplicate keys stay in the tree, for the caller to report.
pub(crate) fn parse(text: &str, source: SourceId) -> Result<Node, SyntaxError> {
    let origin = Origin { source, path: Vec::new() };
    if text.trim().is_empty() {
        return Ok(Node { value: Value::Scalar(Scalar { text: String::new(), kind: Kind::Null }), origin });
    }
    if let Some(place) = too_deep(text) {
        return Err(SyntaxError { message: format!("more than {DEEPEST} brackets are open here"), place: Some(place) });
    }
    let left = &Cell::new(MOST_VALUES);
    let mut node =
        Build { origin, left }.deserialize(serde_yaml::Deserializer::from_str(text)).map_err(|e| syntax(text, &e))?;
    Spell { node: &mut node }.deserialize(serde_yaml::Deserializer::from_str(text)).map_err(|e| syntax(text, &e))?;
    Ok(node)
}

fn syntax(text: &str, error: &serde_yaml::Error) -> SyntaxError {
    let place = error.location().map(|at| Place { line: at.line(), column: at.column() });
    let mut message = error.to_string();
    if message.contains("more than one document") {
        "holds more than one YAML document".clone_into(&mut message);
    }
    if let Some(at) = place {
        message = message.replacen(&format!(" at line {} column {}", at.line, at.column), "", 1);
    }
    let place = place.map(|place| within(text, place));
    if place.is_some_and(|place| is_indented_by_tab(text, place)) {
        message.push_str(": YAML is indented by spaces, not by tabs");
    }
    SyntaxError { message, place }
}

fn is_indented_by_tab(text: &str, place: Place) -> bool {
    let line = text.lines().nth(place.line.saturating_sub(1)).unwrap_or_default();
    line.chars().take_while(|c| c.is_whitespace()).any(|c| c == '\t')
}

/// What is missing at the end of a text is missing behind the last thing that is there.
fn within(text: &str, place: Place) -> Place {
    if place.line <= text.lines().count() {
        return place;
    }
    let text = text.trim_end();
    let column = text.lines().last().map_or(0, |line| line.chars().count()) + 1;
    Place { line: text.lines().count().max(1), column }
}

/// Makes the tree. What it cannot know is how a number was spelled.
struct Build<'a> {
    origin: Origin,
    /// How many values there may still be.
    left: &'a Cell<u32>,
}

impl Build<'_> {
    fn inner(&self, step: Step) -> Self {
        Self { origin: self.origin.child(step), left: self.left }
    }

    fn scalar<E>(self, kind: Kind) -> Result<Node, E> {
        Ok(Node { value: Value::Scalar(Scalar { text: String::new(), kind }), origin: self.origin })
    }
}

impl<'de> DeserializeSeed<'de> for Build<'_> {
    type Value = Node;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node, D::Error> {
        let Some(left) = self.left.get().checked_sub(1) else {
            let message = format!("holds more than {MOST_VALUES} values, those that aliases bring counted");
            return Err(D::Error::custom(message));
        };
        self.left.set(left);
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Build<'_> {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value without a tag")
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        self.scalar(Kind::Null)
    }

    fn visit_none<E>(self) -> Result<Node, E> {
        self.scalar(Kind::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Node, E> {
        self.scalar(Kind::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Node, E> {
        self.scalar(Kind::Unsigned(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Node, E> {
        self.scalar(Kind::Signed(value))
    }

    fn visit_u128<E>(self, _: u128) -> Result<Node, E> {
        self.scalar(Kind::Text)
    }

    fn visit_i128<E>(self, _: i128) -> Result<Node, E> {
        self.scalar(Kind::Text)
    }

    fn visit_f64<E>(self, value: f64) -> Result<Node, E> {
        self.scalar(Kind::Float(value))
    }

    fn visit_str<E>(self, _: &str) -> Result<Node, E> {
        self.scalar(Kind::Text)
    }

    fn visit_enum<A: EnumAccess<'de>>(self, _: A) -> Result<Node, A::Error> {
        Err(A::Error::custom("a tag (`!…`) is not understood here"))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Node, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(self.inner(Step::Index(list.len())))? {
            list.push(item);
        }
        Ok(Node { value: Value::List(list), origin: self.origin })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Node, A::Error> {
        let mut map = Vec::new();
        while let Some(key) = entries.next_key::<String>()? {
            let node = entries.next_value_seed(self.inner(Step::Key(key.clone())))?;
            map.push((key, node));
        }
        Ok(Node { value: Value::Map(map), origin: self.origin })
    }
}

/// Goes through the text again, beside the tree, and takes every scalar as it is spelled.
struct Spell<'a> {
    node: &'a mut Node,
}

impl<'de> DeserializeSeed<'de> for Spell<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        match self.node.value {
            // An empty text is no scalar to the parser.
            Value::Scalar(Scalar { kind: Kind::Null, .. }) => IgnoredAny::deserialize(deserializer).map(|_| ()),
            Value::Scalar(_) => deserializer.deserialize_str(self),
            Value::List(_) => deserializer.deserialize_seq(self),
            Value::Map(_) => deserializer.deserialize_map(self),
        }
    }
}

impl<'de> Visitor<'de> for Spell<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the same text as before")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        if let Value::Scalar(scalar) = &mut self.node.value {
            text.clone_into(&mut scalar.text);
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        if let Value::List(list) = &mut self.node.value {
            for node in list {
                items.next_element_seed(Spell { node })?;
            }
        }
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        if let Value::Map(map) = &mut self.node.value {
            for (_, node) in map {
                if entries.next_key::<IgnoredAny>()?.is_some() {
                    entries.next_value_seed(Spell { node })?;
                }
            }
        }
        while entries.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(())
    }
}

#[cfg(test)]
mod tests;
