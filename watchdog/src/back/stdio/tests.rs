use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Wake, Waker};

use super::*;
use crate::event_loop::reactor::Reactor;
use crate::exit::Exit;

#[derive(Default)]
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

fn command() -> Command {
    Command { program: "true".into(), args: Vec::new(), cwd: None, env: Vec::new(), bounds: Bounds::default() }
}

#[tokio::test]
async fn a_program_may_have_run_where_its_guard_has_gone_without_a_word_and_not_where_there_was_none() {
    for (guard, may_have_run) in [("/bin/false", true), ("/nowhere/guard", false)] {
        let (child, pipes) = Child::start_with(guard.as_ref(), &command()).unwrap();
        let log = LogHandle::discard();
        let mut runtime = StdioRuntime::over(child, pipes, &command(), 1024, log, &Watcher::Runtime).unwrap();
        let news = poll_fn(|cx| runtime.poll_news(cx, true)).await;
        let News::CannotStart { exit, may_have_run: told, .. } = news else { panic!("{guard}: {news:?}") };
        assert_eq!((exit, told), (Exit::Internal, may_have_run), "{guard}");
    }
}

/// A guard that hangs is given up in time by a reactor too, which asks for the guard's reports only when something has woken it.
#[tokio::test(start_paused = true)]
async fn a_stop_is_over_in_time_though_there_was_no_news_before_it() {
    let watcher = Watcher::Reactor(Reactor::new().unwrap().registrar());
    let command = command();
    // It takes what a guard is told, and never answers.
    let (mut child, pipes) = Child::start_with("/bin/cat".as_ref(), &command).unwrap();
    poll_fn(|cx| {
        assert!(child.poll_event(cx).is_pending());
        if child.guard_pid().is_some() { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    let mut runtime = StdioRuntime::over(child, pipes, &command, 1024, LogHandle::discard(), &watcher).unwrap();
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(woken.clone());
    let mut cx = Context::from_waker(&waker);
    assert!(runtime.poll_news(&mut cx, true).is_pending());
    assert_eq!(runtime.stop(true, Duration::ZERO, Duration::ZERO), HashMap::new());
    assert!(runtime.poll_news(&mut cx, true).is_pending());
    assert!(!woken.0.load(Ordering::SeqCst));
    tokio::time::advance(Duration::from_secs(10)).await;
    assert!(woken.0.load(Ordering::SeqCst), "nobody would look whether the guard still lives");
}
