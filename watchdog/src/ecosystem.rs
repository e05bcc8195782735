//! The configuration files of MCP clients: read with the place of everything in them, rewritten by edits of their own text
//! ([`rewrite`]), or turned into a file of ours ([`import`]).
//!
//! Everything here is pure: texts come in, texts go out. Reading and replacing files is the command line's part.

pub(crate) mod client;
pub(crate) mod import;

mod item;
mod json;
pub(crate) mod rewrite;
mod toml;

use item::Item;

/// The form of a client's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// JSON; comments and trailing commas are understood, as VS Code, Zed and Cursor write them.
    Json,
    /// TOML, as Codex writes it.
    Toml,
}

/// A client's file.
pub(crate) struct Document<'a> {
    text: &'a str,
    format: Format,
    root: Item,
}

/// What is wrong with a text, and where.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SyntaxError {
    /// From 1.
    pub(crate) line: usize,
    /// From 1, in characters.
    pub(crate) column: usize,
    /// Without anything of the text, which may hold secrets.
    pub(crate) message: String,
}

impl<'a> Document<'a> {
    /// Reads a text, which does not begin with a byte order mark.
    ///
    /// # Errors
    /// When it is not well-formed.
    pub(crate) fn parse(text: &'a str, format: Format) -> Result<Self, SyntaxError> {
        let root = match format {
            Format::Json => json::parse(text),
            Format::Toml => toml::parse(text),
        };
        let root = root.map_err(|(at, message)| syntax_error(text, at, message))?;
        Ok(Self { text, format, root })
    }
}

fn syntax_error(text: &str, at: usize, message: String) -> SyntaxError {
    let before = text.get(..at).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    SyntaxError { line, column, message }
}
