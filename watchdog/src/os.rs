//! What the operating system says about processes: who is whose child, who is in a group, how much they used.
//!
//! One set of functions, one file for each system. Nothing in here signals or reaps.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod other;

#[cfg(target_os = "linux")]
pub(crate) use linux::{Member, descendants, group_members, start_time, stat};
#[cfg(not(target_os = "linux"))]
pub(crate) use other::{group_members, start_time};
