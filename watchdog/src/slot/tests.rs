//! The driver with everything behind it but processes.

mod blind;
mod simulation;
