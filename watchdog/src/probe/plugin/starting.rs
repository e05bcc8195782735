//! A host on its way: it gets ready whether a check waits for it or not.

use tokio::task::JoinHandle;

use super::host::Host;
use super::{Launcher, Options};

/// The start of a host. Dropping it ends the host with it.
pub(super) struct Starting(JoinHandle<Result<Host, String>>);

impl Starting {
    /// Begins one.
    pub(super) fn begin(launcher: &Launcher, options: &Options, name: &str) -> Self {
        let (launcher, options, name) = (launcher.clone(), options.clone(), name.to_owned());
        Self(tokio::spawn(async move { Host::start(&launcher, &options, &name).await }))
    }

    /// The host, or why there is none. Whoever stops waiting may wait again; whoever got it must not.
    pub(super) async fn ready(&mut self) -> Result<Host, String> {
        (&mut self.0).await.unwrap_or_else(|_| Err("the start of the plugin's host broke down".to_owned()))
    }
}

impl Drop for Starting {
    fn drop(&mut self) {
        self.0.abort();
    }
}
