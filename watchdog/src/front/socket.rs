//! Clients that come through a unix socket, one at a time.

use std::future::Future;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as BlockingStream;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use nix::unistd::getuid;
use tokio::net::UnixStream;
use tokio::time::{Sleep, sleep};

use super::client::Client;
use super::entrance::Entrance;
use crate::event_loop::Watcher;
use crate::stream::{Sink, Source};

/// How long nobody is let in after that has failed, for want of descriptors say.
const PAUSE: Duration = Duration::from_millis(500);

/// Where clients come in.
#[derive(Debug)]
pub struct Door {
    entrances: Vec<Entrance>,
    max_line: usize,
    pause: Option<Pin<Box<Sleep>>>,
}

impl Door {
    /// A door at these sockets.
    #[must_use]
    pub const fn new(entrances: Vec<Entrance>, max_line: usize) -> Self {
        Self { entrances, max_line, pause: None }
    }

    /// The next client. While `taken`, those who come are told the line `turned_away`, and their streams end.
    pub fn poll_client(&mut self, cx: &mut Context<'_>, taken: bool, turned_away: &dyn Fn() -> Bytes) -> Poll<Client> {
        if let Some(pause) = &mut self.pause {
            std::task::ready!(pause.as_mut().poll(cx));
            self.pause = None;
        }
        for entrance in &self.entrances {
            while let Poll::Ready(accepted) = entrance.listener.poll_accept(cx) {
                let made = match accepted {
                    Ok((stream, _)) if !is_welcome(&stream) => continue,
                    Ok((stream, _)) if taken => {
                        // A fresh socket takes so little at once, and one that does not is gone.
                        _ = stream.try_write(&[&turned_away()[..], b"\n"].concat());
                        continue;
                    }
                    Ok((stream, _)) => client(stream, self.max_line),
                    Err(error) => Err(error),
                };
                match made {
                    Ok(client) => return Poll::Ready(client),
                    Err(error) => {
                        tracing::warn!(%error, "a client that connected cannot be served");
                        let mut pause = Box::pin(sleep(PAUSE));
                        // Just made, so that it only takes the waker.
                        _ = pause.as_mut().poll(cx);
                        self.pause = Some(pause);
                        return Poll::Pending;
                    }
                }
            }
        }
        Poll::Pending
    }
}

/// This user and root, whatever the folder and the file let through.
fn is_welcome(stream: &UnixStream) -> bool {
    stream.peer_cred().is_ok_and(|peer| peer.uid() == 0 || peer.uid() == getuid().as_raw())
}

fn client(stream: UnixStream, max_line: usize) -> io::Result<Client> {
    let stream: BlockingStream = stream.into_std()?;
    let reading: OwnedFd = stream.try_clone()?.into();
    Ok(Client::new(
        Source::own_pipe(reading, &Watcher::Runtime)?,
        Sink::own_pipe(stream.into(), &Watcher::Runtime)?,
        max_line,
    ))
}
