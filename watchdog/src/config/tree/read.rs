//! Reads a tree through serde, so that the file shapes are ordinary derived structs, and keeps the path of a fault.

use std::fmt;

use serde::de::value::StrDeserializer;
use serde::de::{
    DeserializeSeed, Deserializer, Error, Expected, IntoDeserializer, MapAccess, SeqAccess, Unexpected, Visitor,
};
use serde::forward_to_deserialize_any;

use super::{Kind, Node, Scalar, Step, Value};

/// What does not fit the shape, and where.
#[derive(Debug)]
pub(crate) struct Fault {
    /// From the root of the tree that was read, innermost step first while it travels up.
    path: Vec<Step>,
    /// What is wrong.
    pub(crate) what: Wrong,
}

/// What is wrong.
#[derive(Debug)]
pub(crate) enum Wrong {
    /// The path ends in a key that its map does not have; these are the ones it has.
    Unknown(&'static [&'static str]),
    /// The value at the path.
    Value(String),
}

impl Fault {
    /// The path from the root.
    pub(crate) fn path(&self) -> Vec<Step> {
        self.path.iter().rev().cloned().collect()
    }

    fn within(mut self, step: Step) -> Self {
        self.path.push(step);
        self
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.what {
            Wrong::Unknown(_) => f.write_str("unknown field"),
            Wrong::Value(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for Fault {}

impl Error for Fault {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self { path: Vec::new(), what: Wrong::Value(message.to_string()) }
    }

    // Never with the value: it may be a secret, and types know best how to quote their own.
    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let found = match found {
            Unexpected::Map => "a map",
            Unexpected::Seq => "a list",
            _ => "a single value",
        };
        mismatch(expected, found)
    }

    fn unknown_field(_: &str, expected: &'static [&'static str]) -> Self {
        Self { path: Vec::new(), what: Wrong::Unknown(expected) }
    }
}

fn mismatch(expected: &dyn Expected, found: &str) -> Fault {
    let expected = match expected.to_string() {
        text if text == "a sequence" => "a list".to_owned(),
        text if text.starts_with("struct ") => "a map of keys".to_owned(),
        text => text,
    };
    Fault::custom(format_args!("expected {expected}, found {found}"))
}

/// A tree as a serde source.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'a>(pub(crate) &'a Node);

impl Reader<'_> {
    fn describe(self) -> &'static str {
        match &self.0.value {
            Value::List(_) => "a list",
            Value::Map(_) => "a map",
            Value::Scalar(Scalar { kind: Kind::Null, .. }) => "nothing",
            Value::Scalar(_) => "a single value",
        }
    }
}

impl<'de> Deserializer<'de> for Reader<'_> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match &self.0.value {
            Value::List(items) => visitor.visit_seq(Items { items, next: 0 }),
            Value::Map(entries) => visitor.visit_map(Entries { entries, next: 0 }),
            Value::Scalar(scalar) => match scalar.kind {
                Kind::Null => visitor.visit_unit(),
                Kind::Bool(value) => visitor.visit_bool(value),
                Kind::Unsigned(value) => visitor.visit_u64(value),
                Kind::Signed(value) => visitor.visit_i64(value),
                Kind::Float(value) => visitor.visit_f64(value),
                Kind::Text => visitor.visit_str(&scalar.text),
            },
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match &self.0.value {
            Value::Scalar(scalar) if scalar.kind != Kind::Null => visitor.visit_str(&scalar.text),
            _ => Err(mismatch(&visitor, self.describe())),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        if self.0.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match &self.0.value {
            Value::List(items) => visitor.visit_seq(Items { items, next: 0 }),
            _ => Err(mismatch(&visitor, self.describe())),
        }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match &self.0.value {
            Value::Map(entries) => visitor.visit_map(Entries { entries, next: 0 }),
            _ => Err(mismatch(&visitor, self.describe())),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        self.deserialize_map(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_newtype_struct(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char bytes byte_buf unit unit_struct
        tuple tuple_struct enum identifier ignored_any
    }
}

struct Items<'a> {
    items: &'a [Node],
    next: usize,
}

impl<'de> SeqAccess<'de> for Items<'_> {
    type Error = Fault;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Fault> {
        let index = self.next;
        let Some(item) = self.items.get(index) else {
            return Ok(None);
        };
        self.next += 1;
        seed.deserialize(Reader(item)).map(Some).map_err(|fault| fault.within(Step::Index(index)))
    }
}

struct Entries<'a> {
    entries: &'a [(String, Node)],
    next: usize,
}

impl<'de> MapAccess<'de> for Entries<'_> {
    type Error = Fault;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Fault> {
        let Some((key, _)) = self.entries.get(self.next) else {
            return Ok(None);
        };
        let reader: StrDeserializer<'_, Fault> = key.as_str().into_deserializer();
        seed.deserialize(reader).map(Some).map_err(|fault| fault.within(Step::Key(key.clone())))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Fault> {
        let Some((key, node)) = self.entries.get(self.next) else {
            return Err(Fault::custom("a value was asked for twice"));
        };
        self.next += 1;
        seed.deserialize(Reader(node)).map_err(|fault| fault.within(Step::Key(key.clone())))
    }
}

#[cfg(test)]
mod tests;
