//! All keys there are, read off the file shapes themselves, for the environment, for `--set` and for hints.
//!
//! A shape tells its fields when it is deserialised. [`Trace`] pretends to be a source, walks into the field that it was
//! told to, and then stops with what it found there.

use std::fmt;

use serde::de::value::StrDeserializer;
use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, IntoDeserializer, MapAccess, Visitor};
use serde::forward_to_deserialize_any;

use super::file;

/// Other names of keys of a server's section, and the keys they stand for.
pub(crate) const ALIASES: [(&str, &str); 6] = [
    ("disabled", "enabled"),
    ("envFile", "env_file"),
    ("healthProbe", "probe.chain"),
    ("max_retries", "restart.max_attempts"),
    ("retry_base_delay", "restart.initial_delay"),
    ("retry_max_delay", "restart.max_delay"),
];

/// What a key holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Holds {
    /// One value.
    Scalar,
    /// A list.
    List,
    /// A map with names of the user's choice.
    Map,
}

/// A key by its dotted path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) path: String,
    pub(crate) holds: Holds,
}

/// The keys of a server's section, aliases included, in the order of the shapes.
pub(crate) fn server() -> Vec<Key> {
    let mut keys = of::<file::Server>(&[]);
    let aliases = ALIASES.iter().map(|(alias, _)| Key { path: (*alias).to_owned(), holds: Holds::Scalar });
    keys.extend(aliases);
    keys
}

/// The keys beside `servers` and `defaults`. One of them is a map that can also be written as one word.
pub(crate) fn top() -> Vec<Key> {
    let mut keys = of::<file::Top>(&["servers", "defaults"]);
    keys.push(Key { path: "events.throttle".to_owned(), holds: Holds::Scalar });
    keys
}

fn of<'de, T: Deserialize<'de>>(without: &[&str]) -> Vec<Key> {
    let mut found = Vec::new();
    walk::<T>(&mut Vec::new(), "", without, &mut found);
    found
}

fn walk<'de, T: Deserialize<'de>>(route: &mut Vec<usize>, path: &str, without: &[&str], found: &mut Vec<Key>) {
    let holds = match T::deserialize(Trace { route }) {
        Err(Stop::Fields(fields)) => {
            for (index, field) in fields.iter().enumerate().filter(|(_, field)| !without.contains(field)) {
                let deeper = if path.is_empty() { (*field).to_owned() } else { format!("{path}.{field}") };
                route.push(index);
                walk::<T>(route, &deeper, &[], found);
                route.pop();
            }
            return;
        }
        Err(Stop::List) => Holds::List,
        Err(Stop::Map) => Holds::Map,
        Err(Stop::Scalar) | Ok(_) => Holds::Scalar,
    };
    found.push(Key { path: path.to_owned(), holds });
}

/// What stands at the end of a route.
#[derive(Debug)]
enum Stop {
    Fields(&'static [&'static str]),
    Scalar,
    List,
    Map,
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the end of the route")
    }
}

impl std::error::Error for Stop {}

impl Error for Stop {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self::Scalar
    }
}

/// A source that has, in each struct, just the field that the route names.
struct Trace<'a> {
    route: &'a [usize],
}

impl<'de> Deserializer<'de> for Trace<'_> {
    type Error = Stop;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Stop> {
        Err(Stop::Scalar)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Stop> {
        visitor.visit_some(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Stop> {
        Err(Stop::List)
    }

    fn deserialize_map<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Stop> {
        Err(Stop::Map)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Stop> {
        match self.route {
            [] => Err(Stop::Fields(fields)),
            [field, rest @ ..] => visitor.visit_map(One { field: fields.get(*field).copied(), route: rest }),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        newtype_struct tuple tuple_struct enum identifier ignored_any
    }
}

struct One<'a> {
    field: Option<&'static str>,
    route: &'a [usize],
}

impl<'de> MapAccess<'de> for One<'_> {
    type Error = Stop;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Stop> {
        let Some(field) = self.field.take() else {
            return Ok(None);
        };
        let key: StrDeserializer<'_, Stop> = field.into_deserializer();
        seed.deserialize(key).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Stop> {
        seed.deserialize(Trace { route: self.route })
    }
}

#[cfg(test)]
mod tests;
