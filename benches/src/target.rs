//! What is measured: the same server, behind different things.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The first argument that makes this program the server.
pub(crate) const ECHO: &str = "echo";
/// The same for the points of reference.
pub(crate) const COPY: &str = "copy";
/// The same for the points of reference.
pub(crate) const SPLICE: &str = "splice";

/// The rows that all others are compared with.
pub(crate) const DIRECT: &str = "direct";
/// The same row once more: how far two runs of one thing are apart.
pub(crate) const AGAIN: &str = "direct again";
/// The program this is all about.
pub(crate) const WATCHDOG: &str = "watchdog";

/// One row.
pub(crate) struct Target {
    /// What it is called.
    pub(crate) name: String,
    /// What is started.
    pub(crate) command: Vec<OsString>,
    /// Whether it starts its server again after a death, as far as we know.
    pub(crate) recovers: bool,
}

impl Target {
    fn new(name: &str, command: Vec<OsString>) -> Self {
        Self { name: name.to_owned(), command, recovers: false }
    }

    /// A proxy of others, as it was given: `NAME=COMMAND`, in words. `{}` stands for the server's command in one word;
    /// without it, the server's command is put behind.
    ///
    /// # Errors
    /// What is wrong with it.
    fn peer(given: &str, server: &[OsString]) -> Result<Self, String> {
        let (name, command) = given.split_once('=').ok_or_else(|| format!("`{given}`: write NAME=COMMAND"))?;
        let whole = server.join(" ".as_ref());
        let mut words: Vec<OsString> = Vec::new();
        for word in command.split_whitespace() {
            words.push(if word == "{}" { whole.clone() } else { word.into() });
        }
        if words.is_empty() {
            return Err(format!("`{given}`: the command is empty"));
        }
        if !words.contains(&whole) {
            words.extend_from_slice(server);
        }
        Ok(Self { recovers: true, ..Self::new(name, words) })
    }
}

/// All rows.
///
/// # Errors
/// Where this program's own path is not known, or a peer is not written as it should be.
pub(crate) fn all(watchdog: &Path, peers: &[String]) -> io::Result<Vec<Target>> {
    let own = std::env::current_exe()?;
    let role = |role: &str| vec![own.clone().into_os_string(), role.into()];
    let server = role(ECHO);
    let behind = |proxy: Vec<OsString>| proxy.into_iter().chain(server.clone()).collect::<Vec<_>>();
    let ours = vec![watchdog.into(), "--".into()];
    let mut targets = vec![
        Target::new(DIRECT, server.clone()),
        Target::new(AGAIN, server.clone()),
        Target::new(SPLICE, behind(role(SPLICE))),
        Target::new(COPY, behind(role(COPY))),
        Target { recovers: true, ..Target::new(WATCHDOG, behind(ours)) },
    ];
    for peer in peers {
        targets.push(Target::peer(peer, &server).map_err(io::Error::other)?);
    }
    Ok(targets)
}

/// Whether a command line, as `/proc` has it, is that of the server.
pub(crate) fn is_echo(command: &[u8]) -> bool {
    let mut words = command.split(|byte| *byte == 0);
    let program = words.next().unwrap_or_default();
    program.ends_with(env!("CARGO_PKG_NAME").as_bytes()) && words.next() == Some(ECHO.as_bytes())
}

/// Builds the watchdog as it is released, beside this program.
///
/// # Errors
/// Where it cannot be built.
pub(crate) fn build() -> io::Result<PathBuf> {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("Cargo.toml");
    let arguments = ["build", "--release", "--locked", "--package", "mcp-watchdog", "--manifest-path"];
    let built = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(arguments)
        .arg(manifest)
        .status()?;
    if !built.success() {
        return Err(io::Error::other("the watchdog cannot be built; name another one with --bin"));
    }
    Ok(std::env::current_exe()?.with_file_name("mcp-watchdog"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(target: &Target) -> Vec<&str> {
        target.command.iter().map(|word| word.to_str().unwrap()).collect()
    }

    #[test]
    fn a_peer_gets_the_server_in_one_word_or_in_many() {
        let server = ["/b/echo".into(), "echo".into()];
        assert_eq!(words(&Target::peer("a=x --y", &server).unwrap()), ["x", "--y", "/b/echo", "echo"]);
        assert_eq!(words(&Target::peer("a=x --y {} z", &server).unwrap()), ["x", "--y", "/b/echo echo", "z"]);
        assert!(Target::peer("x --y", &server).is_err());
        assert!(Target::peer("a= ", &server).is_err());
    }

    #[test]
    fn only_the_server_is_the_server() {
        assert!(is_echo(b"/x/mcp-watchdog-bench\0echo\0"));
        assert!(!is_echo(b"/x/mcp-watchdog-bench\0copy\0/x/mcp-watchdog-bench\0echo\0"));
        assert!(!is_echo(b"/x/mcp-watchdog\0--\0/x/mcp-watchdog-bench\0echo\0"));
    }
}
