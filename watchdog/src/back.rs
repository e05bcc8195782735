//! The server's side: the process tree of one generation, as the engine holds it.
//!
//! The engine never forks, never reaps a stranger and never owns the tree itself: a [`Child`] is the engine's end of a guard
//! ([`crate::guard`]), and its events are what the guard reports, or what follows from the guard's own death.

pub(crate) mod cannot_start;
pub mod facts;
pub mod runtime;
pub mod stdio;

mod child;
mod fence;
mod group;
mod link;
mod not_started;
mod pipes;
mod spawner;

pub use crate::core::ending::Ending;
pub use crate::guard::message::{ChildEvent, Step};
pub use child::{Child, StartError};
pub use fence::Fence;
pub(crate) use not_started::NotStarted;
#[cfg(feature = "plugins")]
pub(crate) use pipes::ChildEnds;
pub use pipes::Pipes;
