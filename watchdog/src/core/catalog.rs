//! The published catalog: the last good answers to the list requests, as the client has seen them.
//!
//! It is learned from the client's own requests and from the refresh after a restart. It answers the client while the
//! server is down, and the comparison of two of its states decides whether a change is announced. A failed refresh
//! changes nothing.

use std::collections::HashMap;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::ids::Generation;
use crate::wire::head::Method;
use crate::wire::{list, splice};

/// More pages than this are not followed.
const MAX_PAGES: usize = 64;

/// The lists of MCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ListKind {
    /// `tools/list`
    Tools,
    /// `prompts/list`
    Prompts,
    /// `resources/list`
    Resources,
    /// `resources/templates/list`
    Templates,
}

impl ListKind {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Tools, Self::Prompts, Self::Resources, Self::Templates];

    /// The list that a request asks for.
    #[must_use]
    pub const fn of(method: Method) -> Option<Self> {
        match method {
            Method::ToolsList => Some(Self::Tools),
            Method::PromptsList => Some(Self::Prompts),
            Method::ResourcesList => Some(Self::Resources),
            Method::ResourcesTemplatesList => Some(Self::Templates),
            _ => None,
        }
    }

    /// The request's method.
    #[must_use]
    pub const fn method(self) -> &'static str {
        match self {
            Self::Tools => "tools/list",
            Self::Prompts => "prompts/list",
            Self::Resources => "resources/list",
            Self::Templates => "resources/templates/list",
        }
    }

    /// The capability that the list belongs to.
    #[must_use]
    pub const fn capability(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
            Self::Resources | Self::Templates => "resources",
        }
    }

    /// The notification that tells of a change.
    #[must_use]
    pub const fn notification(self) -> &'static str {
        match self {
            Self::Tools => "notifications/tools/list_changed",
            Self::Prompts => "notifications/prompts/list_changed",
            Self::Resources | Self::Templates => "notifications/resources/list_changed",
        }
    }

    /// The member of a result that holds the items.
    #[must_use]
    pub const fn member(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
            Self::Resources => "resources",
            Self::Templates => "resourceTemplates",
        }
    }

    const fn index(self) -> usize {
        self as usize
    }
}

/// What annotations say of a tool (they are the server's word, not a promise).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Hints {
    /// `readOnlyHint`
    pub read_only: bool,
    /// `idempotentHint`
    pub idempotent: bool,
}

#[derive(Deserialize)]
struct Page<'a> {
    #[serde(rename = "nextCursor", borrow, default)]
    next: Option<&'a RawValue>,
}

fn next_cursor(result: &[u8]) -> Option<&[u8]> {
    let page: Page<'_> = serde_json::from_slice(result).ok()?;
    page.next.map(|raw| raw.get().as_bytes()).filter(|raw| *raw != b"null")
}

/// What became of a page of a refresh.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refreshed {
    /// There is another page, at this cursor (as spelled).
    More(Bytes),
    /// The list is complete; `true` if it differs from the one that the client has seen.
    Done(bool),
    /// The answer is no list; the published one stays.
    Unreadable,
}

/// The catalog.
#[derive(Debug, Default)]
pub struct Catalog {
    /// Raw results, one a page, as the client has seen them.
    lists: [Vec<Bytes>; 4],
    /// Whose words they are.
    said_by: [Generation; 4],
    /// The same from a refresh that is not complete yet.
    coming: [Vec<Bytes>; 4],
    hints: HashMap<String, Hints>,
    /// Whether tool annotations are wanted.
    with_hints: bool,
}

impl Catalog {
    /// An empty catalog; annotations are only read where something depends on them.
    #[must_use]
    pub fn new(with_hints: bool) -> Self {
        Self { with_hints, ..Self::default() }
    }

    /// Learns from an answer of this generation that the client gets. `cursor` is that of the request, as spelled.
    pub fn learn(&mut self, generation: Generation, kind: ListKind, cursor: Option<&[u8]>, result: &[u8]) {
        if kind == ListKind::Tools && self.with_hints {
            self.read_hints(result);
        }
        let pages = &mut self.lists[kind.index()];
        match cursor {
            None => {
                *pages = vec![Bytes::copy_from_slice(result)];
                self.said_by[kind.index()] = generation;
            }
            Some(cursor) => {
                let follows = pages.last().and_then(|page| next_cursor(page)) == Some(cursor);
                if follows && pages.len() < MAX_PAGES {
                    pages.push(Bytes::copy_from_slice(result));
                }
            }
        }
    }

