//! Where something listens, as it is written: `unix:///run/x.sock`, `tcp://127.0.0.1:9901`.

use std::net::Ipv6Addr;
use std::path::PathBuf;

use schemars::{Schema, json_schema};

use super::text::{FromText, quoted};
use super::{ControlListen, Listen, TcpAddress};

/// The longest path of a unix socket, in bytes: `sun_path` less the NUL behind it (unix(7)).
pub(crate) const LONGEST_SOCKET: usize = if cfg!(target_os = "linux") { 107 } else { 103 };

/// Reads what `control.listen` takes.
pub(crate) fn control_address(text: &str) -> Result<ControlListen, String> {
    ControlListen::from_text(text)
}

impl FromText for ControlListen {
    const EXPECTED: &'static str = "`auto`, `off`, `unix:///PATH` or `tcp://HOST:PORT`";

    fn from_text(text: &str) -> Result<Self, String> {
        let wrong = || format!("expected {}, not {}", Self::EXPECTED, quoted(text));
        if let Some(path) = text.strip_prefix("unix://") {
            return socket(path, wrong).map(Self::Unix);
        }
        if let Some(address) = text.strip_prefix("tcp://") {
            return host_and_port(address).map(Self::Tcp).ok_or_else(wrong);
        }
        match text {
            "auto" => Ok(Self::Auto),
            "off" => Ok(Self::Off),
            _ => Err(wrong()),
        }
    }

    fn schema() -> Schema {
        json_schema!({ "type": "string", "pattern": "^(auto|off|unix:///.+|tcp://.+:[0-9]+)$" })
    }
}

impl FromText for Listen {
    const EXPECTED: &'static str = "`unix:///PATH`";

    fn from_text(text: &str) -> Result<Self, String> {
        let wrong = || format!("expected {}, not {}", Self::EXPECTED, quoted(text));
        match text.strip_prefix("unix://") {
            Some(path) => socket(path, wrong).map(Self::Unix),
            None => Err(wrong()),
        }
    }

    fn schema() -> Schema {
        json_schema!({ "type": "string", "pattern": "^unix:///.+$" })
    }
}

impl FromText for TcpAddress {
    const EXPECTED: &'static str = "`HOST:PORT`";

    fn from_text(text: &str) -> Result<Self, String> {
        // As in `control.listen`, where it is one of several kinds.
        let address = text.strip_prefix("tcp://").unwrap_or(text);
        host_and_port(address).ok_or_else(|| format!("expected {}, not {}", Self::EXPECTED, quoted(text)))
    }

    fn schema() -> Schema {
        json_schema!({ "type": "string", "pattern": "^(tcp://)?.+:[0-9]+$" })
    }
}

fn socket(path: &str, wrong: impl Fn() -> String) -> Result<PathBuf, String> {
    if !path.starts_with('/') || path.ends_with('/') || path.contains('\0') {
        return Err(wrong());
    }
    if path.len() > LONGEST_SOCKET {
        return Err(format!("the path of a socket has at most {LONGEST_SOCKET} bytes, not {}", path.len()));
    }
    Ok(PathBuf::from(path))
}

fn host_and_port(text: &str) -> Option<TcpAddress> {
    let (host, port) = text.rsplit_once(':')?;
    let port = port.parse().ok()?;
    let host = match host.strip_prefix('[') {
        Some(inside) => inside.strip_suffix(']').filter(|inside| inside.parse::<Ipv6Addr>().is_ok())?,
        None => Some(host).filter(|host| !host.is_empty() && host.bytes().all(is_host_byte))?,
    };
    Some(TcpAddress { host: host.to_owned(), port })
}

const fn is_host_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_')
}

#[cfg(test)]
mod tests;
