//! Where clients keep their servers, and what an entry is.

use std::path::Path;

use super::Document;
use super::item::{Entry, Item, Value};

/// The keys that servers stand under, each with the clients that write it so.
const SECTIONS: [&[&str]; 5] = [
    // Claude Desktop, Claude Code, Cursor, Cline, Windsurf, Gemini CLI.
    &["mcpServers"],
    // VS Code's mcp.json.
    &["servers"],
    // VS Code's settings.json.
    &["mcp", "servers"],
    // Zed.
    &["context_servers"],
    // Codex, Toolman.
    &["mcp_servers"],
];

/// How variables begin that VS Code expands, and we do not.
const VS_CODES: [&str; 4] = ["${env:", "${input:", "${userHome}", "${workspaceFolder"];

/// What is said of a file without any of them.
pub(crate) const NO_SECTION: &str = "holds no servers of an MCP client: none of `mcpServers` (Claude, Cursor, Cline), `servers` (VS Code), \
     `context_servers` (Zed) and `mcp_servers` (Codex) is there";

/// The path of one server's entry in a file. Its last part is the server's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServerPath(Vec<String>);

impl ServerPath {
    pub(crate) fn name(&self) -> &str {
        self.0.last().map(String::as_str).unwrap_or_default()
    }

    pub(super) fn keys(&self) -> &[String] {
        &self.0
    }
}

/// The name; in a file that has a section for each project, with the project's folder.
impl std::fmt::Display for ServerPath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0.as_slice() {
            [projects, project, .., name] if projects == "projects" => write!(f, "{name} ({project})"),
            _ => f.write_str(self.name()),
        }
    }
}

impl Document<'_> {
    /// The servers of all sections, in the order of writing; `None` when there is no section.
    pub(crate) fn servers(&self) -> Option<Vec<ServerPath>> {
        let sections = sections(&self.root);
        if sections.is_empty() {
            return None;
        }
        let servers = sections.into_iter().flat_map(|section| {
            let entries = self.root.at(&section).map(Item::entries).unwrap_or_default();
            let counts = |entry: &&Entry| {
                self.root
                    .at(&section)
                    .and_then(|map| map.entry(&entry.key))
                    .is_some_and(|last| std::ptr::eq(last, *entry))
            };
            let paths: Vec<_> = entries.iter().filter(counts).map(|entry| path(&section, &entry.key)).collect();
            paths
        });
        Some(servers.collect())
    }

    /// Whether its servers stand under a key that no configuration of the watchdog has.
    pub(crate) fn is_a_clients(&self) -> bool {
        self.root.get("servers").is_none() && !sections(&self.root).is_empty()
    }

    /// Whether it is VS Code's, whose servers stand under `servers` as ours do: there is no `version`, and there is what only VS
    /// Code understands, or a watchdog before a server already, which `wrap` puts into files of clients alone. Without that it can be
    /// read as ours, with the same result.
    pub(crate) fn is_vs_codes(&self) -> bool {
        let is_yaml = || serde_yaml::from_str::<serde::de::IgnoredAny>(self.text).is_ok();
        self.root.get("servers").is_some()
            && self.root.get("version").is_none()
            && (self.root.get("inputs").is_some() || self.root.mentions(&VS_CODES) || self.is_wrapped() || !is_yaml())
    }

    /// Whether a watchdog is the command of one of its `servers`.
    fn is_wrapped(&self) -> bool {
        let servers = self.root.get("servers").map(Item::entries).unwrap_or_default();
        servers.iter().any(|entry| match kind(&entry.item) {
            Kind::Command(command, _) => command.as_text().is_some_and(|command| is_watchdog(command, None)),
            _ => false,
        })
    }

    /// Whether this is a configuration of the watchdog itself, which has `servers` too.
    pub(crate) fn is_ours(&self) -> bool {
        self.root.get("version").is_some() && self.root.get("servers").is_some()
    }
}

