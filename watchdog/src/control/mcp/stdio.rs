//! The server on stdin and stdout.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use rmcp::transport::stdio_pipes;
use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::watch;

use super::{Backend, Manager};

/// Serves one client until it closes stdin.
///
/// # Errors
/// When what it says first is no MCP.
pub async fn serve(backend: Arc<dyn Backend>, allow_disable: bool) -> io::Result<()> {
    let (closing, closed) = watch::channel(false);
    let (stdin, stdout) = stdio_pipes();
    let manager = Manager::new(backend, allow_disable, closed);
    let running = match manager.serve((Telling { stdin, closing }, stdout)).await {
        Ok(running) => running,
        // A client that leaves before it has said anything has done nothing wrong.
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => return Err(io::Error::other(error)),
    };
    running.waiting().await.map(drop).map_err(io::Error::other)
}

/// Tells when the client has closed its end, so that calls which wait do not hold up the end.
struct Telling<R> {
    stdin: R,
    closing: watch::Sender<bool>,
}

impl<R: AsyncRead + Unpin> AsyncRead for Telling<R> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        let read = ready!(Pin::new(&mut self.stdin).poll_read(cx, into));
        if read.is_err() || into.filled().len() == before {
            self.closing.send_replace(true);
        }
        Poll::Ready(read)
    }
}
