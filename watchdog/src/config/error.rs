//! What is wrong with a configuration: all of it together, each thing with its place.

use std::fmt;

use super::source::Sources;
use super::tree::place::Target;
use super::tree::{Node, Origin};

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    /// The file with line and column and the key, the variable or the option; empty when there is no such place.
    place: String,
    /// What is wrong, and what would be right.
    message: String,
    /// The line of the file with a caret.
    excerpt: Option<String>,
}

impl ConfigError {
    /// An error without a place in any source.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { place: String::new(), message: message.into(), excerpt: None }
    }

    /// An error about a named thing: a file as a whole, a variable, an option.
    pub(crate) fn about(thing: impl Into<String>, message: impl Into<String>) -> Self {
        Self { place: thing.into(), message: message.into(), excerpt: None }
    }

    /// The same with the line of the file.
    pub(crate) fn with_excerpt(mut self, excerpt: Option<String>) -> Self {
        self.excerpt = excerpt;
        self
    }

    /// An error about a value.
    pub(crate) fn at(sources: &Sources, node: &Node, message: impl Into<String>) -> Self {
        Self::located(sources, &node.origin, Target::Value, message)
    }

    /// An error about a key.
    pub(crate) fn at_key(sources: &Sources, origin: &Origin, message: impl Into<String>) -> Self {
        Self::located(sources, origin, Target::Key(0), message)
    }

    pub(crate) fn located(sources: &Sources, origin: &Origin, target: Target, message: impl Into<String>) -> Self {
        let (place, excerpt) = sources.place(origin, target);
        Self { place, message: message.into(), excerpt }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.place.is_empty() {
            write!(f, "{}: ", self.place)?;
        }
        f.write_str(&self.message)?;
        match &self.excerpt {
            Some(excerpt) => write!(f, "\n{excerpt}"),
            None => Ok(()),
        }
    }
}

/// Everything that is wrong. Never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigErrors(pub(crate) Vec<ConfigError>);

impl ConfigErrors {
    /// The single errors.
    #[must_use]
    pub fn errors(&self) -> &[ConfigError] {
        &self.0
    }
}

impl From<ConfigError> for ConfigErrors {
    fn from(error: ConfigError) -> Self {
        Self(vec![error])
    }
}

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, error) in self.0.iter().enumerate() {
            if at > 0 {
                f.write_str("\n")?;
            }
            error.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigErrors {}
