//! The line that an error is about, with a caret under the place, and without secrets.

use super::secret::Secret;
use super::tree::place::Place;

/// A longer line is cut around the place.
const WIDEST: usize = 100;

/// What must not be shown of a line.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Guard<'a> {
    /// These.
    Secrets(&'a [Secret]),
    /// These, and whatever follows the key at the place: a key that is not known may hold anything.
    Key(&'a [Secret]),
    /// Nothing is known of the text, since it could not be parsed.
    Unparsed,
}

/// Two lines: the text with its number, and the caret.
pub(crate) fn excerpt(text: &str, at: Place, guard: Guard<'_>) -> Option<String> {
    let line = text.lines().nth(at.line.checked_sub(1)?)?;
    let shown = match guard {
        Guard::Unparsed if mentions_secrets(text) => key_only(line),
        Guard::Unparsed => line.to_owned(),
        Guard::Secrets(secrets) => masked(line, at, secrets, None),
        Guard::Key(secrets) => masked(line, at, secrets, end_of_key(line, at)),
    };
    let shown: Vec<char> = shown.chars().collect();
    let caret = at.column.saturating_sub(1).min(shown.len());
    let from = if shown.len() > WIDEST { caret.saturating_sub(WIDEST / 2) } else { 0 };
    let window = shown.iter().skip(from).take(WIDEST);
    // A control character could make the terminal lie about the rest.
    let text: String = window.map(|c| if c.is_control() { ' ' } else { *c }).collect();
    let number = at.line.to_string();
    let margin = " ".repeat(number.len());
    Some(format!("  {number} | {}\n  {margin} | {}^", text.trim_end(), " ".repeat(caret - from)))
}

/// The line without secrets: from the first one on, nothing; and nothing in front of the place where a secret of an
/// earlier line may still go on.
fn masked(line: &str, at: Place, secrets: &[Secret], end: Option<usize>) -> String {
    let begins = secrets.iter().filter(|secret| secret.place.line == at.line).map(|secret| secret.place.column - 1);
    let end = begins.chain(end).min();
    let runs_on = secrets.iter().any(|secret| secret.place.line < at.line && !secret.one_line);
    let mut shown: String = line
        .chars()
        .enumerate()
        .take_while(|(column, _)| end.is_none_or(|end| *column < end))
        .map(|(column, c)| if runs_on && column + 1 < at.column && !c.is_whitespace() { '*' } else { c })
        .collect();
    if shown.chars().count() < line.trim_end().chars().count() {
        shown.push_str("***");
    }
    shown
}

/// The column behind the key at a place, its colon and a space.
fn end_of_key(line: &str, at: Place) -> Option<usize> {
    let key = at.column.checked_sub(1)?;
    let rest: Vec<char> = line.chars().skip(key).collect();
    let colon = rest.iter().position(|c| *c == ':').map_or(rest.len(), |colon| colon + 2);
    Some(key + colon)
}

/// The line up to its first key.
fn key_only(line: &str) -> String {
    match line.split_once(':') {
        Some((key, value)) if value.trim().is_empty() => format!("{key}:"),
        Some((key, _)) if key.trim_start().chars().all(|c| c.is_alphanumeric() || "_-\"'. ".contains(c)) => {
            format!("{key}: ***")
        }
        _ => {
            let indent: String = line.chars().take_while(|c| c.is_whitespace()).collect();
            format!("{indent}***")
        }
    }
}

/// Whether a text that is not understood may hold secrets.
fn mentions_secrets(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    ["env", "evn", "headers", "url", "token", "secret", "passw", "key", "auth"].iter().any(|word| text.contains(word))
}

#[cfg(test)]
mod tests;
