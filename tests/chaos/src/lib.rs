//! Seeded runs of the product under everything that can happen to a server, and a checker of what the contract promises.
//!
//! A *run* is a seed. The seed makes a [`Plan`]: what each life of the server does and how it ends, what the client sends
//! and when, what is killed from outside, and how it all ends. The run leaves a [`History`]: every line that the client
//! wrote and read, with times; the journals of all lives, which survive a SIGKILL because each entry is one write to a file;
//! what the watchdog wrote to stderr, how it ended, and which processes were left. [`check`](check::check) is a pure
//! function from that to the broken promises, of which there must be none.
//!
//! | module | what it does |
//! |---|---|
//! | [`plan`] | the data of a run, and how a seed becomes one |
//! | [`server`] | the server of the runs: the same binary in another role |
//! | [`client`] | the client of the runs, which starts the watchdog and records everything |
//! | [`history`] | what was recorded |
//! | [`check`] | the promises |
//! | [`runner`] | many runs, and what is told of them |

pub mod check;
pub mod client;
pub mod history;
pub mod journal;
pub mod message;
pub mod plan;
pub mod processes;
pub mod runner;
pub mod server;

pub use history::History;
pub use plan::Plan;
