//! Puts the watchdog in front of the servers of a client's file, and takes it away again.
//!
//! The text is edited, not printed anew: order, spacing and comments are the user's. What comes out is read once more and
//! must mean exactly what was meant, or nothing is changed.

use std::ops::Range;

use crate::config::load::to_name;

use super::client::{self, Kind, ServerPath};
use super::item::{Entry, Item, Value};
use super::{Document, Format};

/// How the name is given to the watchdog of an entry that had no `args`; elsewhere it is a word of its own. It is what tells an undo
/// to take the list away again, whatever else of the file was laid out anew meanwhile.
const NO_ARGS: &str = "--name=";

/// How entries are changed.
pub(crate) enum Change {
    /// They run under the watchdog.
    Wrap {
        /// The path of the watchdog, as the client starts it.
        binary: String,
        /// Options for it, in front of the server's command.
        options: Vec<String>,
    },
    /// They run by themselves again.
    Undo {
        /// A path that is the watchdog's, whatever its base name.
        binary: String,
    },
}

/// What became of one entry.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) server: ServerPath,
    /// The server's own command.
    pub(crate) result: Result<String, String>,
}

/// A changed text.
#[derive(Debug)]
pub(crate) struct Rewritten {
    pub(crate) text: String,
    /// For each entry the server's own command, or why it was left as it is.
    pub(crate) outcomes: Vec<Outcome>,
}

/// Changes every entry that can be.
///
/// # Errors
/// When the file holds no servers, is one of ours, or cannot be edited so that it means what it should.
pub(crate) fn rewrite(document: &Document<'_>, change: &Change) -> Result<Rewritten, String> {
    if document.is_ours() {
        return Err("is a configuration of mcp-watchdog itself, not of a client".to_owned());
    }
    let servers = document.servers().ok_or(client::NO_SECTION)?;
    let (mut edits, mut outcomes) = (Vec::new(), Vec::new());
    let mut expected = document.root.clone();
    for server in servers {
        let Some(entry) = document.root.at(server.keys()) else { continue };
        let result = one(document, entry, server.name(), change);
        let result = result.map(|plan| {
            if let Some(entry) = expected.at_mut(server.keys()) {
                entry.set("command", Item::text(plan.command));
                match plan.args {
                    Some(args) => entry.set("args", Item { value: Value::List(args), span: 0..0 }),
                    None => entry.remove("args"),
                }
            }
            edits.extend(plan.edits);
            plan.server
        });
        outcomes.push(Outcome { server, result });
    }
    let text = apply(document.text, edits);
    let is_as_meant = Document::parse(&text, document.format).is_ok_and(|read| read.root.means(&expected));
    if !is_as_meant {
        return Err("is written in a way that cannot be edited safely; change it by hand".to_owned());
    }
    Ok(Rewritten { text, outcomes })
}

/// What is to be done with one entry.
struct Plan {
    edits: Vec<Edit>,
    /// What the entry has to say afterwards.
    command: String,
    /// `None`: there are none.
    args: Option<Vec<Item>>,
    /// The server's own command.
    server: String,
}

struct Edit {
    range: Range<usize>,
    text: String,
}

impl Edit {
    fn insert(at: usize, text: String) -> Self {
        Self { range: at..at, text }
    }
}

