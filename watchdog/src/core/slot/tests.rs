//! Scenarios: a client, servers that die, hang and come back, and what each of them sees.

mod batches;
mod budget;
mod cancels;
mod closing;
mod counts;
mod death;
mod discovery;
mod edges;
mod faults;
mod handshake;
mod hung;
mod idle;
mod inject;
mod judging;
mod lines;
mod lists;
mod options;
mod planned;
mod probing;
mod questions;
mod random;
mod sleep;
mod stateless;
