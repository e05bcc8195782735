//! The child's environment.

use std::collections::BTreeMap;
use std::ffi::OsString;

/// Variables that are for the watchdog alone: its secret, and what a service manager said to it. A child that took the
/// latter for its own would speak to the manager in our name, or serve our sockets.
const OWN: [&str; 9] = [
    "MCP_WATCHDOG_TOKEN",
    "NOTIFY_SOCKET",
    "WATCHDOG_PID",
    "WATCHDOG_USEC",
    "LISTEN_FDS",
    "LISTEN_PID",
    "LISTEN_PIDFDID",
    "LISTEN_FDNAMES",
    "FDSTORE",
];

/// What a child inherits. Other `MCP_WATCHDOG_*` variables stay, so that a sidecar inside a sidecar finds the runtime folder.
pub(crate) fn inherited(environment: &BTreeMap<OsString, OsString>) -> BTreeMap<OsString, OsString> {
    let own = |name: &OsString| OWN.iter().any(|own| name == own);
    environment.iter().filter(|(name, _)| !own(name)).map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// Reads the lines of an `env_file`: `KEY=VALUE`, `export` in front, `#` comments, quotes around a value.
/// The error is the number of the line and what is wrong with it, without its text.
pub(crate) fn parse_file(text: &str) -> Result<Vec<(String, String)>, (usize, &'static str)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut found = Vec::new();
    for (at, line) in text.lines().enumerate() {
        if let Some(pair) = parse_line(line).map_err(|error| (at + 1, error))? {
            found.push(pair);
        }
    }
    Ok(found)
}

fn parse_line(line: &str) -> Result<Option<(String, String)>, &'static str> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return Ok(None);
    }
    let line = line.strip_prefix("export ").map_or(line, str::trim_start);
    let (name, value) = line.split_once('=').ok_or("expected KEY=VALUE")?;
    let name = name.trim_end();
    if name.is_empty() || name.contains(char::is_whitespace) {
        return Err("expected KEY=VALUE");
    }
    if name.contains('\0') || value.contains('\0') {
        return Err("a NUL byte cannot stand in an environment");
    }
    Ok(Some((name.to_owned(), unquote(value.trim_start())?)))
}

/// In single quotes everything is literal, in double quotes `\n`, `\t`, `\"` and `\\` are escapes; without quotes
/// a `#` after a space begins a comment.
fn unquote(value: &str) -> Result<String, &'static str> {
    let mut chars = value.chars();
    let quote = match chars.next() {
        Some(quote @ ('"' | '\'')) => quote,
        _ => {
            let end = value.find(" #").unwrap_or(value.len());
            return Ok(value[..end].trim_end().to_owned());
        }
    };
    let mut text = String::new();
    while let Some(c) = chars.next() {
        match c {
            '\\' if quote == '"' => match chars.next().ok_or("a quote is not closed")? {
                'n' => text.push('\n'),
                't' => text.push('\t'),
                'r' => text.push('\r'),
                escaped @ ('"' | '\\' | '$') => text.push(escaped),
                other => text.extend(['\\', other]),
            },
            c if c == quote => {
                let after = chars.as_str().trim_start();
                let ends = after.is_empty() || after.starts_with('#');
                return if ends { Ok(text) } else { Err("text follows the closing quote") };
            }
            c => text.push(c),
        }
    }
    Err("a quote is not closed")
}

#[cfg(test)]
mod tests;
