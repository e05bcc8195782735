//! One connection: HTTP/1.1 with bounds on everything that a peer could draw out.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::Router;
use axum::response::Response;
use hyper::body::{Body, Incoming};
use hyper::server::conn::http1;
use hyper::service::Service;
use hyper::{Method, Request};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::watch;
use tokio::time::{Instant, Sleep, sleep_until};

use super::closed;
use super::seats::Seat;

/// From the connection, or from the last answer, to the end of the next request's head.
const HEAD: Duration = Duration::from_secs(5);

/// How long a peer may take nothing of what is written to it.
const STUCK: Duration = Duration::from_secs(30);

/// The same, where others wait for its seat.
const STUCK_AND_NEEDED: Duration = Duration::from_millis(500);

/// The most that is kept of a peer, in bytes: its head, and what it does not take.
const BUFFER: usize = 32 * 1024;

/// A stream of either kind.
#[derive(Debug)]
pub(super) enum Either {
    Unix(UnixStream),
    Tcp(TcpStream),
}

/// Serves it to its end, or to the end of what is being answered once `closing` turns true or its seat is needed.
pub(super) async fn serve(stream: Either, router: Router, seat: Arc<Seat>, mut closing: watch::Receiver<bool>) {
    let stream = TokioIo::new(Impatient { stream, seat: seat.clone(), stuck: None });
    let service = Seated { router: TowerToHyperService::new(router), seat: seat.clone() };
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_buf_size(BUFFER)
        .serve_connection(stream, service);
    let mut serving = pin!(serving);
    let ended = tokio::select! {
        ended = &mut serving => ended,
        () = closed(&mut closing) => {
            serving.as_mut().graceful_shutdown();
            serving.await
        }
        () = seat.is_needed() => {
            if !seat.has_asked() {
                tracing::debug!("a connection to the control plane that asked nothing made room for another");
                return;
            }
            serving.as_mut().graceful_shutdown();
            serving.await
        }
    };
    if let Err(error) = ended {
        tracing::trace!(%error, "a connection to the control plane ended");
    }
}

/// The router, with its connection's seat.
struct Seated {
    router: TowerToHyperService<Router>,
    seat: Arc<Seat>,
}

impl Service<Request<Incoming>> for Seated {
    type Response = Response;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

    fn call(&self, mut request: Request<Incoming>) -> Self::Future {
        // What waits for a body that does not come asks nothing yet.
        let is_whole = request.body().is_end_stream() || request.method() != Method::POST;
        let asking = is_whole.then(|| self.seat.asks());
        request.extensions_mut().insert(self.seat.clone());
        let answer = self.router.call(request);
        Box::pin(async move {
            let answer = answer.await;
            drop(asking);
            answer
        })
    }
}

/// A stream that breaks when its peer takes nothing for a while.
struct Impatient<S> {
    stream: S,
    seat: Arc<Seat>,
    /// Runs while a write waits, and since when that is.
    stuck: Option<(Instant, Pin<Box<Sleep>>)>,
}

impl<S: AsyncWrite + Unpin> Impatient<S> {
    fn bounded(&mut self, cx: &mut Context<'_>, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            self.stuck = None;
            return written;
        }
        // Whoever is told to go is polled then.
        let most = if self.seat.is_told() { STUCK_AND_NEEDED } else { STUCK };
        let (since, stuck) = self.stuck.get_or_insert_with(|| {
            let now = Instant::now();
            (now, Box::pin(sleep_until(now + most)))
        });
        let end = *since + most;
        if stuck.deadline() != end {
            stuck.as_mut().reset(end);
        }
        ready!(stuck.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Impatient<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, into)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Impatient<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.bounded(cx, written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

impl AsyncRead for Either {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Unix(stream) => Pin::new(stream).poll_read(cx, into),
            Self::Tcp(stream) => Pin::new(stream).poll_read(cx, into),
        }
    }
}

impl AsyncWrite for Either {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Unix(stream) => Pin::new(stream).poll_write(cx, bytes),
            Self::Tcp(stream) => Pin::new(stream).poll_write(cx, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Unix(stream) => Pin::new(stream).poll_flush(cx),
            Self::Tcp(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Unix(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Tcp(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::super::seats::Seats;
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_takes_nothing_is_given_up_and_a_slow_one_is_not() {
        let (near, mut far) = tokio::io::duplex(4);
        let seat = Seats::new().take().await;
        let mut stream = Impatient { stream: near, seat: seat.clone(), stuck: None };
        let slow = tokio::spawn(async move {
            let mut taken = [0; 4];
            for _ in 0..3 {
                tokio::time::sleep(STUCK * 2 / 3).await;
                far.read_exact(&mut taken).await.unwrap();
            }
            far
        });
        stream.write_all(b"sixteen bytes ok").await.unwrap_or_else(|error| panic!("{error}"));
        let _far = slow.await.unwrap();
        let stuck = stream.write_all(b"more than there is room for").await.unwrap_err();
        assert_eq!(stuck.kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_takes_nothing_keeps_no_seat_that_others_need() {
        let seat = Seats::new().take().await;
        let (near, _far) = tokio::io::duplex(4);
        let mut stream = Impatient { stream: near, seat: seat.clone(), stuck: None };
        let mut write = pin!(stream.write_all(b"more than there is room for"));
        assert!(tokio::time::timeout(STUCK / 2, write.as_mut()).await.is_err());
        seat.tell();
        let before = Instant::now();
        let stuck = write.await.unwrap_err();
        assert_eq!((stuck.kind(), before.elapsed()), (io::ErrorKind::TimedOut, Duration::ZERO));

        let (near, _far) = tokio::io::duplex(4);
        let mut stream = Impatient { stream: near, seat, stuck: None };
        stream.write_all(b"more than there is room for").await.unwrap_err();
        assert!((STUCK_AND_NEEDED..STUCK).contains(&before.elapsed()), "{:?}", before.elapsed());
    }
}
