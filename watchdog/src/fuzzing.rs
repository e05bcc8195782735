//! The doors of the fuzz targets in `fuzz/`: one function a target, which takes any bytes and panics at a fault.
//!
//! They are here and not there because most of what they look at is nobody else's business, and because `cargo test` plays the
//! corpora through the same functions. The product has none of this: it is built with the feature `fuzzing` alone.

mod config;
mod control;
mod feed;
mod frames;
mod printed;
mod wire;

pub use config::{client_file, config};
pub use control::control;
pub use frames::guard;
#[cfg(feature = "plugins")]
pub use frames::plugin;
pub use printed::printed;
pub use wire::{head, lines};

/// A target: its name, and what it does with bytes.
pub type Target = (&'static str, fn(&[u8]));

/// All of them.
pub const TARGETS: &[Target] = &[
    ("head", head),
    ("lines", lines),
    ("slot", slot),
    ("config", config),
    ("client_file", client_file),
    ("control", control),
    ("guard", guard),
    #[cfg(feature = "plugins")]
    ("plugin", plugin),
    ("printed", printed),
];

/// A slot in any order of events: no request is forgotten or answered twice, and one process runs at a time.
pub fn slot(bytes: &[u8]) {
    let (setup, steps) = crate::core::slot::play::step::read(bytes);
    crate::core::slot::play::play(&setup, &steps);
}

#[cfg(test)]
mod tests;
