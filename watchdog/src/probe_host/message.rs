//! What the engine and a probe host say to each other.
//!
//! A frame is its length (u32, little endian) and a body of JSON. Both ends are the same binary, so the form may change at
//! will; but a plugin shares the host's process and can write to its socket, so the engine believes nothing: what is too long
//! or not a message ends the host.

use std::path::PathBuf;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// The longest body to a host, in bytes: an answer of the server can be long, a list of tools above all.
pub(crate) const LONGEST_ORDER: u32 = 16 << 20;
/// The longest body from a host, in bytes.
pub(crate) const LONGEST_REPORT: u32 = 2 << 20;
/// The longest parameters of a call, in bytes of JSON; longer ones are `MCP_CALL_INVALID`.
pub(crate) const LONGEST_PARAMS: usize = 1 << 20;

/// Calls of one check at the same time; more are `MCP_CALL_INVALID`.
pub(crate) const CALLS: usize = 16;

/// What the engine asks of a host.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Order {
    /// Always the first one: load this library, answered by [`Report::Loaded`] or [`Report::Refused`].
    Load {
        /// An absolute path.
        library: PathBuf,
        /// What the file must hash to, in lower-case hexadecimal digits.
        sha256: Option<String>,
    },
    /// The second one: make an instance, answered by [`Report::Created`] or [`Report::Refused`].
    Create {
        /// The link's `config:`.
        config: Box<RawValue>,
        /// What `remaining_ms` says meanwhile.
        remaining_ms: u64,
    },
    /// Run a check, answered by [`Report::Verdict`]. Never before the last one is answered.
    Check {
        /// Counts the checks of a host.
        check: u64,
        /// The time for it.
        remaining_ms: u64,
        /// The snapshot.
        context: Box<RawValue>,
    },
    /// What became of a call.
    Reply {
        /// Which one.
        call: u64,
        /// One of [`probe_api::abi::call`].
        code: i32,
        /// The server's `result` or `error`.
        json: Option<Box<RawValue>>,
    },
}

/// What a host says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Report {
    /// The library is loaded; what it says about itself.
    Loaded(Descriptor),
    /// There is an instance.
    Created,
    /// It will not work, and why: a sentence that names the remedy.
    Refused(String),
    /// A check has returned.
    Verdict {
        /// Which one.
        check: u64,
        /// What it returned.
        code: i32,
        /// The last `detail` that it gave.
        detail: Option<String>,
    },
    /// The plugin asks the server something.
    Call {
        /// In this check.
        check: u64,
        /// Counts the calls of a host.
        call: u64,
        /// The method.
        method: String,
        /// Its parameters, where it has some.
        params: Option<Box<RawValue>>,
        /// How long the plugin waits.
        timeout_ms: u32,
    },
    /// A line for the log.
    Log {
        /// One of [`probe_api::abi::log`], or anything.
        level: i32,
        /// As the plugin gave it.
        text: String,
    },
}

/// What a plugin says about itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Descriptor {
    /// The ABI that it was built for, such as `1.0`.
    pub abi: String,
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Its compiler, for diagnosis.
    pub built_with: Option<String>,
    /// A JSON Schema of its configuration, as text.
    pub config_schema: Option<String>,
}

/// A whole frame. `None` where its body would be longer than `longest`, or a path is not text.
pub(crate) fn to_frame(message: &impl Serialize, longest: u32) -> Option<Vec<u8>> {
    let mut frame = vec![0; size_of::<u32>()];
    serde_json::to_writer(&mut frame, message).ok()?;
    let (head, body) = frame.split_at_mut(size_of::<u32>());
    let length = u32::try_from(body.len()).ok().filter(|length| *length <= longest)?;
    head.copy_from_slice(&length.to_le_bytes());
    Some(frame)
}

/// Reads a frame's body. `None` is no message of this program.
pub(crate) fn from_body<T: DeserializeOwned>(body: &[u8]) -> Option<T> {
    serde_json::from_slice(body).ok()
}

#[cfg(test)]
mod tests;
