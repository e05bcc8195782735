//! Drives the built watchdog as a client does, in front of `mcp-fixture`, and checks what every session owes.
//!
//! A [`Session`] is one watchdog with one client. Waiting is done on events, never by sleeping: lines on stdout, the
//! end of the process, and what the fixture's lives tell over a socket whose end is the end of the life. Each wait has
//! a deadline and says what it waited for; `MCP_HARNESS_SLACK=2` doubles them all on a slow machine.
//!
//! ```no_run
//! use harness::{Setup, json, tool_call};
//!
//! # fn example(watchdog: &str, fixture: &str) {
//! // In a test of this package: env!("CARGO_BIN_EXE_mcp-watchdog-under-test") and env!("CARGO_BIN_EXE_mcp-fixture").
//! let session = Setup::new(watchdog, fixture)
//!     .options(["--hold", "5s"])
//!     .script(json!({ "rules": [
//!         { "on": "tools/call", "tool": "boom", "do": [{ "stderr": "kaput" }, { "exit": 7 }] },
//!     ] }))
//!     .start();
//! session.initialize();
//!
//! session.send(tool_call(1, "boom", json!({})));
//! let data = session.answer(1).own_error("server_disconnected");
//! assert_eq!(data["exit"]["code"], 7);
//!
//! session.send(tool_call(2, "life", json!({})));
//! assert_eq!(session.answer(2).text(), "2");
//! assert_eq!(session.times_read("tools/call", 1), 1, "the call was sent again");
//!
//! session.finish(); // closes stdin: exit code 0, nothing left, every answer once, only protocol on stdout
//! # }
//! ```
//!
//! What the fixture can do is told in `fixture/main.rs`, `fixture/script.rs` and `fixture/act.rs`.

mod answer;
mod checks;
mod lives;
mod message;
pub mod plugins;
mod process;
mod session;
mod setup;
mod state;
mod streams;

pub use answer::{Answer, READ_ONLY, check_own_error, is_read_only};
pub use lives::{Entry, What};
pub use message::{META, STATELESS, cancelled, initialize, notification, request, tool_call};
pub use nix::sys::signal::Signal;
pub use process::{Process, carriers, is_running};
pub use serde_json::{Value, json};
pub use session::Session;
pub use setup::{Setup, remove_settings};
pub use state::Line;
