//! Front ends: where clients are.

pub mod stdio;
