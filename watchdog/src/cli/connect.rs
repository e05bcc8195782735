//! `mcp-watchdog connect NAME`

/// What was typed.
#[derive(Debug, clap::Args)]
pub struct Connect {
    /// The server's name in `mcp-watchdog serve`, or the path of its socket
    #[arg(value_name = "NAME|SOCKET")]
    pub target: String,
}
