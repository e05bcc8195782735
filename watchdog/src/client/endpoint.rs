//! Where a watchdog listens, as someone who wants to speak to it writes it.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::pin::Pin;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};

use crate::config::{ControlListen, TcpAddress, control_address};

/// Where a watchdog listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Endpoint {
    /// A unix socket.
    Unix(PathBuf),
    /// A TCP address.
    Tcp(TcpAddress),
}

/// Bytes both ways.
pub(super) trait Stream: AsyncRead + AsyncWrite + Send {}

impl<T: AsyncRead + AsyncWrite + Send> Stream for T {}

impl Endpoint {
    /// Reads what was typed: a path, or what `control.listen` takes.
    ///
    /// # Errors
    /// What is expected instead.
    pub fn parse(text: &str) -> Result<Self, String> {
        if !text.contains("://") {
            return if text.is_empty() { Err("the path is empty".to_owned()) } else { Ok(Self::Unix(text.into())) };
        }
        match control_address(text)? {
            ControlListen::Unix(path) => Ok(Self::Unix(path)),
            ControlListen::Tcp(address) => Ok(Self::Tcp(address)),
            ControlListen::Auto | ControlListen::Off => Err("this is not an address".to_owned()),
        }
    }

    /// Opens a connection.
    ///
    /// # Errors
    /// What the system says.
    pub(super) async fn connect(&self) -> io::Result<Pin<Box<dyn Stream>>> {
        match self {
            Self::Unix(path) => Ok(Box::pin(UnixStream::connect(path).await?)),
            Self::Tcp(TcpAddress { host, port }) => Ok(Box::pin(TcpStream::connect((host.as_str(), *port)).await?)),
        }
    }

    /// The `Host` of requests. A socket has none, and HTTP wants one.
    pub(super) fn host(&self) -> String {
        match self {
            Self::Unix(_) => "localhost".to_owned(),
            Self::Tcp(address) => address.to_string(),
        }
    }
}

/// As `--socket` takes it.
impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(f, "{}", path.display()),
            Self::Tcp(address) => write!(f, "tcp://{address}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_addresses() {
        let tcp = |host: &str, port| Ok(Endpoint::Tcp(TcpAddress { host: host.to_owned(), port }));
        assert_eq!(Endpoint::parse("x.sock"), Ok(Endpoint::Unix("x.sock".into())));
        assert_eq!(Endpoint::parse("/run/x-1.sock"), Ok(Endpoint::Unix("/run/x-1.sock".into())));
        assert_eq!(Endpoint::parse("unix:///run/x"), Ok(Endpoint::Unix("/run/x".into())));
        assert_eq!(Endpoint::parse("tcp://localhost:9901"), tcp("localhost", 9901));
        assert_eq!(Endpoint::parse("tcp://[::1]:9901"), tcp("::1", 9901));
        for wrong in ["", "unix://x", "tcp://localhost", "http://localhost:1"] {
            assert!(Endpoint::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn written_as_it_is_read() {
        for text in ["/run/x-1.sock", "tcp://[::1]:9901", "tcp://localhost:1"] {
            assert_eq!(Endpoint::parse(text).unwrap().to_string(), text);
        }
    }
}