    /// The last good list as one page, where all of it is known: a cursor means nothing to another process than the one that gave
    /// it. What else is in a page is that of the last one.
    #[must_use]
    pub fn whole(&self, kind: ListKind) -> Option<Bytes> {
        let (last, before) = self.lists[kind.index()].split_last()?;
        if goes_on(last) {
            return None;
        }
        if before.is_empty() {
            return Some(last.clone());
        }
        let page = list::page(last, kind.member())?;
        let mut items = Vec::new();
        for page in before {
            items.extend(list::page(page, kind.member())?.items.into_iter().filter_map(|span| page.get(span)));
        }
        let mut text = items.join(&b',');
        if !(text.is_empty() || page.items.is_empty()) {
            text.push(b',');
        }
        let start = page.items.first().map_or(page.end, |first| first.start);
        Some(splice::replace(last, start..start, &text))
    }

    /// All pages of the last good list that are known, and the generation that said them.
    #[must_use]
    pub fn list(&self, kind: ListKind) -> (Generation, &[Bytes]) {
        (self.said_by[kind.index()], &self.lists[kind.index()])
    }

    /// The lists that the client has asked for.
    pub fn known(&self) -> impl Iterator<Item = ListKind> {
        ListKind::ALL.into_iter().filter(|kind| !self.lists[kind.index()].is_empty())
    }

    /// Forgets pages of a refresh that did not come to an end.
    pub fn abandon_refresh(&mut self) {
        self.coming = Default::default();
    }

    /// Takes a page of a refresh by this generation. When the list is complete it replaces the published one.
    pub fn refreshed(&mut self, generation: Generation, kind: ListKind, result: &[u8]) -> Refreshed {
        let page = Bytes::copy_from_slice(result);
        let Some(new_items) = items(kind, std::slice::from_ref(&page)) else { return Refreshed::Unreadable };
        let coming = &mut self.coming[kind.index()];
        coming.push(page.clone());
        if let Some(cursor) = next_cursor(result).filter(|_| coming.len() < MAX_PAGES) {
            return Refreshed::More(Bytes::copy_from_slice(cursor));
        }
        let pages = std::mem::take(coming);
        let old = &self.lists[kind.index()];
        // A client that never read the later pages is told of changes in those that it has read.
        let seen = if next_cursor_of(old).is_some() { &pages[..old.len().min(pages.len())] } else { &pages[..] };
        let seen_items = if pages.len() == 1 { Some(new_items) } else { items(kind, seen) };
        let changed = items(kind, old).zip(seen_items).is_some_and(|(old, new)| differ(old, new));
        if kind == ListKind::Tools && self.with_hints {
            for page in &pages {
                self.read_hints(page);
            }
        }
        self.lists[kind.index()] = pages;
        self.said_by[kind.index()] = generation;
        Refreshed::Done(changed)
    }

    /// What is known of a tool.
    #[must_use]
    pub fn hints(&self, tool: &str) -> Hints {
        self.hints.get(tool).copied().unwrap_or_default()
    }

    fn read_hints(&mut self, result: &[u8]) {
        let Ok(value) = serde_json::from_slice::<Value>(result) else { return };
        let tools = value.get("tools").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        for tool in tools {
            let flag = |name: &str| tool.pointer(name) == Some(&Value::Bool(true));
            if let Some(name) = tool.get("name").and_then(Value::as_str) {
                let hints = Hints {
                    read_only: flag("/annotations/readOnlyHint"),
                    idempotent: flag("/annotations/idempotentHint"),
                };
                self.hints.insert(name.to_owned(), hints);
            }
        }
    }
}

/// Whether a list whose last known page is this one goes on.
#[must_use]
pub fn goes_on(page: &[u8]) -> bool {
    next_cursor(page).is_some()
}

fn next_cursor_of(pages: &[Bytes]) -> Option<&[u8]> {
    next_cursor(pages.last()?)
}

/// The items of a list, as they are spelled.
fn items(kind: ListKind, pages: &[Bytes]) -> Option<Vec<&str>> {
    let mut all = Vec::new();
    for page in pages {
        let members: HashMap<String, &RawValue> = serde_json::from_slice(page).ok()?;
        let list: Vec<&RawValue> = serde_json::from_str(members.get(kind.member())?.get()).ok()?;
        all.extend(list.into_iter().map(RawValue::get));
    }
    Some(all)
}

/// Whether lists differ in more than the order of their items and the spelling of JSON. What is spelled alike is not looked into:
/// that is nearly all, and a list may have megabytes.
fn differ(mut old: Vec<&str>, mut new: Vec<&str>) -> bool {
    old.sort_unstable();
    new.sort_unstable();
    beyond(&old, &new) != beyond(&new, &old)
}

/// What the first of two sorted lists has beyond the second, in a form that compares.
fn beyond(these: &[&str], those: &[&str]) -> Vec<String> {
    let mut those = those.iter().peekable();
    let only_here = these.iter().filter(|item| {
        while those.next_if(|other| other < item).is_some() {}
        those.next_if(|other| other == item).is_none()
    });
    let mut beyond: Vec<String> = only_here
        .map(|item| serde_json::from_str(item).map_or_else(|_| (*item).to_owned(), |value: Value| value.to_string()))
        .collect();
    beyond.sort_unstable();
    beyond
}

#[cfg(test)]
mod tests;
