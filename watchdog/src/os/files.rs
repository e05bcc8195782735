//! Whether this process may open what it needs.

use std::io;

/// What a runtime holds open at the least, in pairs of descriptors.
const PAIRS: usize = 4;

/// Makes sure that there is room for a runtime: some of what it opens is not opened by us, and a failure of that is a panic.
///
/// # Errors
/// Where there is none.
pub(crate) fn room_for_runtime() -> io::Result<()> {
    let pairs: io::Result<Vec<_>> = (0..PAIRS).map(|_| io::pipe()).collect();
    pairs.map(drop)
}
