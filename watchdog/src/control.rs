//! The control plane: how a running watchdog is found, asked and told.

pub mod metrics;
pub mod runtime_dir;
