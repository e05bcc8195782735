//! The lists of a server as the control plane shows them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::command::Lists;
use crate::core::catalog::{ListKind, goes_on};

/// What a client has been shown of a server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CatalogReport {
    /// The server.
    pub server: String,
    /// Its generation now; 0 before the first.
    pub generation: u64,
    /// Whether the client is shown these lists while their process is gone.
    pub stale: bool,
    /// `null` where the client has not asked for it; so are the others.
    pub tools: Option<CatalogList>,
    /// `prompts/list`
    pub prompts: Option<CatalogList>,
    /// `resources/list`
    pub resources: Option<CatalogList>,
    /// `resources/templates/list`
    pub resource_templates: Option<CatalogList>,
}

/// One list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CatalogList {
    /// The generation that said it.
    pub generation: u64,
    /// Whether its last page is among what is known.
    pub complete: bool,
    /// Names of tools and prompts, URIs of resources, URI templates.
    pub names: Vec<String>,
    /// The results, one a page; only where they were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pages: Option<Vec<Value>>,
}

impl CatalogReport {
    /// Reads names off the raw lists.
    #[must_use]
    pub fn render(server: &str, lists: &Lists, full: bool) -> Self {
        let mut report = Self {
            server: server.to_owned(),
            generation: lists.generation,
            stale: lists.stale,
            tools: None,
            prompts: None,
            resources: None,
            resource_templates: None,
        };
        for (kind, generation, pages) in &lists.lists {
            let values: Vec<Value> = pages.iter().filter_map(|page| serde_json::from_slice(page).ok()).collect();
            let list = CatalogList {
                generation: *generation,
                complete: pages.last().is_some_and(|page| !goes_on(page)),
                names: values.iter().flat_map(|page| names(*kind, page)).collect(),
                pages: full.then_some(values),
            };
            *report.place(*kind) = Some(list);
        }
        report
    }

    const fn place(&mut self, kind: ListKind) -> &mut Option<CatalogList> {
        match kind {
            ListKind::Tools => &mut self.tools,
            ListKind::Prompts => &mut self.prompts,
            ListKind::Resources => &mut self.resources,
            ListKind::Templates => &mut self.resource_templates,
        }
    }
}

fn names(kind: ListKind, page: &Value) -> Vec<String> {
    let key = match kind {
        ListKind::Tools | ListKind::Prompts => "name",
        ListKind::Resources => "uri",
        ListKind::Templates => "uriTemplate",
    };
    let items = page[kind.member()].as_array().map_or(&[][..], Vec::as_slice);
    items.iter().filter_map(|item| item[key].as_str().map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    #[test]
    fn names_of_all_pages_and_raw_pages_only_where_asked_for() {
        let tools = vec![
            Bytes::from_static(br#"{"tools":[{"name":"a","inputSchema":{}}],"nextCursor":"2"}"#),
            Bytes::from_static(br#"{"tools":[{"name":"b"}],"nextCursor":"3"}"#),
        ];
        let templates = vec![Bytes::from_static(br#"{"resourceTemplates":[{"uriTemplate":"file:///{x}"}]}"#)];
        let lists = vec![(ListKind::Tools, 2, tools), (ListKind::Templates, 3, templates)];
        let lists = Lists { generation: 3, stale: true, lists };
        let report = CatalogReport::render("memory", &lists, false);
        let tools = report.tools.unwrap();
        assert_eq!((tools.generation, tools.complete, tools.pages), (2, false, None));
        assert_eq!(tools.names, ["a", "b"]);
        let templates = report.resource_templates.unwrap();
        assert!(templates.complete && report.stale && report.prompts.is_none());
        assert_eq!(templates.names, ["file:///{x}"]);
        let full = CatalogReport::render("memory", &lists, true).tools.unwrap();
        assert_eq!(full.pages.unwrap()[0]["tools"][0]["inputSchema"], serde_json::json!({}));
    }
}
