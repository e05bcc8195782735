//! Where requests come in.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use axum::Router;
use nix::unistd::getuid;
use tokio::net::{TcpListener, UnixListener, UnixStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::closed;
use super::connection::{self, Either};
use super::runtime_dir;
use super::seats::Seats;
use super::socket_file;
use crate::config::{ControlListen, TcpAddress};

/// Before the next try where a connection cannot be taken: mostly descriptors have run out.
const PAUSE: Duration = Duration::from_millis(100);

/// An open listener.
#[derive(Debug)]
pub(super) enum Listener {
    Unix {
        listener: UnixListener,
        /// There as long as this is.
        _file: crate::stream::socket_file::SocketFile,
    },
    Tcp(TcpListener),
}

/// Why nothing was opened: the place and the reason, in words.
#[derive(Debug)]
pub(super) struct OpenError(String);

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Opens `control.listen`.
pub(super) async fn open(listen: &ControlListen, name: &str) -> Result<Listener, OpenError> {
    let path = match listen {
        ControlListen::Off => return Err(OpenError("it is switched off".to_owned())),
        ControlListen::Tcp(address) => return open_tcp(address).await,
        ControlListen::Unix(path) => path.clone(),
        ControlListen::Auto => private_place(name).await?,
    };
    let shown = path.display().to_string();
    let (listener, file) = socket_file::bind(&path).await.map_err(|error| {
        OpenError(match error.kind() {
            io::ErrorKind::AddrInUse => format!("{shown} is taken: another watchdog listens there, or it is no socket"),
            _ => format!("{shown}: {error}"),
        })
    })?;
    tracing::debug!("control socket at {}", file.path().display());
    Ok(Listener::Unix { listener, _file: file })
}

/// In the runtime folder, which is swept up on the way.
async fn private_place(name: &str) -> Result<PathBuf, OpenError> {
    let user = getuid().as_raw();
    let places = runtime_dir::places(|variable| std::env::var_os(variable), user);
    let folder = places.into_iter().next().ok_or_else(|| OpenError("there is no runtime folder".to_owned()))?;
    runtime_dir::prepare(&folder, user).map_err(|error| OpenError(error.to_string()))?;
    if let Err(error) = socket_file::sweep(&folder).await {
        tracing::debug!(%error, "the runtime folder was not swept");
    }
    Ok(runtime_dir::socket(&folder, name, std::process::id()))
}

/// Opens a TCP address.
pub(super) async fn open_tcp(address: &TcpAddress) -> Result<Listener, OpenError> {
    let wrong = |error: io::Error| OpenError(format!("{address}: {error}"));
    let listener = TcpListener::bind((address.host.as_str(), address.port)).await.map_err(wrong)?;
    // Where the system has chosen the port, nothing else tells it.
    tracing::info!("listening on http://{}", listener.local_addr().map_err(wrong)?);
    Ok(Listener::Tcp(listener))
}

impl Listener {
    /// Serves until `closing` turns true; then connections end when they have been answered.
    pub(super) async fn serve(self, router: Router, mut closing: watch::Receiver<bool>) {
        let mut seats = Seats::new();
        let mut connections = JoinSet::new();
        loop {
            let next = async {
                let Some(stream) = self.accept().await? else { return Ok::<_, io::Error>(None) };
                Ok(Some((stream, seats.take().await)))
            };
            let accepted = tokio::select! {
                next = next => next,
                () = closed(&mut closing) => break,
            };
            while connections.try_join_next().is_some() {}
            match accepted {
                Ok(Some((stream, seat))) => {
                    connections.spawn(connection::serve(stream, router.clone(), seat, closing.clone()));
                }
                Ok(None) => {}
                Err(error) => {
                    tracing::debug!(%error, "a connection could not be taken");
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
        // Nobody finds the socket any more, and nobody is cut off.
        drop(self);
        while connections.join_next().await.is_some() {}
    }

    /// The next connection; `None` for one that is turned away.
    async fn accept(&self) -> io::Result<Option<Either>> {
        match self {
            Self::Unix { listener, .. } => {
                let (stream, _) = listener.accept().await?;
                Ok(is_welcome(&stream).then_some(Either::Unix(stream)))
            }
            Self::Tcp(listener) => Ok(Some(Either::Tcp(listener.accept().await?.0))),
        }
    }
}

/// Ourselves, and root, who can do everything anyway.
fn is_welcome(stream: &UnixStream) -> bool {
    match stream.peer_cred() {
        Ok(peer) if peer.uid() == getuid().as_raw() || peer.uid() == 0 => true,
        Ok(peer) => {
            tracing::warn!(user = peer.uid(), "another user was turned away from the control socket");
            false
        }
        Err(_) => false,
    }
}
