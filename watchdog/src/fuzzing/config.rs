//! Files that people write.

use std::path::PathBuf;

use crate::config::explain::explain;
use crate::config::load::{Input, Loaded, Places, check, load, load_all};
use crate::config::{ConfigErrors, Link, diff};
use crate::ecosystem::import::{Request, import};
use crate::ecosystem::rewrite::{Change, rewrite};
use crate::ecosystem::{Document, Format};
use crate::probe::Registry;

use super::feed::Feed;

/// Files that a configuration names are read, which fuzzing should not do.
const FILES: [&str; 5] = ["env_file", "envFile", "token_file", "/dev", "/proc"];

/// What ends a line in YAML 1.1.
const BREAKS: [char; 5] = ['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}'];

/// A configuration, in YAML, JSON or TOML: it is loaded, or what is wrong is told with a place that there is. What is loaded can be
/// explained, and differs from itself in nothing.
pub fn config(bytes: &[u8]) {
    let mut feed = Feed::new(bytes);
    let kind = feed.byte();
    let Ok(text) = std::str::from_utf8(feed.rest()) else { return };
    if FILES.iter().any(|word| text.contains(word)) {
        return;
    }
    let name = ["c.yaml", "c.json", "c.toml"][kind % 3];
    let registry = Registry::with_builtins();
    let known = |link: &Link, server: Option<&crate::config::Command>| registry.check(link, server);
    let input = Input {
        config: Some(PathBuf::from(name)),
        text: Some(text.to_owned()),
        environment: vec![("HOME".into(), "/home/x".into()), ("MCP_WATCHDOG_RESTART__HOLD".into(), "5s".into())],
        places: Places { working: PathBuf::from("/nowhere"), system: PathBuf::from("/nowhere/c.yaml") },
        ..Input::default()
    };
    let loaded = load_all(&input, &known);
    if let Err(errors) = check(&input, &known) {
        told(&errors, name, text);
    }
    if let Err(errors) = load(&input, &known) {
        told(&errors, name, text);
    }
    match loaded {
        Ok(loaded) => usable(&loaded),
        Err(errors) => told(&errors, name, text),
    }
}

fn usable(loaded: &Loaded) {
    let mut table = Vec::new();
    explain(loaded, &mut table).unwrap_or_else(|error| panic!("{error}"));
    assert!(!table.is_empty());
    assert!(diff(&loaded.config, &loaded.config).is_empty(), "a configuration differs from itself");
}

/// Every error says something, and where it names a line there is one.
fn told(errors: &ConfigErrors, name: &str, text: &str) {
    assert!(!errors.errors().is_empty(), "it is refused without a reason");
    for error in errors.errors() {
        let shown = error.to_string();
        assert!(!shown.trim().is_empty());
        let place = shown.strip_prefix(name).and_then(|rest| rest.strip_prefix(':'));
        let mut numbers = place.into_iter().flat_map(|rest| rest.split(':')).map(|part| part.parse::<usize>());
        if let (Some(Ok(line)), Some(Ok(column))) = (numbers.next(), numbers.next()) {
            assert!((1..=text.split(BREAKS).count()).contains(&line), "no line {line}: {shown}");
            assert!(column >= 1, "no column {column}: {shown}");
        }
    }
}

/// A client's file: what is put in front of its servers can be taken away again, and it can be imported.
pub fn client_file(bytes: &[u8]) {
    let mut feed = Feed::new(bytes);
    let format = if feed.byte().is_multiple_of(2) { Format::Json } else { Format::Toml };
    let Ok(text) = std::str::from_utf8(feed.rest()) else { return };
    let Ok(document) = Document::parse(text, format) else { return };
    let request = Request { source: "c", folder: Some("."), server: None, workspace: None, timeout_unit: None };
    if let Err(messages) = import(&document, &request) {
        assert!(messages.iter().all(|message| !message.is_empty()) && !messages.is_empty());
    }
    let binary = || "/usr/bin/mcp-watchdog".to_owned();
    let wrap = Change::Wrap { binary: binary(), options: vec!["--hold".to_owned(), "5s".to_owned()] };
    let Ok(wrapped) = rewrite(&document, &wrap) else { return };
    let again = Document::parse(&wrapped.text, format).unwrap_or_else(|error| panic!("{error:?}: {}", wrapped.text));
    let undone = rewrite(&again, &Change::Undo { binary: binary() }).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(undone.outcomes.len(), wrapped.outcomes.len());
    for (wrapped, undone) in wrapped.outcomes.iter().zip(&undone.outcomes).filter(|(wrapped, _)| wrapped.result.is_ok())
    {
        assert_eq!(undone, wrapped, "the server's own command comes back");
    }
    let bare = Document::parse(&undone.text, format).unwrap_or_else(|error| panic!("{error:?}: {}", undone.text));
    let nothing = rewrite(&bare, &Change::Undo { binary: binary() }).unwrap_or_else(|error| panic!("{error}"));
    assert!(nothing.outcomes.iter().all(|outcome| outcome.result.is_err()), "there is nothing left to undo");
}
