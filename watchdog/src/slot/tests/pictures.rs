//! What others see of a slot at the moment in which they are answered: they may be on another thread.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::task::{Context, Wake, Waker};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::{oneshot, watch};

use super::fake::Fake;
use super::{Stage, stage};
use crate::core::testing::{INITIALIZE, INITIALIZED, secs, server as usual};
use crate::engine::Command;
use crate::engine::handle::Published;
use crate::event_loop::Watcher;

/// Looks at the picture when it is woken.
struct Look {
    pictures: watch::Receiver<Published>,
    seen: Mutex<Option<Published>>,
    wakes: AtomicU8,
}

impl Wake for Look {
    fn wake(self: Arc<Self>) {
        self.wakes.fetch_add(1, Relaxed);
        *self.seen.lock().unwrap() = Some(self.pictures.borrow().clone());
    }
}

impl Look {
    /// The picture when the answer comes.
    async fn at<T>(pictures: &watch::Receiver<Published>, mut answer: oneshot::Receiver<T>) -> Published {
        let look = Arc::new(Self { pictures: pictures.clone(), seen: Mutex::default(), wakes: AtomicU8::new(0) });
        let waker = Waker::from(look.clone());
        assert!(Pin::new(&mut answer).poll(&mut Context::from_waker(&waker)).is_pending());
        tokio::time::sleep(secs(1)).await;
        assert_eq!(look.wakes.load(Relaxed), 1);
        look.seen.lock().unwrap().take().expect("it was woken")
    }
}

#[tokio::test(start_paused = true)]
async fn whoever_is_answered_sees_what_the_answer_is_about() {
    let Stage { driver, mut client, handle, events: _ } = stage(Box::new(Fake::default()), usual(), Watcher::Runtime);
    let driving = tokio::spawn(driver.run());
    client.write_all(format!("{INITIALIZE}\n{INITIALIZED}\n").as_bytes()).await.unwrap();
    assert!(client.read(&mut [0; 1024]).await.unwrap() > 0);
    let (answer, outcome) = oneshot::channel();
    handle.commands.send(Command::Probe(answer)).ok().unwrap();
    let seen = Look::at(&handle.published, outcome).await;
    assert_eq!(seen.last_probe.expect("the one that was asked for").verdict, "alive");
    let (answer, outcome) = oneshot::channel();
    handle.commands.send(Command::Retry(answer)).ok().unwrap();
    assert_eq!(Look::at(&handle.published, outcome).await.slot.state, "Reconnecting");
    driving.abort();
}
