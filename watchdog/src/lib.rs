//! `mcp-watchdog`: a sidecar that spawns and supervises an MCP stdio server.
pub mod config;
pub mod core;
pub mod exit;
pub mod guard;
pub mod probe;
pub mod stream;
pub mod wire;

/// Runs the program with this process's arguments.
pub fn run() -> std::process::ExitCode {
    std::process::ExitCode::SUCCESS
}
