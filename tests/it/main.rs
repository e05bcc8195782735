//! The integration tests, in one binary.

mod abi;
mod cli;
mod exec;
mod faults;
mod fixture;
mod interop;
mod links;
mod rig;
mod scenarios;
mod session;
mod smoke;
mod streams;
mod survivors;
mod tidy;
