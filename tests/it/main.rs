//! The integration tests, in one binary.

mod fixture;
mod smoke;
