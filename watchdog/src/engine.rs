//! Everything that one process supervises, as seen by those who watch and steer it.
//!
//! A [`Handle`] lists the slots and takes commands for them. It never touches a slot's insides: pictures come through a watch
//! channel and are immutable, commands go to the slot's own task and are answered by it. A slot is listed in every state,
//! and one that is slow to answer delays nobody but its asker.

pub mod catalog;
pub mod command;
pub mod handle;
pub mod meter;
pub mod signals;
pub mod status;

pub use catalog::CatalogReport;
pub use command::{Accepted, Command, CommandError, LinkVerdict, ProbeReport};
pub use handle::{Handle, Info, Order, RetriedAll, Skipped, SlotHandle, Which};
pub use meter::Meter;
pub use status::ServerStatus;