fn path(section: &[String], name: &str) -> ServerPath {
    ServerPath(section.iter().cloned().chain([name.to_owned()]).collect())
}

fn sections(root: &Item) -> Vec<Vec<String>> {
    let owned = |keys: &[&str]| keys.iter().map(|key| (*key).to_owned()).collect::<Vec<_>>();
    let mut found: Vec<_> = SECTIONS.into_iter().map(owned).collect();
    // Claude Code's own file has a section for each folder it was used in.
    let projects = root.get("projects").map(Item::entries).unwrap_or_default();
    found.extend(projects.iter().map(|project| owned(&["projects", &project.key, "mcpServers"])));
    found.retain(|keys| root.at(keys).is_some_and(|section| matches!(section.value, Value::Map(_))));
    found
}

/// What an entry is.
pub(super) enum Kind<'a> {
    /// A command that speaks on its stdin and stdout, and the list of its arguments where there is one.
    Command(&'a Item, Option<&'a Item>),
    /// A server behind a URL.
    Remote,
    /// A server that an extension of the client brings, as in Zed: here are its settings alone.
    Extension,
    /// Neither; the reason.
    Other(&'static str),
}

/// What an entry is.
pub(super) fn kind(entry: &Item) -> Kind<'_> {
    if !matches!(entry.value, Value::Map(_)) {
        return Kind::Other("is not a map of keys");
    }
    if let Some(transport) = transport(entry).filter(|transport| *transport != "stdio") {
        return if is_remote(transport) { Kind::Remote } else { Kind::Other("has a `type` that is not known") };
    }
    let Some(command) = entry.get("command") else {
        return if URLS.iter().any(|key| entry.get(key).is_some()) {
            Kind::Remote
        } else if is_of_extension(entry) {
            Kind::Extension
        } else {
            Kind::Other("has no `command`")
        };
    };
    if command.as_text().is_none_or(str::is_empty) {
        return Kind::Other("has a `command` that is not text");
    }
    let args = entry.entry("args").map(|entry| &entry.item);
    match args.map(|args| &args.value) {
        None | Some(Value::Null | Value::List(_)) => Kind::Command(command, args),
        Some(_) => Kind::Other("has `args` that are not a list"),
    }
}

/// Whether an entry only sets what a server of an extension is to do.
fn is_of_extension(entry: &Item) -> bool {
    entry.get("settings").is_some() || entry.get("source").and_then(Item::as_text) == Some("extension")
}

/// The keys for the URL of a remote server.
pub(super) const URLS: [&str; 3] = ["url", "serverUrl", "httpUrl"];

/// The keys for the transport.
pub(super) const TRANSPORTS: [&str; 3] = ["type", "transport", "transportType"];

pub(super) fn transport(entry: &Item) -> Option<&str> {
    TRANSPORTS.iter().find_map(|key| entry.get(key)).and_then(Item::as_text)
}

fn is_remote(transport: &str) -> bool {
    matches!(transport, "http" | "streamable-http" | "streamableHttp" | "sse" | "ws")
}

/// Where in `args` a command begins that runs under the watchdog already: behind `--`.
pub(super) fn wrapped(args: Option<&Item>) -> Option<usize> {
    let args = args.and_then(Item::as_list)?;
    let dashes = args.iter().position(|arg| arg.as_text() == Some("--"))?;
    args.get(dashes + 1)?.as_text().map(|_| dashes + 1)
}

/// Whether a command is the watchdog: by its base name, or because it is this very binary.
pub(super) fn is_watchdog(command: &str, binary: Option<&str>) -> bool {
    let base = command.rsplit(['/', '\\']).next().unwrap_or(command);
    let base = base.strip_suffix(".exe").unwrap_or(base);
    base == "mcp-watchdog" || Some(command) == binary
}

/// The form that a file of this name has.
pub(crate) fn format(file: &Path) -> super::Format {
    match file.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("toml")) {
        true => super::Format::Toml,
        false => super::Format::Json,
    }
}
