//! Where a sidecar's driver runs: on a thread of its own where the system has what that takes, and as a task of the runtime
//! elsewhere.

use std::future::Future;
use std::io;
use std::thread;

use tokio::sync::oneshot;

use super::Watcher;
#[cfg(target_os = "linux")]
use super::reactor::Reactor;

/// The place for one driver.
#[derive(Debug)]
pub(crate) struct DataPath {
    #[cfg(target_os = "linux")]
    reactor: Reactor,
}

impl DataPath {
    /// A place where nothing runs yet.
    ///
    /// # Errors
    /// Where the system has no descriptors for it.
    #[cfg_attr(not(target_os = "linux"), expect(clippy::unnecessary_wraps, reason = "it can fail elsewhere"))]
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self {
            #[cfg(target_os = "linux")]
            reactor: Reactor::new()?,
        })
    }

    /// What watches the driver's descriptors there.
    #[cfg_attr(not(target_os = "linux"), expect(clippy::unused_self, reason = "the runtime is that of the caller"))]
    pub(crate) fn watcher(&self) -> Watcher {
        #[cfg(target_os = "linux")]
        return Watcher::Reactor(self.reactor.registrar());
        #[cfg(not(target_os = "linux"))]
        Watcher::Runtime
    }

    /// Runs the driver, within the runtime that the caller is in. What comes of it, or of its panic, is received.
    ///
    /// # Errors
    /// Where its thread cannot be started.
    pub(crate) fn run<F>(self, driver: F) -> io::Result<oneshot::Receiver<thread::Result<F::Output>>>
    where
        F: Future<Output: Send> + Send + 'static,
    {
        #[cfg(target_os = "linux")]
        return self.reactor.spawn("data path", driver);
        #[cfg(not(target_os = "linux"))]
        {
            use futures_util::FutureExt;
            let (done, outcome) = oneshot::channel();
            let driver = std::panic::AssertUnwindSafe(driver).catch_unwind();
            // Nobody hears it where the runtime has ended.
            tokio::spawn(async move { drop(done.send(driver.await)) });
            Ok(outcome)
        }
    }
}
