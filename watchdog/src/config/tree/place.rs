//! The way back from a path to a line.
//!
//! The parser tells a place only together with an error. So a place is found by reading the text once more with a reader
//! that fails at the path in question: slow, exact, and needed only when there is something to report.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::Step;

/// A line and a column, both from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) line: usize,
    pub(crate) column: usize,
}

/// What is looked for at the end of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    /// The key's own place; with duplicates, the one of this number, from 0.
    Key(usize),
    /// The value's place.
    Value,
}

/// The place of a path in a text, or of the deepest part of the path that is written there.
pub(crate) fn locate(text: &str, path: &[Step], target: Target) -> Option<Place> {
    let found = Find { path, target }.deserialize(serde_yaml::Deserializer::from_str(text));
    match (found, path) {
        (Err(error), _) => error.location().map(|at| Place { line: at.line(), column: at.column() }),
        (Ok(()), [shorter @ .., _]) => locate(text, shorter, Target::Value),
        (Ok(()), []) => None,
    }
}

/// Fails at the path, and so makes the parser tell the place.
struct Find<'a> {
    path: &'a [Step],
    target: Target,
}

impl<'de> DeserializeSeed<'de> for Find<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        if self.path.is_empty() { deserializer.deserialize_any(Here) } else { deserializer.deserialize_any(self) }
    }
}

/// Accepts nothing.
struct Here;

impl Visitor<'_> for Here {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("nothing")
    }
}

impl<'de> Visitor<'de> for Find<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map or a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let [Step::Index(wanted), rest @ ..] = self.path else {
            return drain(items);
        };
        for _ in 0..*wanted {
            items.next_element::<IgnoredAny>()?;
        }
        items.next_element_seed(Find { path: rest, target: self.target })?;
        drain(items)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        let [Step::Key(wanted), rest @ ..] = self.path else {
            while entries.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            return Ok(());
        };
        let mut nth = match self.target {
            Target::Key(nth) if rest.is_empty() => Some(nth),
            _ => None,
        };
        while let Some(matches) = entries.next_key_seed(FindKey { wanted, nth: &mut nth })? {
            if matches && (self.target == Target::Value || !rest.is_empty()) {
                entries.next_value_seed(Find { path: rest, target: self.target })?;
            } else {
                entries.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }
}

fn drain<'de, A: SeqAccess<'de>>(mut items: A) -> Result<(), A::Error> {
    while items.next_element::<IgnoredAny>()?.is_some() {}
    Ok(())
}

/// Compares a key, and fails at the one that is looked for.
struct FindKey<'a> {
    wanted: &'a str,
    nth: &'a mut Option<usize>,
}

impl<'de> DeserializeSeed<'de> for FindKey<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for FindKey<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<bool, E> {
        if key != self.wanted {
            return Ok(false);
        }
        match self.nth {
            Some(0) => return Err(E::custom("found")),
            Some(left) => *left -= 1,
            None => {}
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests;
