//! Systems where orphans cannot be had: there is nothing for an init to do.

use std::io;
use std::process::ExitCode;

/// # Errors
/// Always, since it was asked for.
pub(super) fn divide() -> io::Result<Option<ExitCode>> {
    Err(io::Error::other("--init needs Linux: leave it out"))
}
