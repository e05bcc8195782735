use std::future::poll_fn;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use super::*;

/// Runs a future on a reactor beside a runtime, as a sidecar does.
fn beside<F>(make: impl FnOnce(Registrar) -> F) -> F::Output
where
    F: Future<Output: Send> + Send + 'static,
{
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let reactor = Reactor::new().unwrap();
        let future = make(reactor.registrar());
        let outcome = reactor.spawn("test", future).unwrap();
        let ended = tokio::time::timeout(Duration::from_secs(20), outcome).await.expect("it hangs").unwrap();
        ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

#[test]
fn the_runtime_wakes_it() {
    let end = beside(|_| async {
        tokio::time::sleep(Duration::from_millis(5)).await;
        let (sender, receiver) = oneshot::channel();
        tokio::spawn(async move { sender.send(7) });
        receiver.await.unwrap()
    });
    assert_eq!(end, 7);
}

#[test]
fn a_wake_up_during_the_poll_is_not_lost() {
    let polls = beside(|_| {
        let mut polls = 0;
        poll_fn(move |cx| {
            polls += 1;
            cx.waker().wake_by_ref();
            if polls == 1000 { Poll::Ready(polls) } else { Poll::Pending }
        })
    });
    assert_eq!(polls, 1000);
}

#[test]
fn wake_ups_of_other_threads_are_not_lost() {
    let heard = beside(|_| {
        let (sender, mut receiver) = tokio::sync::mpsc::channel(1);
        thread::spawn(move || (0..2000).for_each(|number| sender.blocking_send(number).unwrap()));
        async move {
            let mut heard = Vec::new();
            while let Some(number) = receiver.recv().await {
                heard.push(number);
            }
            heard
        }
    });
    assert!(heard.into_iter().eq(0..2000));
}

#[test]
fn a_panic_is_received() {
    let ended = std::panic::catch_unwind(|| beside(|_| async { assert_eq!(1, 2, "on purpose") }));
    assert!(ended.is_err());
}

/// Echoes bytes by readiness alone, with tries that block now and then.
#[test]
fn events_tell_of_all_that_comes_and_of_the_end() {
    const MANY: usize = 3000;
    let (near, mut far) = UnixStream::pair().unwrap();
    near.set_nonblocking(true).unwrap();
    let writer = thread::spawn(move || {
        let mut answers = 0;
        for number in 0..MANY {
            far.write_all(&[number.to_le_bytes()[0]]).unwrap();
            // Sometimes with an answer each, sometimes many at once.
            if number % 7 == 0 {
                let mut answer = vec![0; number + 1 - answers];
                far.read_exact(&mut answer).unwrap();
                answers = number + 1;
            }
        }
        far.shutdown(std::net::Shutdown::Write).unwrap();
        let mut rest = Vec::new();
        far.read_to_end(&mut rest).unwrap();
        answers + rest.len()
    });
    beside(|registrar| {
        let mut watched = registrar.watch(near, End::Read).unwrap();
        poll_fn(move |_| {
            while watched.is_ready() {
                let mut bytes = [0; 5];
                match watched.get().read(&mut bytes) {
                    Ok(0) => return Poll::Ready(()),
                    Ok(read) => {
                        watched.get().write_all(&bytes[..read]).unwrap();
                        if read < bytes.len() {
                            watched.exhausted().unwrap();
                        }
                    }
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => watched.blocked().unwrap(),
                    Err(error) => panic!("{error}"),
                }
            }
            Poll::Pending
        })
    });
    assert_eq!(writer.join().unwrap(), MANY);
}

#[test]
fn room_is_told_of_while_it_is_waited_for() {
    let (near, far) = UnixStream::pair().unwrap();
    near.set_nonblocking(true).unwrap();
    const BYTES: usize = 4 << 20;
    // Who reads begins only once the other side waits for it.
    let (waits, waiting) = std::sync::mpsc::channel();
    let reader = thread::spawn(move || {
        waiting.recv().unwrap();
        let (mut far, mut all, mut piece) = (far, 0, vec![0; 10_000]);
        while all < BYTES {
            all += far.read(&mut piece).unwrap();
        }
    });
    let polls = beside(|registrar| {
        let mut watched = registrar.watch(near, End::Write).unwrap();
        let (mut written, mut polls) = (0, 0);
        poll_fn(move |_| {
            polls += 1;
            while watched.is_ready() && written < BYTES {
                match watched.get().write(&vec![0; (BYTES - written).min(100_000)]) {
                    Ok(more) => written += more,
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                        watched.blocked().unwrap();
                        // It hears only the first of them.
                        _ = waits.send(());
                    }
                    Err(error) => panic!("{error}"),
                }
            }
            if written < BYTES {
                return Poll::Pending;
            }
            watched.eased().unwrap();
            Poll::Ready(polls)
        })
    });
    reader.join().unwrap();
    assert!(polls > 1, "it never had to wait");
}

#[test]
fn a_place_is_free_again_once_nothing_is_watched_there() {
    let reactor = Reactor::new().unwrap();
    let (one, other) = UnixStream::pair().unwrap();
    let first = reactor.registrar().watch(&one, End::Read).unwrap();
    drop(reactor.registrar().watch(&other, End::Write).unwrap());
    let second = reactor.registrar().watch(&other, End::Write).unwrap();
    assert_eq!((first.place, second.place), (0, 1));
    let file = tempfile::tempfile().unwrap();
    assert!(reactor.registrar().watch(&file, End::Read).is_err(), "the system does not watch files");
    drop(second);
    assert_eq!(reactor.registrar().watch(&other, End::Write).unwrap().place, 1);
}

#[test]
fn what_was_known_of_a_place_is_forgotten_with_it() {
    let reactor = Reactor::new().unwrap();
    let (near, far) = UnixStream::pair().unwrap();
    let first = reactor.registrar().watch(&near, End::Read).unwrap();
    drop(far);
    assert!(reactor.look(Some(&AT_ONCE)) && first.is_closed());
    let place = first.place;
    drop(first);
    let (other, _far) = UnixStream::pair().unwrap();
    let second = reactor.registrar().watch(&other, End::Read).unwrap();
    assert_eq!(second.place, place);
    assert!(second.is_ready() && !second.is_closed());
}

#[test]
fn more_than_there_is_room_for_is_not_watched() {
    let reactor = Reactor::new().unwrap();
    let pairs: Vec<_> = (0..=PLACES).map(|_| UnixStream::pair().unwrap()).collect();
    let watch = |(one, _)| reactor.registrar().watch(one, End::Read);
    let mut watched: Vec<_> = pairs.into_iter().map(watch).collect();
    let refused = watched.pop().unwrap();
    assert!(refused.is_err_and(|(_, error)| error.to_string() == FULL));
    assert!(watched.iter().all(Result::is_ok));
}

/// A future would be polled again and again, and never be told of anything.
#[test]
fn a_system_that_does_not_tell_what_is_ready_is_no_reason_to_go_on() {
    let mut reactor = Reactor::new().unwrap();
    let no_epoll = eventfd(0, EventfdFlags::CLOEXEC).unwrap();
    reactor.registrar = Registrar(Arc::new(Shared::over(no_epoll)));
    let mut polls = 0;
    let future = poll_fn(|_| {
        polls += 1;
        if polls == 1000 { Poll::Ready(()) } else { Poll::Pending }
    });
    let end = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| reactor.block_on(future)));
    assert!(end.is_err() && polls == 1, "{polls} polls");
}
