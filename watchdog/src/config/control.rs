//! What is meant by `control`, `mgmt`, `ready` and the `listen` of a server.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;

mod token;

pub use token::Token;

/// `control`: where the watchdog can be asked and told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Control {
    /// Where commands are taken. A TCP address that other machines can reach comes only with `allow_remote` and a token.
    pub listen: ControlListen,
    /// Where nothing but liveness, readiness and metrics is told. It may be open to everyone.
    pub health_listen: Option<TcpAddress>,
    /// What a request over TCP has to present. Of `control.token_file`, or of `MCP_WATCHDOG_TOKEN`, which wins.
    pub token: Option<Token>,
    /// Whether other machines may be let in.
    pub allow_remote: bool,
}

/// `control.listen`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ControlListen {
    /// A unix socket in the runtime folder.
    Auto,
    /// Nowhere.
    Off,
    /// This unix socket.
    Unix(PathBuf),
    /// This TCP address.
    Tcp(TcpAddress),
}

/// One of a server's `listen`: where clients of this one server come in when several are served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listen {
    /// This unix socket, by its absolute path.
    Unix(PathBuf),
}

/// A host, by name or number, and a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TcpAddress {
    /// `localhost`, `0.0.0.0`, `::1` (without brackets).
    pub host: String,
    /// 0 lets the system choose.
    pub port: u16,
}

impl TcpAddress {
    /// Whether only this machine can reach it. A name other than `localhost` may lead anywhere.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        match self.host.parse::<IpAddr>() {
            Ok(address) => address.to_canonical().is_loopback(),
            Err(_) => self.host.eq_ignore_ascii_case("localhost"),
        }
    }
}

/// `HOST:PORT`, with brackets around the numbers of IPv6.
impl fmt::Display for TcpAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port } = self;
        if host.contains(':') { write!(f, "[{host}]:{port}") } else { write!(f, "{host}:{port}") }
    }
}

/// `mgmt`: the tools by which a model may look at servers and restart them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Management {
    /// Whether they appear among a wrapped server's own tools.
    pub inject: bool,
    /// What their names begin with there. May be empty.
    pub tool_prefix: String,
    /// Whether enabling and disabling are among them. Never among a server's own tools.
    pub allow_disable: bool,
}

/// `ready`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ready {
    /// How many servers have to be connected.
    pub require: Require,
}

/// `ready.require`, of the servers that are enabled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Require {
    /// At least one.
    Any,
    /// Every one.
    All,
}

#[cfg(test)]
mod tests;
