//! In a build without plugins a configuration that was accepted has none.

use std::io::{self, Write};

use crate::config::Server;

/// Nothing was tried.
pub(super) struct Tried;

impl Tried {
    #[expect(clippy::unnecessary_wraps, reason = "the form of the one that loads plugins")]
    pub(super) const fn load(_: &[Server]) -> io::Result<Self> {
        Ok(Self)
    }

    pub(super) const fn is_refused(&self) -> bool {
        false
    }

    #[expect(clippy::unnecessary_wraps, reason = "the form of the one that loads plugins")]
    pub(super) fn report(&self, _: &mut dyn Write, _: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }
}
