//! One layer of configuration as a tree in which every value knows where it was written.
//!
//! All layers (built-in values, preset, file, environment, options) take this form, are laid over each other key by key,
//! and are then read once through the shapes of `config::file`. Origins survive that, for errors and for `--explain`.

use std::fmt;

pub(super) mod place;
pub(super) mod read;
pub(super) mod yaml;

/// The place of a source in [`Sources`](super::source::Sources).
pub(crate) type SourceId = usize;

/// One step into a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    /// Into a map.
    Key(String),
    /// Into a list.
    Index(usize),
}

/// A path as it is shown: `servers.fs.probe.chain[1]`.
pub(crate) struct PathText<'a>(pub(crate) &'a [Step]);

impl fmt::Display for PathText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, step) in self.0.iter().enumerate() {
            match step {
                Step::Key(key) if at == 0 => write!(f, "{key}")?,
                Step::Key(key) => write!(f, ".{key}")?,
                Step::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

/// Where a value was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Origin {
    /// The file, variable or option.
    pub(crate) source: SourceId,
    /// From the root of that source.
    pub(crate) path: Vec<Step>,
}

impl Origin {
    /// The origin of something one step further in.
    pub(crate) fn child(&self, step: Step) -> Self {
        let mut path = self.path.clone();
        path.push(step);
        Self { source: self.source, path }
    }
}

/// A value with its origin.
#[derive(Clone)]
pub(crate) struct Node {
    /// What was written.
    pub(crate) value: Value,
    /// Where.
    pub(crate) origin: Origin,
}

/// What was written.
#[derive(Clone)]
pub(crate) enum Value {
    /// A single value.
    Scalar(Scalar),
    /// `[a, b]`
    List(Vec<Node>),
    /// `{a: b}`, in the order of writing.
    Map(Vec<(String, Node)>),
}

/// A single value.
#[derive(Clone)]
pub(crate) struct Scalar {
    /// The text as it stands in the source, without quotes: a version `1.10` keeps its zero.
    pub(crate) text: String,
    /// What YAML makes of it.
    pub(crate) kind: Kind,
}

/// What YAML makes of a scalar.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    /// `null`, or nothing at all: as if the key were not there.
    Null,
    /// `true`, `false`.
    Bool(bool),
    /// A whole number.
    Unsigned(u64),
    /// A negative whole number.
    Signed(i64),
    /// Any other number.
    Float(f64),
    /// Text; from the environment and from options everything is text.
    Text,
}

impl Node {
    /// A text from the environment, from an option, or made by a rule.
    pub(crate) fn text(text: impl Into<String>, origin: Origin) -> Self {
        Self { value: Value::Scalar(Scalar { text: text.into(), kind: Kind::Text }), origin }
    }

    /// A map without entries.
    pub(crate) fn empty(origin: Origin) -> Self {
        Self { value: Value::Map(Vec::new()), origin }
    }

    /// Whether it is `null`.
    pub(crate) fn is_null(&self) -> bool {
        matches!(&self.value, Value::Scalar(Scalar { kind: Kind::Null, .. }))
    }

    /// The entries of a map; none for anything else.
    pub(crate) fn entries(&self) -> &[(String, Self)] {
        match &self.value {
            Value::Map(entries) => entries,
            _ => &[],
        }
    }

    /// The value of a key, `null` counting as absent.
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        self.entries().iter().find(|(name, node)| name == key && !node.is_null()).map(|(_, node)| node)
    }

    /// The value of a key, for change.
    pub(crate) fn get_mut(&mut self, key: &str) -> Option<&mut Self> {
        match &mut self.value {
            Value::Map(entries) => entries.iter_mut().find(|(name, _)| name == key).map(|(_, node)| node),
            _ => None,
        }
    }

    /// The text of a scalar that is not `null`.
    pub(crate) fn scalar(&self) -> Option<&str> {
        match &self.value {
            Value::Scalar(scalar) if scalar.kind != Kind::Null => Some(&scalar.text),
            _ => None,
        }
    }

    /// The value under a dotted path of keys.
    pub(crate) fn at(&self, dotted: &str) -> Option<&Self> {
        dotted.split('.').try_fold(self, |node, key| node.get(key))
    }

    /// The value at a path, or the deepest one on the way there.
    pub(crate) fn deepest(&self, path: &[Step]) -> &Self {
        let mut node = self;
        for step in path {
            let next = match (&node.value, step) {
                (Value::Map(_), Step::Key(key)) => node.entries().iter().find(|(name, _)| name == key).map(|(_, n)| n),
                (Value::List(items), Step::Index(index)) => items.get(*index),
                _ => None,
            };
            match next {
                Some(next) => node = next,
                None => break,
            }
        }
        node
    }

    /// Takes the value at a path out of the tree. Whether there was one.
    pub(crate) fn remove(&mut self, path: &[Step]) -> bool {
        match (&mut self.value, path) {
            (Value::Map(entries), [Step::Key(key), rest @ ..]) => {
                let Some(at) = entries.iter().position(|(name, _)| name == key) else {
                    return false;
                };
                if rest.is_empty() {
                    entries.remove(at);
                    return true;
                }
                entries[at].1.remove(rest)
            }
            (Value::List(items), [Step::Index(index), rest @ ..]) if *index < items.len() => {
                // The items behind it move up, but their origins keep the numbers that were written.
                if rest.is_empty() {
                    items.remove(*index);
                    return true;
                }
                items[*index].remove(rest)
            }
            _ => false,
        }
    }

    /// Puts a value under a path of keys, making the maps on the way.
    pub(crate) fn put(&mut self, path: &[&str], node: Self) {
        let [key, rest @ ..] = path else {
            *self = node;
            return;
        };
        if !matches!(self.value, Value::Map(_)) {
            self.value = Value::Map(Vec::new());
        }
        if self.get_mut(key).is_none()
            && let Value::Map(entries) = &mut self.value
        {
            entries.push(((*key).to_owned(), Self::empty(node.origin.clone())));
        }
        if let Some(child) = self.get_mut(key) {
            child.put(rest, node);
        }
    }

    /// Lays another layer over this one: maps key by key, everything else as a whole. `null` leaves what is below.
    pub(crate) fn overlay(&mut self, upper: Self) {
        if upper.is_null() {
            return;
        }
        match (&mut self.value, upper.value) {
            (Value::Map(_), Value::Map(entries)) => {
                for (key, node) in entries {
                    match self.get_mut(&key) {
                        Some(lower) => lower.overlay(node),
                        None => self.push(key, node),
                    }
                }
            }
            (_, value) => *self = Self { value, origin: upper.origin },
        }
    }

    fn push(&mut self, key: String, node: Self) {
        if let Value::Map(entries) = &mut self.value {
            entries.push((key, node));
        }
    }
}
