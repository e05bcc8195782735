//! The management server: MCP tools by which a model may look at the servers and bring them back (control-plane.md,
//! section 4).
//!
//! The one server of our own, and so the one room of the engine where messages are typed. It speaks on `POST /mcp` of the
//! control plane, where it answers for this process, and on stdin and stdout of `mcp-watchdog mcp`, where it answers for all
//! watchdogs that it finds; a [`Backend`] hides the difference. No state is kept between two calls: in the handshake era over
//! HTTP there are no sessions, and in the stateless era there is nothing else.

mod activity;
mod backend;
mod call;
mod http;
mod inside;
mod local;
mod model;
mod stdio;
mod tool;

use std::sync::Arc;
use std::time::Duration;

use rmcp::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ErrorData, Implementation, ListToolsResult, PaginatedRequestParams,
    ServerCapabilities, ServerConfig,
};
use rmcp::service::{RequestContext, RoleServer};
use tokio::sync::watch;
use tokio::time::sleep;

pub use activity::{Cursor, Heard, Listener};
pub use backend::{Backend, Failure, Found, RetriedMany, Target};
pub(super) use http::handle;
pub(crate) use inside::toolbox;
pub use local::Local;
pub use model::Server;
pub use stdio::serve;

use tool::Tool;

/// What a client tells its model about all of the tools.
const INSTRUCTIONS: &str = "\
Each server here is an MCP server that mcp-watchdog supervises: it restarts a server that dies or hangs, and keeps the sessions \
of its clients. Most losses mend themselves within seconds, so look before you act: list_servers shows every server with its \
state, and get_server_status one with its last error, exit and health. retry_server starts an attempt now, for a server that \
failed for good or waits for its next attempt; on one that is connected it replaces the process, and calls in flight there are \
lost. await_activity waits for something to happen, such as server_connected or server_failed.";

/// How long calls that are being carried out may go on when the program or its client ends: clients wait 2 s before they kill.
const FAREWELL: Duration = Duration::from_secs(1);

/// The server. Cheap to clone; one serves any number of clients.
#[derive(Clone)]
pub struct Manager {
    backend: Arc<dyn Backend>,
    allow_disable: bool,
    /// Turns true when the program ends.
    closing: watch::Receiver<bool>,
}

impl Manager {
    /// A server over a backend. Tools that switch servers on and off are there only with `allow_disable`.
    #[must_use]
    pub fn new(backend: Arc<dyn Backend>, allow_disable: bool, closing: watch::Receiver<bool>) -> Self {
        Self { backend, allow_disable, closing }
    }

    fn tools(&self) -> impl Iterator<Item = Tool> {
        Tool::ALL.into_iter().filter(|tool| self.allow_disable || !tool.switches())
    }

    fn tool(&self, name: &str) -> Option<Tool> {
        self.tools().find(|tool| tool.name() == name)
    }

    async fn closed(&self) {
        let mut closing = self.closing.clone();
        // An error says that whoever would have told it has gone.
        _ = closing.wait_for(|closing| *closing).await;
        sleep(FAREWELL).await;
    }
}

impl ServerHandler for Manager {
    fn get_info(&self) -> ServerConfig {
        let about = Implementation::new("mcp-watchdog", env!("CARGO_PKG_VERSION"))
            .with_title("MCP watchdog")
            .with_description("Shows supervised MCP servers, and brings them back");
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(about)
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools().map(Tool::describe).collect()))
    }

    fn get_tool(&self, name: &str) -> Option<rmcp::model::Tool> {
        self.tool(name).map(Tool::describe)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        // MCP, tools, error handling: an unknown tool is an error of the protocol, all else is a result that the model reads.
        let Some(tool) = self.tool(&request.name) else {
            let known: Vec<_> = self.tools().map(Tool::name).collect();
            let message = format!("there is no tool \"{}\"; there are: {}", request.name, known.join(", "));
            return Err(ErrorData::invalid_params(message, None));
        };
        let result = tokio::select! {
            result = call::call(&*self.backend, tool, request.arguments) => result,
            () = context.ct.cancelled() => call::refused(&Failure::cancelled()),
            () = self.closed() => call::refused(&Failure::closing()),
        };
        Ok(result.into())
    }
}

#[cfg(test)]
mod tests;
