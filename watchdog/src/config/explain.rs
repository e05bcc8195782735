//! `check-config`: every effective value with its source, secrets hidden.

use std::io::{self, Write};

use super::load::{Effective, Loaded};
use super::secret::{self, HIDDEN, is_secret_key, is_telling};
use super::tree::{Kind, Node, Value};
use super::{Command, Server};

/// One line of the table.
struct Line {
    key: String,
    value: String,
    source: String,
}

/// Writes a table of all values: one part for each server, headed by its name, and one for the process.
///
/// # Errors
/// When the output cannot be written.
pub fn explain(loaded: &Loaded, out: &mut dyn Write) -> io::Result<()> {
    let sections = &loaded.effective.servers;
    let tables = loaded.config.servers.iter().zip(sections).map(|(server, (_, tree))| of_server(server, tree, loaded));
    let tables: Vec<Vec<Line>> = tables.chain([of_process(loaded)]).collect();
    let widest =
        |of: fn(&Line) -> &str| tables.iter().flatten().map(|line| of(line).chars().count().min(40)).max().unwrap_or(0);
    let (keys, values) = (widest(|line| &line.key), widest(|line| &line.value));
    // No server can have this name.
    let titles = sections.iter().map(|(name, _)| name.as_str()).chain(["(process)"]);
    for (at, (title, table)) in titles.zip(&tables).enumerate() {
        if at > 0 {
            writeln!(out)?;
        }
        writeln!(out, "{title}")?;
        for Line { key, value, source } in table {
            writeln!(out, "  {key:keys$}  {value:values$}  {source}")?;
        }
    }
    Ok(())
}

fn of_server(server: &Server, tree: &Node, loaded: &Loaded) -> Vec<Line> {
    let mut lines = Vec::new();
    if loaded.from_command_line {
        command(&server.command, &mut lines);
    }
    for (key, node) in tree.entries() {
        if !(loaded.from_command_line && matches!(key.as_str(), "command" | "args")) {
            flatten(key, node, &loaded.effective, &mut lines);
        }
    }
    lines.sort_by(|a, b| a.key.cmp(&b.key));
    lines
}

fn of_process(loaded: &Loaded) -> Vec<Line> {
    let mut lines = Vec::new();
    let keys = loaded.effective.top.entries();
    keys.iter().for_each(|(key, node)| flatten(key, node, &loaded.effective, &mut lines));
    lines.sort_by(|a, b| a.key.cmp(&b.key));
    lines
}

/// COMMAND is in no layer, since it need not be text.
fn command(command: &Command, lines: &mut Vec<Line>) {
    let args: Vec<String> = command.args.iter().map(|arg| arg.to_string_lossy().into_owned()).collect();
    let value = format!("[{}]", hide_arguments(&args).join(", "));
    let source = || "command line".to_owned();
    lines.push(Line {
        key: "command".to_owned(),
        value: printable(&command.program.to_string_lossy()),
        source: source(),
    });
    lines.push(Line { key: "args".to_owned(), value, source: source() });
}

fn flatten(path: &str, node: &Node, effective: &Effective, lines: &mut Vec<Line>) {
    let key = path.rsplit('.').next().unwrap_or(path);
    match &node.value {
        Value::Map(entries) if !entries.is_empty() => {
            for (name, child) in entries {
                if is_secret_key(key) || is_telling(name) {
                    lines.push(line(&format!("{path}.{name}"), HIDDEN.to_owned(), child, effective));
                } else {
                    flatten(&format!("{path}.{name}"), child, effective, lines);
                }
            }
        }
        _ if node.is_null() => {}
        _ if is_secret_key(key) => lines.push(line(path, HIDDEN.to_owned(), node, effective)),
        _ => lines.push(line(path, inline(node), node, effective)),
    }
}

fn line(path: &str, value: String, node: &Node, effective: &Effective) -> Line {
    Line { key: printable(path), value, source: effective.sources.name(&node.origin) }
}

/// A value on one line.
fn inline(node: &Node) -> String {
    match &node.value {
        Value::Scalar(scalar) if scalar.kind == Kind::Null => "null".to_owned(),
        Value::Scalar(scalar) => printable(&scalar.text),
        Value::List(items) => {
            let shown = secret::arguments(items.iter().map(|item| item.scalar().unwrap_or_default()));
            let items = items.iter().zip(shown).map(|(item, shown)| match (item.scalar(), shown) {
                (Some(text), Some(bytes)) => format!("{}{HIDDEN}", &text[..bytes]),
                (None, Some(_)) => HIDDEN.to_owned(),
                (_, None) => inline(item),
            });
            format!("[{}]", items.collect::<Vec<_>>().join(", "))
        }
        Value::Map(entries) => {
            let inside = entries.iter().map(|(key, child)| {
                let hidden = is_secret_key(key) || is_telling(key);
                format!("{}: {}", printable(key), if hidden { HIDDEN.to_owned() } else { inline(child) })
            });
            format!("{{{}}}", inside.collect::<Vec<_>>().join(", "))
        }
    }
}

/// The arguments of a command, without the values of options such as `--api-key=…` and `--token …`.
fn hide_arguments(args: &[String]) -> Vec<String> {
    let shown = secret::arguments(args.iter().map(String::as_str));
    let hide = |(arg, shown): (&String, Option<usize>)| match shown {
        Some(bytes) => format!("{}{HIDDEN}", &arg[..bytes]),
        None => printable(arg),
    };
    args.iter().zip(shown).map(hide).collect()
}

/// Without control characters, which could rewrite the terminal.
fn printable(text: &str) -> String {
    if text.is_empty() {
        return "\"\"".to_owned();
    }
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests;
