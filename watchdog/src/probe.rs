//! Asking a server whether it is alive: which probes there are, and how a chain of them is run.
//!
//! [`registry`] turns a line of configuration into a probe, [`run`] drives a chain over a live server, and
//! [`core::chain`](crate::core::chain) judges it. A probe speaks to the server only through the slot that owns it: each
//! of its requests is a [`CallRequest`] to the slot's driver, which writes it under an id of its own and sends back
//! what becomes of it.
//!
//! [`exec`] asks a program, [`plugin`] a library in a process of its own. To the chain, a probe is a name and a
//! [`probe_api::Probe`].

mod context;
mod exec;
#[cfg(feature = "plugins")]
pub mod plugin;
#[cfg(not(feature = "plugins"))]
#[path = "probe/no_plugin.rs"]
pub(crate) mod plugin;
pub(crate) mod printed;
pub mod registry;
mod run;
pub mod tell;

pub use context::{CallRequest, ChannelContext, Subject};
pub use registry::{EngineEntry, Registry, Surroundings};
pub use run::{LinkReport, LoadedLink, Report, chain, run};
