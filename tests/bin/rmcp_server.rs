//! A server made with the SDK for Rust, for what the fixture cannot show: that a server which knows nothing of tests keeps
//! working behind the watchdog. It answers in both eras.

use std::time::Duration;

use rmcp::handler::server::router::tool::ToolRouter;
use rmcp::model::{Implementation, ServerCapabilities, ServerConfig};
use rmcp::{ServerHandler, ServiceExt, tool, tool_handler, tool_router};

#[derive(Debug, Clone)]
struct Server {
    tool_router: ToolRouter<Self>,
}

#[tool_router]
impl Server {
    /// The number of this process.
    #[tool(description = "The number of this process")]
    async fn pid(&self) -> String {
        std::process::id().to_string()
    }

    /// Writes the file that `RMCP_SERVER_HELD` names, and is not answered for a long time.
    #[tool(description = "Is not answered for a minute")]
    async fn hold(&self) -> String {
        if let Some(path) = std::env::var_os("RMCP_SERVER_HELD") {
            // Whoever waits for the file sees that it does not come.
            let _ = std::fs::write(path, std::process::id().to_string());
        }
        tokio::time::sleep(Duration::from_secs(60)).await;
        "held".to_owned()
    }
}

#[tool_handler(router = self.tool_router)]
impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("rmcp-server", "1"))
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::io::Result<()> {
    let server = Server { tool_router: Server::tool_router() };
    let running = server.serve(rmcp::transport::stdio()).await.map_err(std::io::Error::other)?;
    running.waiting().await.map_err(std::io::Error::other)?;
    Ok(())
}
