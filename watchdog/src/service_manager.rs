//! What the service manager that started this process is told: systemd's `sd_notify` protocol, which container engines speak too.
//!
//! A manager that wants to know names a socket in `NOTIFY_SOCKET`. One task tells it what happens: `READY=1` once every server's
//! first start is over ([`picture`]), `STATUS=` in a line for people, `RELOADING=1` and `READY=1` around a reload, `STOPPING=1` and
//! then `EXTEND_TIMEOUT_USEC=` for as long as the end takes. Where `WATCHDOG_USEC` asks for it, a second task sends `WATCHDOG=1`, each
//! time after the task of every server has answered ([`beat`]): a timer alone would say only that timers work.
//!
//! Without the variable there is no task, and so no wake-up. A manager that does not listen is warned of once, and never waited for.
//!
//! The process that speaks is the engine. Below an init (`--init`) it is not the manager's main process, and stays a child of that:
//! no `MAINPID=` is sent, because the init is who passes signals on and whose end is the end of all. The unit has to say
//! `NotifyAccess=all` then.
//!
//! The crate `sd-notify` (0.5) knows neither abstract sockets nor a way to send without blocking the thread that serves clients.
//!
//! Sources: sd_notify(3), sd_watchdog_enabled(3), systemd.service(5) ("Type=notify-reload").

mod beat;
mod picture;
mod report;
mod socket;
mod voice;

use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::engine::Handle;
use crate::init;
use report::{News, Reporter};
use socket::Socket;

/// How long the last words to the manager may hold up the end of the program.
const FAREWELL: Duration = Duration::from_millis(200);

/// The way to the service manager, or to nobody. Telling never waits.
#[derive(Debug)]
pub(crate) struct ServiceManager {
    task: Option<(mpsc::UnboundedSender<News>, JoinHandle<()>)>,
}

impl ServiceManager {
    /// Begins to tell the service manager that this process's environment names, if it names one.
    #[must_use]
    pub(crate) fn of_environment(handle: &Handle) -> Self {
        let socket = std::env::var_os("NOTIFY_SOCKET").filter(|name| !name.is_empty());
        let Some(name) = socket else { return Self { task: None } };
        let beat = beat::interval(|name| std::env::var_os(name), std::process::id(), init::above());
        Self::start(name, beat, handle)
    }

    fn start(name: OsString, beat: Option<Duration>, handle: &Handle) -> Self {
        match Socket::named(&name) {
            Ok(socket) => {
                let (sender, news) = mpsc::unbounded_channel();
                let reporter = Reporter::new(Arc::new(socket), beat, handle.clone(), news);
                Self { task: Some((sender, tokio::spawn(reporter.run()))) }
            }
            Err(error) => {
                tracing::warn!("the service manager is told nothing: {error}");
                Self { task: None }
            }
        }
    }

    /// A reload begins.
    pub(crate) fn reloading(&self) {
        self.tell(News::Reloading);
    }

    /// A reload is over; `taken` unless the old configuration stays.
    pub(crate) fn reloaded(&self, taken: bool) {
        self.tell(News::Reloaded { taken });
    }

    /// The end has begun.
    pub(crate) fn stopping(&self) {
        self.tell(News::Stopping);
    }

    fn tell(&self, news: News) {
        if let Some((sender, _)) = &self.task {
            // An error says that the task has ended.
            _ = sender.send(news);
        }
    }

    /// Sends what is left to be told, for a moment at the most.
    pub(crate) async fn end(self) {
        self.stopping();
        if let Some((sender, mut task)) = self.task {
            drop(sender);
            if tokio::time::timeout(FAREWELL, &mut task).await.is_err() {
                task.abort();
            }
        }
    }
}