fn one(document: &Document<'_>, entry: &Item, name: &str, change: &Change) -> Result<Plan, String> {
    let (command, args) = match client::kind(entry) {
        Kind::Command(command, args) => (command, args),
        Kind::Remote => return Err("is remote: there is no command to supervise".to_owned()),
        Kind::Extension => return Err("belongs to an extension of the client, which knows its command".to_owned()),
        Kind::Other(reason) => return Err(reason.to_owned()),
    };
    let text = command.as_text().unwrap_or_default();
    match change {
        Change::Wrap { binary, .. } if client::is_watchdog(text, Some(binary)) => {
            Err("runs under mcp-watchdog already".to_owned())
        }
        Change::Wrap { binary, options } => Ok(wrap(document, entry, name, (command, args), (binary, options))),
        Change::Undo { binary } if client::is_watchdog(text, Some(binary)) => {
            let at = client::wrapped(args).ok_or("runs mcp-watchdog, but without a command behind `--`")?;
            let args = args.and_then(|args| Some((args, args.as_list()?))).ok_or("has no `args`")?;
            unwrap(document, entry, command, args, at)
        }
        Change::Undo { .. } if client::wrapped(args).is_some() => {
            Err(format!("does not run under mcp-watchdog; if `{text}` is one, say so by `--binary {text}`"))
        }
        Change::Undo { .. } => Err("does not run under mcp-watchdog".to_owned()),
    }
}

fn wrap(
    document: &Document<'_>,
    entry: &Item,
    name: &str,
    (command, args): (&Item, Option<&Item>),
    (binary, options): (&str, &[String]),
) -> Plan {
    let server = command.as_text().unwrap_or_default().to_owned();
    let name = match args {
        Some(_) => vec!["--name".to_owned(), to_name(name)],
        None => vec![format!("{NO_ARGS}{}", to_name(name))],
    };
    let fixed: Vec<String> = name.into_iter().chain(options.iter().cloned()).chain(["--".to_owned()]).collect();
    // The command keeps its own spelling, so that it can be put back byte for byte.
    let spelled: Vec<String> =
        fixed.iter().map(|text| quoted(text)).chain([document.text[command.span.clone()].to_owned()]).collect();
    let edit = match args {
        Some(args) => front(document.text, args, &spelled),
        None => missing(document, entry, &spelled),
    };
    let old = args.and_then(Item::as_list).unwrap_or_default();
    let args = fixed.into_iter().chain([server.clone()]).map(Item::text).chain(old.iter().cloned()).collect();
    let edits = vec![Edit { range: command.span.clone(), text: quoted(binary) }, edit];
    Plan { edits, command: binary.to_owned(), args: Some(args), server }
}

/// Puts elements at the front of a list, in the manner of the list: on one line, or on a line each.
fn front(text: &str, list: &Item, elements: &[String]) -> Edit {
    let items = list.as_list().unwrap_or_default();
    let [first, rest @ ..] = items else {
        let all = elements.join(", ");
        return match list.value {
            Value::List(_) => Edit::insert(list.span.start + 1, all),
            _ => Edit { range: list.span.clone(), text: format!("[{all}]") },
        };
    };
    let gap = &text[list.span.start + 1..first.span.start];
    let separator = match gap.rsplit_once('\n') {
        Some((before, indent)) => {
            let end = if before.ends_with('\r') { "\r\n" } else { "\n" };
            let indent = &indent[..indent.len() - indent.trim_start().len()];
            format!("{end}{indent}")
        }
        None if rest.first().is_some_and(|second| &text[first.span.end..second.span.start] == ",") => String::new(),
        None => " ".to_owned(),
    };
    let elements = elements.iter().map(|element| format!("{element},{separator}"));
    Edit::insert(first.span.start, elements.collect())
}

/// Writes the list that an entry does not have.
fn missing(document: &Document<'_>, entry: &Item, elements: &[String]) -> Edit {
    let text = document.text;
    let list = elements.join(", ");
    let (braces, Some(Entry { span: key, item: command, .. })) =
        (matches!(&entry.value, Value::Map(map) if map.braces), entry.entry("command"))
    else {
        return Edit::insert(text.len(), String::new());
    };
    let line = text[..key.start].rfind('\n').map_or(0, |end| end + 1);
    let lead = &text[line..key.start];
    let end = if text[..line].ends_with("\r\n") { "\r\n" } else { "\n" };
    let args = match document.format {
        Format::Json => format!("\"args\": [{list}]"),
        Format::Toml => format!("args = [{list}]"),
    };
    if !braces {
        // A line of its own behind the command's, whose comment stays; `a.b.command` has `a.b.` in front.
        let rest = &text[command.span.end..];
        let rest = rest.split('\n').next().unwrap_or_default();
        let at = command.span.end + rest.strip_suffix('\r').unwrap_or(rest).len();
        return Edit::insert(at, format!("{end}{lead}{args}"));
    }
    let on_its_own_line = line > 0 && lead.trim().is_empty();
    let separator = if on_its_own_line { format!(",{end}{lead}") } else { ", ".to_owned() };
    Edit::insert(command.span.end, format!("{separator}{args}"))
}

