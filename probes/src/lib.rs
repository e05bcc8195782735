//! The built-in health probes.
