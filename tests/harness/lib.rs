//! Drives the built watchdog as a client does.
