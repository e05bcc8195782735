//! The integration tests, in one binary.

mod abi;
mod cli;
mod control;
mod ecosystem;
mod event_file;
mod exec;
mod faults;
mod fixture;
mod init;
mod interop;
mod links;
mod metrics;
mod mgmt;
mod operator;
mod plugin;
mod plugin_sessions;
mod probe_once;
mod rig;
mod scenarios;
mod serve;
mod session;
mod smoke;
mod streams;
mod survivors;
mod tidy;
mod tutorial;
