//! Turns a client's servers into a configuration of ours.

use serde_yaml::{Mapping, Value};

use crate::config::hint;
use crate::config::load::{is_name, to_name};

use super::Document;
use super::client::{self, ServerPath};
use super::item::Item;

mod entry;
mod variables;

/// What an import needs beside the file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request<'a> {
    /// The file's name, for the head of the result.
    pub(crate) source: &'a str,
    /// Its folder, from which relative files are found, where its name is text.
    pub(crate) folder: Option<&'a str>,
    /// Only this server.
    pub(crate) server: Option<&'a str>,
    /// What `${workspaceFolder}` stands for.
    pub(crate) workspace: Option<&'a str>,
    /// What a bare `timeout` counts, which differs between clients.
    pub(crate) timeout_unit: Option<Unit>,
}

/// A unit of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Seconds,
    Milliseconds,
}

/// A configuration of ours.
#[derive(Debug)]
pub(crate) struct Imported {
    /// The file.
    pub(crate) yaml: String,
    /// What is lost, or was decided.
    pub(crate) warnings: Vec<String>,
    /// The entries that cannot be turned, and are not in the file.
    pub(crate) refused: Vec<Refused>,
}

/// An entry that cannot be turned into a section of ours.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    /// What it would be called here.
    pub(crate) name: String,
    /// All that is wrong with it; each begins with the client's name for it.
    pub(crate) reasons: Vec<String>,
}

/// An entry that was looked at.
struct Seen<'a> {
    name: String,
    path: ServerPath,
    item: &'a Item,
    section: Option<Mapping>,
}

/// Turns the servers of a client's file into a file of ours. An entry that cannot be turned takes none of the others along.
///
/// # Errors
/// When none can be turned: with what is wrong with each, by name.
pub(crate) fn import(document: &Document<'_>, request: &Request<'_>) -> Result<Imported, Vec<String>> {
    if document.is_ours() {
        return Err(vec!["is a configuration of mcp-watchdog itself; it can be used as it is".to_owned()]);
    }
    let chosen = chosen(document, request).map_err(|error| vec![error])?;
    let (mut warnings, mut refused) = (Vec::new(), Vec::new());
    let mut seen: Vec<Seen<'_>> = Vec::new();
    for path in chosen {
        let Some(item) = document.root.at(path.keys()) else { continue };
        let name = name(&path, &mut warnings);
        let of_the_name = || seen.iter().filter(|earlier| earlier.name == name);
        // The same server in several projects.
        if of_the_name().any(|earlier| earlier.item.means(item)) {
            continue;
        }
        if let Some(earlier) = of_the_name().find(|earlier| earlier.section.is_some()) {
            warnings.push(format!("{path}: is left out, because {} has the same name, `{name}`", earlier.path));
            continue;
        }
        let mut reasons = Vec::new();
        let mut notes = entry::Notes { server: path.to_string(), warnings: &mut warnings, errors: &mut reasons };
        let section = entry::section(item, request, &mut notes).filter(|_| reasons.is_empty());
        match refused.iter_mut().find(|earlier: &&mut Refused| earlier.name == name) {
            Some(earlier) => earlier.reasons.append(&mut reasons),
            None if reasons.is_empty() => {}
            None => refused.push(Refused { name: name.clone(), reasons }),
        }
        seen.push(Seen { name, path, item, section });
    }
    let made = seen.into_iter().filter_map(|seen| Some((Value::from(seen.name), Value::Mapping(seen.section?))));
    let sections: Mapping = made.collect();
    if sections.is_empty() {
        // What is wrong with them, or where nothing is, why all of them were left out.
        let reasons: Vec<_> = refused.into_iter().flat_map(|entry| entry.reasons).collect();
        return Err(if reasons.is_empty() { warnings } else { reasons });
    }
    let yaml = print(sections, request.source).map_err(|error| vec![error])?;
    Ok(Imported { yaml, warnings, refused })
}

/// The servers that are asked for.
fn chosen(document: &Document<'_>, request: &Request<'_>) -> Result<Vec<ServerPath>, String> {
    let all = document.servers().ok_or(client::NO_SECTION)?;
    if all.is_empty() {
        return Err("has no servers in it".to_owned());
    }
    let Some(wanted) = request.server else { return Ok(all) };
    let names: Vec<String> = all.iter().map(|path| path.name().to_owned()).collect();
    let found: Vec<_> = all.into_iter().filter(|path| path.name() == wanted).collect();
    if !found.is_empty() {
        return Ok(found);
    }
    let near = hint::did_you_mean(wanted, names.iter().map(String::as_str));
    Err(format!("has no server {wanted:?}{near}; it has {}", names.join(", ")))
}

/// The name of a server here, which has fewer characters to choose from.
fn name(path: &ServerPath, warnings: &mut Vec<String>) -> String {
    let written = path.name();
    if is_name(written) {
        return written.to_owned();
    }
    let name = to_name(written);
    warnings.push(format!("{path}: is called `{name}` here: names are letters, digits, `.`, `_` and `-`"));
    name
}

fn print(servers: Mapping, source: &str) -> Result<String, String> {
    let mut file = Mapping::new();
    file.insert("version".into(), 1.into());
    file.insert("servers".into(), Value::Mapping(servers));
    let yaml = serde_yaml::to_string(&file).map_err(|error| format!("cannot be written as YAML: {error}"))?;
    // A line break in a file's name would end the comment.
    let source: String = source.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
    Ok(format!("# Made of {source} by `mcp-watchdog import`.\n{yaml}"))
}

#[cfg(test)]
mod tests;
