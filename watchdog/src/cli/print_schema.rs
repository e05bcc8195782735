//! `mcp-watchdog print-schema`

use std::io::{self, Write};

use crate::config::schema;
use crate::exit::Exit;

/// Writes the JSON Schema of a configuration file with these kinds of probes.
///
/// # Errors
/// When `out` cannot be written.
pub fn run<'a>(kinds: impl IntoIterator<Item = &'a str>, out: &mut dyn Write) -> io::Result<Exit> {
    serde_json::to_writer_pretty(&mut *out, &schema::schema(kinds))?;
    out.write_all(b"\n")?;
    Ok(Exit::Done)
}
