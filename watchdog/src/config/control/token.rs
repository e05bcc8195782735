//! The secret of the control plane.

use std::fmt;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// A longer file holds something else.
const LONGEST_FILE: u64 = 4096;

/// A secret that travels in an `Authorization` header. It shows itself to nobody who does not ask.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// Takes a secret: visible ASCII characters, since others cannot stand in a header (RFC 6750, section 2.1).
    ///
    /// # Errors
    /// With what is wrong with the text, without the text.
    pub fn new(text: &str) -> Result<Self, &'static str> {
        if text.is_empty() {
            return Err("the token is empty");
        }
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(
                "the token has characters that cannot stand in a header: write ASCII letters, digits and signs",
            );
        }
        Ok(Self(text.to_owned()))
    }

    /// Reads a secret from a file that nobody else may use.
    ///
    /// # Errors
    /// What is wrong with the file or its text, with its path.
    pub fn read(path: &Path) -> Result<Self, String> {
        let text = read(path).map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
        Self::new(text.trim()).map_err(|error| format!("{}: {error}", path.display()))
    }

    /// The secret itself.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(hidden)")
    }
}

/// Reads a file that nobody else may read.
fn read(path: &Path) -> io::Result<String> {
    let file = std::fs::File::open(path)?;
    let mode = file.metadata()?.permissions().mode();
    if mode & 0o077 != 0 {
        let message = format!("other users may use it (mode {:o}); chmod 600 it", mode & 0o7777);
        return Err(io::Error::other(message));
    }
    let mut text = String::new();
    let length = file.take(LONGEST_FILE + 1).read_to_string(&mut text)?;
    if length as u64 > LONGEST_FILE {
        return Err(io::Error::other("it is longer than 4 KiB"));
    }
    Ok(text)
}
