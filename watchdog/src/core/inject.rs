//! Tools of the watchdog among a server's own (`mgmt.inject`): what is added to which list, and whose a name is.
//!
//! A name of the server's is the server's (OWASP AISVS 10.6.5: no tool shadows another one). A name is ours once the client
//! was offered it: before that nobody can mean us by it.

use serde_json::{Value, json};

use crate::wire::list;

/// A tool that can be added to a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Injected {
    /// Its name there, with the prefix.
    pub name: Box<str>,
    /// Its name without the prefix.
    pub tool: Box<str>,
    /// The item of the list, as JSON text.
    pub item: Box<[u8]>,
}

/// Whose a name is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// Nobody's yet.
    Free,
    /// Ours: the client was offered the tool.
    Offered,
    /// The server's, for good: a name that changes sides could not be trusted.
    Refused,
}

/// The tools, and how each stands.
#[derive(Debug, Default)]
pub struct Injection {
    tools: Vec<(Injected, Standing)>,
}

impl Injection {
    /// Tools that nobody was offered yet.
    #[must_use]
    pub fn new(tools: Vec<Injected>) -> Self {
        Self { tools: tools.into_iter().map(|tool| (tool, Standing::Free)).collect() }
    }

    /// The same for another client, who was offered nothing.
    #[must_use]
    pub fn successor(&self) -> Self {
        let afresh = |standing| if standing == Standing::Offered { Standing::Free } else { standing };
        Self { tools: self.tools.iter().map(|(tool, standing)| (tool.clone(), afresh(*standing))).collect() }
    }

    /// Whether there is nothing to add.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// Learns from a page of the server which names are its own. Gives those that were not known to be.
    pub fn learn(&mut self, result: &[u8]) -> Vec<Box<str>> {
        let items = list::page(result, "tools").map(|page| page.items).unwrap_or_default();
        let names: Vec<_> = items.into_iter().filter_map(|item| list::name(result.get(item)?)).collect();
        let mut refused = Vec::new();
        for (tool, standing) in &mut self.tools {
            if *standing != Standing::Refused && names.iter().any(|name| **name == *tool.name) {
                *standing = Standing::Refused;
                refused.push(tool.name.clone());
            }
        }
        refused
    }

    /// Offers the tools at the end of a list: the place in its last page, and what is put in there. `None` where this is not
    /// the last page, or no list.
    pub fn offer(&mut self, result: &[u8]) -> Option<(usize, Vec<u8>)> {
        let page = list::page(result, "tools").filter(|page| page.is_last)?;
        let mut text = Vec::new();
        for (tool, standing) in self.tools.iter_mut().filter(|(_, standing)| *standing != Standing::Refused) {
            *standing = Standing::Offered;
            if !(page.items.is_empty() && text.is_empty()) {
                text.push(b',');
            }
            text.extend_from_slice(&tool.item);
        }
        Some((page.end, text))
    }

    /// The tool of ours that a client means by this name.
    #[must_use]
    pub fn meant(&self, name: &str) -> Option<&Injected> {
        let found = self.tools.iter().find(|(tool, standing)| *standing == Standing::Offered && *tool.name == *name);
        found.map(|(tool, _)| tool)
    }
}

/// The result of a call that failed, as a model reads it.
#[must_use]
pub fn failure(why: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": why }], "isError": true })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_client_was_offered_nothing_and_what_is_the_servers_stays_so() {
        let tool = |name: &str| {
            let item = format!(r#"{{"name":"{name}"}}"#).into_bytes().into();
            Injected { name: name.into(), tool: name.into(), item }
        };
        let mut first = Injection::new(vec![tool("a"), tool("b")]);
        assert_eq!(first.learn(br#"{"tools":[{"name":"b"}]}"#), ["b".into()]);
        assert_eq!(first.offer(br#"{"tools":[]}"#), Some((10, br#"{"name":"a"}"#.to_vec())));
        assert!(first.meant("a").is_some() && first.meant("b").is_none());
        let mut next = first.successor();
        assert!(next.meant("a").is_none());
        assert_eq!(next.learn(br#"{"tools":[{"name":"b"}]}"#), [], "it was told");
        assert_eq!(next.offer(br#"{"tools":[1]}"#), Some((11, br#",{"name":"a"}"#.to_vec())));
    }
}