fn unwrap(
    document: &Document<'_>,
    entry: &Item,
    command: &Item,
    (list, items): (&Item, &[Item]),
    at: usize,
) -> Result<Plan, String> {
    let text = document.text;
    let (Some(first), Some(inner)) = (items.first(), items.get(at)) else {
        return Err("has no `args`".to_owned());
    };
    let restored = Edit { range: command.span.clone(), text: text[inner.span.clone()].to_owned() };
    let server = inner.as_text().unwrap_or_default().to_owned();
    let was_missing = first.as_text().is_some_and(|first| first.starts_with(NO_ARGS)) && items.len() == at + 1;
    if was_missing && let Some(range) = all_of(document, entry, "args") {
        let edits = vec![restored, Edit { range, text: String::new() }];
        return Ok(Plan { edits, command: server.clone(), args: None, server });
    }
    let end = match items.get(at + 1) {
        Some(own) => own.span.start,
        None => {
            let rest = &text[inner.span.end..list.span.end];
            let comma = rest.trim_start().starts_with(',').then(|| rest.find(',')).flatten();
            inner.span.end + comma.map_or(0, |comma| comma + 1)
        }
    };
    let edits = vec![restored, Edit { range: first.span.start..end, text: String::new() }];
    Ok(Plan { edits, command: server.clone(), args: Some(items[at + 1..].to_vec()), server })
}

/// All that goes with a key: its comma, or its line. `None` where something else stands there too, such as a comment.
fn all_of(document: &Document<'_>, entry: &Item, key: &str) -> Option<Range<usize>> {
    let (text, entries) = (document.text, entry.entries());
    let found = entries.iter().position(|entry| entry.key == key)?;
    if entries.iter().filter(|entry| entry.key == key).count() > 1 {
        return None;
    }
    let Entry { span, item, .. } = &entries[found];
    if !matches!(&entry.value, Value::Map(map) if map.braces) {
        let line = text[..span.start].rfind('\n')?;
        let behind = text[item.span.end..].split('\n').next().unwrap_or_default();
        let behind = behind.strip_suffix('\r').unwrap_or(behind);
        let before = text[..line].strip_suffix('\r').map_or(line, str::len);
        return behind.trim().is_empty().then(|| before..item.span.end + behind.len());
    }
    let (range, between) = match (found.checked_sub(1).map(|before| &entries[before]), entries.get(found + 1)) {
        (Some(before), _) => (before.item.span.end..item.span.end, before.item.span.end..span.start),
        (None, Some(after)) => (span.start..after.span.start, item.span.end..after.span.start),
        (None, None) => return None,
    };
    (text[between].trim() == ",").then_some(range)
}

/// A text as JSON spells it, which TOML understands too: but for DEL, which it does not take as it is.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}

fn apply(text: &str, mut edits: Vec<Edit>) -> String {
    edits.sort_by_key(|edit| edit.range.start);
    let mut out = String::with_capacity(text.len() + 256);
    let mut at = 0;
    for edit in edits {
        out.push_str(&text[at..edit.range.start]);
        out.push_str(&edit.text);
        at = edit.range.end;
    }
    out.push_str(&text[at..]);
    out
}

#[cfg(test)]
mod tests;
