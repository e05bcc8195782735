//! The pure core.
pub mod chain;
