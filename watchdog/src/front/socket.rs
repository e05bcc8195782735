//! Clients that come through a unix socket, one at a time.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as BlockingStream;
use std::task::{Context, Poll};

use tokio::net::{UnixListener, UnixStream};

use super::client::Client;
use crate::stream::{Sink, Source};

/// What a client is told that comes while another one is there, before its stream ends. It has asked nothing yet, so that there
/// is no id to answer to.
const TAKEN: &[u8] = concat!(
    r#"{"jsonrpc":"2.0","id":null,"error":{"code":-31007,"message":"this server has a client already","#,
    r#""data":{"source":"mcp-watchdog","code":"overloaded","retryable":true,"reason":"one client at a time"}}}"#,
    "\n"
)
.as_bytes();

/// Where clients come in.
#[derive(Debug)]
pub struct Door {
    listeners: Vec<UnixListener>,
    max_line: usize,
}

impl Door {
    /// A door at these sockets.
    #[must_use]
    pub const fn new(listeners: Vec<UnixListener>, max_line: usize) -> Self {
        Self { listeners, max_line }
    }

    /// The next client. While `taken`, those who come are turned away.
    pub fn poll_client(&self, cx: &mut Context<'_>, taken: bool) -> Poll<Client> {
        for listener in &self.listeners {
            while let Poll::Ready(Ok((stream, _))) = listener.poll_accept(cx) {
                if taken {
                    // A fresh socket takes so little at once, and one that does not is gone.
                    _ = stream.try_write(TAKEN);
                    continue;
                }
                match self.client(stream) {
                    Ok(client) => return Poll::Ready(client),
                    Err(error) => tracing::warn!(%error, "a client that connected cannot be served"),
                }
            }
        }
        Poll::Pending
    }

    fn client(&self, stream: UnixStream) -> io::Result<Client> {
        let stream: BlockingStream = stream.into_std()?;
        let reading: OwnedFd = stream.try_clone()?.into();
        Ok(Client::new(Source::own_pipe(reading)?, Sink::own_pipe(stream.into())?, self.max_line))
    }
}
