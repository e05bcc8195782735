//! A host and a port, and connections to it.

use std::io::{Error, ErrorKind};
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::time::Duration;

use probe_api::options::quoted;
use probe_api::{ConfigError, Verdict};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};

use crate::aside::Aside;
use crate::request::rounded;

/// Where to connect to.
#[derive(Debug)]
pub(crate) struct Address {
    /// A name or an address, that of IPv6 without brackets.
    host: String,
    port: u16,
    /// Names are looked up each time: they may move.
    lookup: Aside<std::io::Result<Vec<SocketAddr>>>,
}

impl Address {
    pub(crate) fn new(host: &str, port: u16) -> Self {
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        Self { host: bare.unwrap_or(host).to_owned(), port, lookup: Aside::default() }
    }

    /// Reads `HOST:PORT`.
    pub(crate) fn parse(text: &str) -> Result<Self, ConfigError> {
        let parts = text.rsplit_once(':').filter(|(host, _)| {
            let bracketed = host.starts_with('[') && host.ends_with(']');
            !host.is_empty() && (bracketed || !host.contains([':', '/', '[', ']', ' ']))
        });
        let port = parts.and_then(|(_, port)| port.parse().ok()).filter(|port| *port != 0);
        match parts.zip(port) {
            Some(((host, _), port)) => Ok(Self::new(host, port)),
            None => {
                let forms = "(write HOST:PORT, such as 127.0.0.1:5432 or [::1]:5432)";
                Err(ConfigError(format!("{} is not an address {forms}", quoted(text))))
            }
        }
    }

    /// Connects; where that fails, the error is the verdict. A name that cannot be looked up, or our own lack of
    /// descriptors, says nothing of who should listen.
    pub(crate) async fn connect(&mut self, limit: Duration) -> Result<TcpStream, Verdict> {
        let end = Instant::now() + limit;
        let addresses = self.look_up(limit).await.map_err(|error| {
            Verdict::Inconclusive(format!("{} cannot be looked up: {}", quoted(&self.host), reason(&error)))
        })?;
        let mut last = Error::from(ErrorKind::TimedOut);
        for (tried, address) in addresses.iter().enumerate() {
            // Each has its part of the time, so that one that is a black hole leaves some to the next.
            let parts = u32::try_from(addresses.len() - tried).unwrap_or(u32::MAX);
            let part = end.saturating_duration_since(Instant::now()) / parts;
            last = match timeout(part, TcpStream::connect(address)).await {
                Ok(Ok(stream)) => return Ok(stream),
                Ok(Err(error)) => error,
                Err(_) => Error::from(ErrorKind::TimedOut),
            };
        }
        Err(self.refused(&last, limit))
    }

    async fn look_up(&mut self, limit: Duration) -> std::io::Result<Vec<SocketAddr>> {
        if let Ok(address) = self.host.parse::<IpAddr>() {
            return Ok(vec![SocketAddr::new(address, self.port)]);
        }
        let wanted = (self.host.clone(), self.port);
        let found = self.lookup.run(limit, move || wanted.to_socket_addrs().map(Iterator::collect)).await?;
        found.and_then(|found: Vec<_>| if found.is_empty() { Err(ErrorKind::NotFound.into()) } else { Ok(found) })
    }

    fn refused(&self, error: &Error, limit: Duration) -> Verdict {
        match error.kind() {
            ErrorKind::TimedOut => Verdict::Fail(format!("no connection to {self} within {}", rounded(limit))),
            ErrorKind::ConnectionRefused
            | ErrorKind::ConnectionReset
            | ErrorKind::ConnectionAborted
            | ErrorKind::HostUnreachable
            | ErrorKind::NetworkUnreachable => Verdict::Fail(format!("no connection to {self}: {}", reason(error))),
            _ => Verdict::Inconclusive(format!("no connection to {self}: {}", reason(error))),
        }
    }
}

/// The kind of an error says it without a number, but not every error has one.
fn reason(error: &Error) -> String {
    match error.kind().to_string() {
        kind if kind.starts_with("uncategorized") || kind.starts_with("other") => error.to_string(),
        kind => kind,
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_addresses() {
        for (text, host, port) in [
            ("127.0.0.1:80", "127.0.0.1", 80),
            ("db.internal:5432", "db.internal", 5432),
            ("[::1]:65535", "::1", 65535),
        ] {
            let address = Address::parse(text).unwrap();
            assert_eq!((address.host.as_str(), address.port, address.to_string().as_str()), (host, port, text));
        }
        for text in
            ["", "80", ":80", "localhost", "localhost:", "localhost:0", "a:65536", "::1:80", "http://a:80", "a b:1"]
        {
            let error = Address::parse(text).unwrap_err().0;
            assert!(error.contains("is not an address (write HOST:PORT, such as"), "{text}: {error}");
        }
    }

    #[test]
    fn only_what_the_other_side_does_is_its_failure() {
        let address = Address::parse("10.0.0.1:1").unwrap();
        let refused = |kind: ErrorKind| address.refused(&Error::from(kind), Duration::from_secs(3));
        let told = |text: &str| format!("no connection to 10.0.0.1:1{text}");
        assert_eq!(refused(ErrorKind::TimedOut), Verdict::Fail(told(" within 3s")));
        assert_eq!(refused(ErrorKind::HostUnreachable), Verdict::Fail(told(": host unreachable")));
        let full = Error::from_raw_os_error(24);
        let Verdict::Inconclusive(reason) = address.refused(&full, Duration::from_secs(3)) else { panic!() };
        assert!(reason.starts_with(&told(": Too many open files")), "{reason}");
    }

    #[tokio::test]
    async fn a_name_that_cannot_be_looked_up_says_nothing_of_the_server() {
        // Refused before anybody is asked.
        let mut nobody = Address::new("no\0body", 80);
        let verdict = nobody.connect(Duration::from_secs(10)).await.unwrap_err();
        let Verdict::Inconclusive(reason) = verdict else { panic!("{verdict:?}") };
        assert_eq!(reason, "\"no\\0body\" cannot be looked up: invalid input parameter");
    }
}
