//! The methods of all MCP revisions that mean something to the watchdog.

use super::text;

/// The methods that mean something to the watchdog.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Method {
    /// A response has none.
    None,
    /// Any method that is not in this list.
    Other,
    // requests of the client
    Initialize,
    Ping,
    Discover,
    ToolsList,
    ToolsCall,
    PromptsList,
    PromptsGet,
    ResourcesList,
    ResourcesTemplatesList,
    ResourcesRead,
    ResourcesSubscribe,
    ResourcesUnsubscribe,
    CompletionComplete,
    LoggingSetLevel,
    SubscriptionsListen,
    TasksGet,
    TasksResult,
    TasksList,
    TasksCancel,
    TasksUpdate,
    // requests of the server
    SamplingCreateMessage,
    ElicitationCreate,
    RootsList,
    // notifications
    Initialized,
    Cancelled,
    Progress,
    Message,
    RootsListChanged,
    ToolsListChanged,
    PromptsListChanged,
    ResourcesListChanged,
    ResourcesUpdated,
    SubscriptionsAcknowledged,
    TasksStatus,
}

/// Every named method, the frequent ones first.
const NAMES: &[(Method, &str)] = &[
    (Method::ToolsCall, "tools/call"),
    (Method::Progress, "notifications/progress"),
    (Method::Ping, "ping"),
    (Method::Message, "notifications/message"),
    (Method::Cancelled, "notifications/cancelled"),
    (Method::ToolsList, "tools/list"),
    (Method::ResourcesRead, "resources/read"),
    (Method::ResourcesUpdated, "notifications/resources/updated"),
    (Method::PromptsGet, "prompts/get"),
    (Method::CompletionComplete, "completion/complete"),
    (Method::TasksGet, "tasks/get"),
    (Method::TasksResult, "tasks/result"),
    (Method::TasksStatus, "notifications/tasks/status"),
    (Method::Initialize, "initialize"),
    (Method::Initialized, "notifications/initialized"),
    (Method::Discover, "server/discover"),
    (Method::PromptsList, "prompts/list"),
    (Method::ResourcesList, "resources/list"),
    (Method::ResourcesTemplatesList, "resources/templates/list"),
    (Method::ResourcesSubscribe, "resources/subscribe"),
    (Method::ResourcesUnsubscribe, "resources/unsubscribe"),
    (Method::LoggingSetLevel, "logging/setLevel"),
    (Method::SubscriptionsListen, "subscriptions/listen"),
    (Method::SubscriptionsAcknowledged, "notifications/subscriptions/acknowledged"),
    (Method::TasksList, "tasks/list"),
    (Method::TasksCancel, "tasks/cancel"),
    (Method::TasksUpdate, "tasks/update"),
    (Method::SamplingCreateMessage, "sampling/createMessage"),
    (Method::ElicitationCreate, "elicitation/create"),
    (Method::RootsList, "roots/list"),
    (Method::RootsListChanged, "notifications/roots/list_changed"),
    (Method::ToolsListChanged, "notifications/tools/list_changed"),
    (Method::PromptsListChanged, "notifications/prompts/list_changed"),
    (Method::ResourcesListChanged, "notifications/resources/list_changed"),
];

impl Method {
    /// The method of that name; [`Method::Other`] for one that is not in the list.
    #[must_use]
    pub fn from_name(name: &[u8]) -> Self {
        let known = NAMES.iter().find(|(_, known)| known.as_bytes() == name);
        known.map_or(Self::Other, |&(method, _)| method)
    }

    /// The method that a JSON string, given with its quotes, spells.
    pub(super) fn from_raw(raw: &[u8]) -> Self {
        let [b'"', name @ .., b'"'] = raw else { return Self::Other };
        match Self::from_name(name) {
            Self::Other if name.contains(&b'\\') => Self::from_name(text::read_lossy(name).as_bytes()),
            method => method,
        }
    }

    /// Its name on the wire; `None` for [`Method::None`] and [`Method::Other`].
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        NAMES.iter().find(|&&(method, _)| method == self).map(|&(_, name)| name)
    }

    /// Whether a request may be written to a second server process after the first one died with it (contract, promise
    /// 2, which is stricter than wire.md about tasks). Methods that end in `/list` but are not named here are decided by
    /// [`is_read_only`](super::head::is_read_only).
    #[must_use]
    pub fn is_read_only(self) -> bool {
        match self {
            // The most frequent one by far: its name need not be looked for.
            Self::ToolsCall => false,
            Self::Ping | Self::Discover | Self::ResourcesRead | Self::PromptsGet | Self::CompletionComplete => true,
            _ => self.name().is_some_and(is_list_name),
        }
    }

    /// Whether it asks the server for one of the four lists that the watchdog can serve itself: tools, prompts,
    /// resources, resource templates.
    #[must_use]
    pub fn is_list(self) -> bool {
        matches!(self, Self::ToolsList | Self::PromptsList | Self::ResourcesList | Self::ResourcesTemplatesList)
    }
}

/// Whether a method lists something: `*/list`.
pub(super) fn is_list_name(name: &str) -> bool {
    name.ends_with("/list")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_to_their_method_and_back() {
        for &(method, name) in NAMES {
            assert_eq!(Method::from_name(name.as_bytes()), method);
            assert_eq!(method.name(), Some(name));
        }
        assert_eq!(Method::from_name(b"tools/Call"), Method::Other);
        assert_eq!(Method::from_name(b""), Method::Other);
        assert_eq!((Method::None.name(), Method::Other.name()), (None, None));
    }

    #[test]
    fn escaped_names_count() {
        assert_eq!(Method::from_raw(br#""notifications\/message""#), Method::Message);
        assert_eq!(Method::from_raw(br#""\u0070ing""#), Method::Ping);
        assert_eq!(Method::from_raw(br#""ping\ud800""#), Method::Other);
    }

    #[test]
    fn exactly_these_are_read_only() {
        let names: Vec<&str> =
            NAMES.iter().filter(|(method, _)| method.is_read_only()).map(|&(_, name)| name).collect();
        assert_eq!(
            names,
            [
                "ping",
                "tools/list",
                "resources/read",
                "prompts/get",
                "completion/complete",
                "server/discover",
                "prompts/list",
                "resources/list",
                "resources/templates/list",
                "tasks/list",
                "roots/list",
            ]
        );
        assert!(!Method::Other.is_read_only() && !Method::None.is_read_only());
    }

    #[test]
    fn four_lists_are_the_catalog() {
        let count = NAMES.iter().filter(|(method, _)| method.is_list()).count();
        assert_eq!(count, 4);
        assert!(!Method::TasksList.is_list() && !Method::RootsList.is_list());
    }
}
