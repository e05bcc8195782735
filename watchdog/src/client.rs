//! A client of the control plane: finds running watchdogs, and speaks their HTTP API over unix sockets and TCP.
//!
//! [`find`] knows where to look and whom a name means, [`api`] what can be asked, [`http`] how it travels. Answers are read
//! so that a watchdog of another version can be steered too: unknown members are kept, missing ones are tolerated.

pub mod api;
pub mod endpoint;
pub mod error;
pub mod find;
mod http;
pub mod server;

pub use api::{Check, Info, Watchdog};
pub use endpoint::Endpoint;
pub use error::ClientError;
pub use http::Lines;
pub use server::{Condition, Server};
