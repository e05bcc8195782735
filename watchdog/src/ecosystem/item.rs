//! A value of a client's file, with its place in the text, whatever the form of the file.

use std::ops::Range;

/// A value and the bytes that it stands in.
#[derive(Debug, Clone)]
pub(super) struct Item {
    pub(super) value: Value,
    /// Empty for what is not written in one piece, such as a TOML table.
    pub(super) span: Range<usize>,
}

/// What is written.
#[derive(Debug, Clone)]
pub(super) enum Value {
    Null,
    Bool(bool),
    /// As it is spelled.
    Number(String),
    Text(String),
    List(Vec<Item>),
    Map(Map),
}

/// Entries in the order of writing.
#[derive(Debug, Clone)]
pub(super) struct Map {
    pub(super) entries: Vec<Entry>,
    /// Whether it stands between braces; a TOML table has a line for each entry instead.
    pub(super) braces: bool,
}

/// One key of a map.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) span: Range<usize>,
    pub(super) item: Item,
}

impl Item {
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self { value: Value::Text(text.into()), span: 0..0 }
    }

    pub(super) fn entries(&self) -> &[Entry] {
        match &self.value {
            Value::Map(map) => &map.entries,
            _ => &[],
        }
    }

    /// The value of a key. Of a key that is written twice the last one counts, as in the clients' own parsers.
    pub(super) fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries().iter().rfind(|entry| entry.key == key)
    }

    /// The value of a key, `null` counting as absent.
    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        self.entry(key).map(|entry| &entry.item).filter(|item| !matches!(item.value, Value::Null))
    }

    /// Whether one of these is in a text of it.
    pub(super) fn mentions(&self, words: &[&str]) -> bool {
        match &self.value {
            Value::Text(text) => words.iter().any(|word| text.contains(word)),
            Value::List(items) => items.iter().any(|item| item.mentions(words)),
            Value::Map(map) => map.entries.iter().any(|entry| entry.item.mentions(words)),
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }

    /// The value at a path of keys.
    pub(super) fn at(&self, path: &[String]) -> Option<&Self> {
        path.iter().try_fold(self, |item, key| item.entry(key).map(|entry| &entry.item))
    }

    /// The same, for change.
    pub(super) fn at_mut(&mut self, path: &[String]) -> Option<&mut Self> {
        path.iter().try_fold(self, |item, key| match &mut item.value {
            Value::Map(map) => map.entries.iter_mut().rfind(|entry| entry.key == *key).map(|entry| &mut entry.item),
            _ => None,
        })
    }

    /// Sets a key of a map.
    pub(super) fn set(&mut self, key: &str, item: Self) {
        if let Some(old) = self.at_mut(&[key.to_owned()]) {
            *old = item;
        } else if let Value::Map(map) = &mut self.value {
            map.entries.push(Entry { key: key.to_owned(), span: 0..0, item });
        }
    }

    /// Takes a key out of a map, as often as it is written.
    pub(super) fn remove(&mut self, key: &str) {
        if let Value::Map(map) = &mut self.value {
            map.entries.retain(|entry| entry.key != key);
        }
    }

    pub(super) fn as_text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(super) fn as_list(&self) -> Option<&[Self]> {
        match &self.value {
            Value::List(items) => Some(items),
            _ => None,
        }
    }

    pub(super) fn as_bool(&self) -> Option<bool> {
        match self.value {
            Value::Bool(value) => Some(value),
            _ => None,
        }
    }

    /// Text, or the spelling of a number or a switch: what a client would hand to a process.
    pub(super) fn scalar(&self) -> Option<String> {
        match &self.value {
            Value::Text(text) | Value::Number(text) => Some(text.clone()),
            Value::Bool(value) => Some(value.to_string()),
            Value::Null | Value::List(_) | Value::Map(_) => None,
        }
    }

    /// Whether two values mean the same, wherever they stand.
    pub(super) fn means(&self, other: &Self) -> bool {
        match (&self.value, &other.value) {
            (Value::Null, Value::Null) => true,
            (Value::Bool(a), Value::Bool(b)) => a == b,
            (Value::Number(a), Value::Number(b)) | (Value::Text(a), Value::Text(b)) => a == b,
            (Value::List(a), Value::List(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.means(b)),
            (Value::Map(a), Value::Map(b)) => {
                let pairs = |entry: &Entry| other.entry(&entry.key).is_some_and(|found| found.item.means(&entry.item));
                let shadowed = |entry: &Entry| !std::ptr::eq(self.entry(&entry.key).unwrap_or(entry), entry);
                a.entries.len() == b.entries.len() && a.entries.iter().all(|entry| shadowed(entry) || pairs(entry))
            }
            _ => false,
        }
    }
}
