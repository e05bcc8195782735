//! The driver with everything behind it but processes.

mod simulation;
