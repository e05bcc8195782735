//! The manager's socket: datagrams, each a few lines `KEY=VALUE`.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{self as unix, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use tokio::net::UnixDatagram;
use tokio::time::timeout;

/// How long a manager that is busy may take until it has room for a message. Only the task that tells it waits.
const PATIENCE: Duration = Duration::from_secs(5);

/// Where the manager listens.
#[derive(Debug)]
pub(super) struct Socket {
    address: SocketAddr,
    name: String,
    /// Whether its silence has been told of.
    warned: AtomicBool,
}

impl Socket {
    /// The socket of this name: a path, or `@` and an abstract name.
    ///
    /// # Errors
    /// Where the name is neither, in words that have the name.
    pub(super) fn named(name: &OsStr) -> Result<Self, String> {
        let shown = name.to_string_lossy().into_owned();
        let address = match name.as_bytes() {
            [b'@', rest @ ..] if !rest.is_empty() => abstract_address(rest),
            [b'/', _, ..] => SocketAddr::from_pathname(name),
            _ => return Err(format!("NOTIFY_SOCKET=\"{shown}\" is neither a path nor \"@\" and a name")),
        };
        let address = address.map_err(|error| format!("NOTIFY_SOCKET=\"{shown}\": {error}"))?;
        Ok(Self { address, name: shown, warned: AtomicBool::new(false) })
    }

    /// Sends a message, if the manager takes it. That it does not is told once.
    pub(super) async fn send(&self, message: &str) {
        let sent = timeout(PATIENCE, self.try_send(message)).await;
        let error = match sent {
            Ok(Ok(())) => return,
            Ok(Err(error)) => error.to_string(),
            Err(_) => "it takes no messages".to_owned(),
        };
        if !self.warned.swap(true, Relaxed) {
            tracing::warn!("the service manager cannot be told anything on NOTIFY_SOCKET={}: {error}", self.name);
        }
    }

    /// A socket for each message: it follows a manager that was replaced, and holds no descriptor in between.
    async fn try_send(&self, message: &str) -> io::Result<()> {
        let socket = unix::UnixDatagram::unbound()?;
        socket.set_nonblocking(true)?;
        socket.connect_addr(&self.address)?;
        UnixDatagram::from_std(socket)?.send(message.as_bytes()).await.map(drop)
    }
}

#[cfg(target_os = "linux")]
fn abstract_address(name: &[u8]) -> io::Result<SocketAddr> {
    use std::os::linux::net::SocketAddrExt;
    SocketAddr::from_abstract_name(name)
}

#[cfg(not(target_os = "linux"))]
fn abstract_address(_: &[u8]) -> io::Result<SocketAddr> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "abstract sockets are there on Linux only"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_paths_or_abstract() {
        for name in ["/run/systemd/notify", "@abstract"] {
            assert!(Socket::named(name.as_ref()).is_ok(), "{name}");
        }
        let long = format!("/{}", "x".repeat(200));
        for name in ["relative", "/", "@", "vsock:2:1234", long.as_str()] {
            assert!(Socket::named(name.as_ref()).unwrap_err().contains(name), "{name}");
        }
    }

    #[tokio::test]
    async fn messages_arrive_also_after_the_manager_was_replaced_and_silence_is_told_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        let socket = Socket::named(path.as_os_str()).unwrap();
        socket.send("lost").await;
        assert!(socket.warned.load(Relaxed));
        for _ in 0..2 {
            let manager = unix::UnixDatagram::bind(&path).unwrap();
            manager.set_nonblocking(true).unwrap();
            socket.send("READY=1\n").await;
            let mut bytes = [0; 64];
            assert_eq!(manager.recv(&mut bytes).map(|length| bytes[..length].to_vec()).unwrap(), b"READY=1\n");
            std::fs::remove_file(&path).unwrap();
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_manager_that_reads_nothing_is_not_waited_for_without_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        let _manager = unix::UnixDatagram::bind(&path).unwrap();
        let socket = Socket::named(path.as_os_str()).unwrap();
        let mut sent = 0;
        while !socket.warned.load(Relaxed) {
            socket.send("STATUS=on\n").await;
            sent += 1;
            assert!(sent < 100_000, "its queue has an end");
        }
        assert!(sent > 1);
    }
}
