//! The head of a message: what routing must know of it, found without building anything.

use super::Span;

/// What one line is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scan {
    /// One JSON-RPC message.
    Message(Head),
    /// A JSON array; [`elements`] takes it apart.
    Batch,
    /// A JSON object without `method`, `result` or `error`; its id, if it has one.
    NotAMessage(Option<Span>),
    /// Something else, or not JSON.
    NotJson,
}

/// The kind of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `method` and a non-null `id`.
    Request,
    /// `method` without `id`.
    Notification,
    /// `result`.
    Result,
    /// `error`.
    Error,
}

/// What the scan found. Spans are of values as they are spelled (strings with their quotes). Of duplicate keys the last
/// one counts, as for most JSON readers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// What kind of message it is.
    pub kind: Kind,
    /// Its method; `Method::None` for responses.
    pub method: Method,
    /// The spelled method, with its quotes.
    pub method_span: Option<Span>,
    /// `id`, also when it is `null`.
    pub id: Option<Span>,
    /// `params`.
    pub params: Option<Span>,
    /// `result` or `error`.
    pub body: Option<Span>,
    /// `params._meta.progressToken`.
    pub meta_progress_token: Option<Span>,
    /// `params._meta."io.modelcontextprotocol/protocolVersion"`, where it is a string.
    pub meta_protocol_version: Option<Span>,
    /// Whether `params._meta."io.modelcontextprotocol/clientCapabilities"` is an object.
    pub meta_client_capabilities: bool,
    /// `params._meta."io.modelcontextprotocol/subscriptionId"`.
    pub meta_subscription_id: Option<Span>,
    /// `params.progressToken`.
    pub progress_token: Option<Span>,
    /// `params.requestId`.
    pub request_id: Option<Span>,
    /// `params.uri`.
    pub uri: Option<Span>,
    /// `params.name`.
    pub name: Option<Span>,
    /// `params.cursor`.
    pub cursor: Option<Span>,
    /// Whether `params.task` is there (2025-11-25: the call becomes a task).
    pub task: bool,
    /// Whether `params.inputResponses` or `params.requestState` is there (2026-07-28: a continued call).
    pub continued: bool,
}

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

/// Reads the head of a line (without its line end).
#[must_use]
pub fn scan(_line: &[u8]) -> Scan {
    Scan::NotJson
}

/// The elements of a batch, each as it stands in the line; `None` when the array is malformed.
#[must_use]
pub fn elements(_line: &[u8]) -> Option<Vec<Span>> {
    None
}
