//! `tcp`: whether something listens.

use probe_api::{ConfigError, Context, Probe, ProbeKind, Verdict, async_trait};
use serde::Deserialize;

use crate::address::Address;

/// Connects to an address and hangs up: a port of the server's own, or of what it cannot work without.
#[derive(Debug)]
pub struct Tcp {
    address: Address,
}

/// The options of `type: tcp`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// `HOST:PORT`.
    address: String,
}

#[async_trait]
impl Probe for Tcp {
    async fn check(&mut self, cx: &dyn Context) -> Verdict {
        self.address.connect(cx.remaining()).await.map_or_else(|verdict| verdict, |_| Verdict::Pass)
    }
}

impl ProbeKind for Tcp {
    const NAME: &'static str = "tcp";
    type Config = Config;

    fn new(config: Config) -> Result<Self, ConfigError> {
        Ok(Self { address: Address::parse(&config.address)? })
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use probe_api::testing::FakeContext;
    use tokio::net::TcpSocket;

    use super::*;

    fn probe(host: &str, port: u16) -> Tcp {
        Tcp::new(Config { address: format!("{host}:{port}") }).unwrap()
    }

    #[tokio::test]
    async fn a_listener_passes_and_nobody_fails() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let cx = FakeContext::new();
        assert_eq!(probe("127.0.0.1", port).check(&cx).await, Verdict::Pass);
        assert_eq!(probe("localhost", port).check(&cx).await, Verdict::Pass, "also where it is ::1 first");
        let nobody = TcpSocket::new_v4().unwrap();
        nobody.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let port = nobody.local_addr().unwrap().port();
        let refused = Verdict::Fail(format!("no connection to 127.0.0.1:{port}: connection refused"));
        assert_eq!(probe("127.0.0.1", port).check(&cx).await, refused);
    }
}
