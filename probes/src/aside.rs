//! Work that can block for long: a name to look up, a file on a disk that does not answer.

use std::io::{Error, ErrorKind, Result};
use std::thread;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};

/// Does such work on a thread of its own, one piece at a time: where it never comes back, one thread is lost and not
/// one at each check. A thread of the runtime's pool would hold up the end of the program.
#[derive(Debug)]
pub struct Aside<T> {
    running: Option<oneshot::Receiver<T>>,
}

impl<T> Default for Aside<T> {
    fn default() -> Self {
        Self { running: None }
    }
}

impl<T: Send + 'static> Aside<T> {
    /// Does the work, once what was begun before has ended.
    ///
    /// # Errors
    /// [`ErrorKind::TimedOut`] when that takes longer than `limit`; others when there can be no thread, or it breaks
    /// down.
    pub async fn run(&mut self, limit: Duration, work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
        let end = Instant::now() + limit;
        if self.running.is_some() {
            // Its result is of then, and is asked for now.
            let _ = self.join(end).await?;
        }
        let (sender, receiver) = oneshot::channel();
        let work = move || drop(sender.send(work()));
        thread::Builder::new().name("mcp-probe".to_owned()).spawn(work)?;
        self.running = Some(receiver);
        self.join(end).await?.ok_or_else(|| Error::other("the thread broke down"))
    }

    /// Waits for what runs. It stays what runs where this ends early.
    async fn join(&mut self, end: Instant) -> Result<Option<T>> {
        let Some(running) = &mut self.running else { return Ok(None) };
        let ended = timeout_at(end, running).await.map_err(|_| Error::from(ErrorKind::TimedOut))?;
        self.running = None;
        Ok(ended.ok())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    const SOON: Duration = Duration::from_secs(10);

    #[tokio::test]
    async fn work_is_done_elsewhere() {
        let here = thread::current().id();
        let mut aside = Aside::default();
        let there = aside.run(SOON, || thread::current().id()).await.unwrap();
        assert_ne!(here, there);
        let again = aside.run(SOON, move || here).await.unwrap();
        assert_eq!(again, here);
    }

    #[tokio::test]
    async fn what_is_stuck_is_waited_for_before_more_is_begun() {
        let (release, stuck) = mpsc::channel::<()>();
        let mut aside = Aside::default();
        let work = move || {
            let _ = stuck.recv();
            1
        };
        assert_eq!(aside.run(Duration::ZERO, work).await.unwrap_err().kind(), ErrorKind::TimedOut);
        let never = || panic!("this must not begin");
        assert_eq!(aside.run(Duration::ZERO, never).await.unwrap_err().kind(), ErrorKind::TimedOut);
        drop(release);
        assert_eq!(aside.run(SOON, || 2).await.unwrap(), 2, "and not the result of then");
    }

    #[tokio::test]
    async fn a_panic_is_an_error() {
        let mut aside = Aside::<()>::default();
        let error = aside.run(SOON, || panic!("on purpose")).await.unwrap_err();
        assert_eq!(error.to_string(), "the thread broke down");
        assert!(aside.run(SOON, || ()).await.is_ok());
    }
}
