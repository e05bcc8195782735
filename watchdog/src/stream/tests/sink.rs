use nix::poll::{PollFd, PollFlags, PollTimeout};
use nix::sys::socket::{Shutdown, shutdown};
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

use super::super::descriptor::{self, Kind};
use super::super::thread::Writer;
use super::*;
use crate::event_loop::End;

/// One read of at most `length` bytes by the other side; fails instead of hanging.
fn read_blocking(fd: &OwnedFd, length: usize) -> nix::Result<Vec<u8>> {
    let mut entry = [PollFd::new(fd.as_fd(), PollFlags::POLLIN)];
    assert_ne!(nix::poll::poll(&mut entry, PollTimeout::try_from(DEADLINE).unwrap()), Ok(0), "it hangs");
    let mut bytes = vec![0; length];
    let read = nix::unistd::read(fd, &mut bytes)?;
    bytes.truncate(read);
    Ok(bytes)
}

fn drain(fd: &OwnedFd, length: usize) -> Vec<u8> {
    read_blocking(fd, length).unwrap()
}

async fn slices_arrive_in_order(watcher: &Watcher) {
    for (theirs, ours) in [pipe(), sockets(), terminal_out()] {
        let mut sink = Sink::inherited(ours, watcher).unwrap();
        let slices = [IoSlice::new(b"one "), IoSlice::new(b""), IoSlice::new(b"two")];
        assert_eq!(soon(poll_fn(|cx| sink.poll_write(cx, &slices))).await.unwrap(), 7);
        soon(poll_fn(|cx| sink.poll_flush(cx))).await.unwrap();
        assert_eq!(drain(&theirs, 100), b"one two");
    }
}

async fn more_slices_than_the_kernel_takes_are_written_in_part(watcher: &Watcher) {
    for (theirs, ours) in [pipe(), sockets()] {
        let mut sink = Sink::inherited(ours, watcher).unwrap();
        // Takes the event, so that only what the first write has said counts for the second.
        stays_pending(|cx| sink.poll_hangup(cx).is_ready()).await;
        let slices = vec![IoSlice::new(b"x"); 3000];
        assert_eq!(soon(poll_fn(|cx| sink.poll_write(cx, &slices))).await.unwrap(), 1024);
        assert_eq!(soon(poll_fn(|cx| sink.poll_write(cx, &slices[1024..]))).await.unwrap(), 1024);
        assert_eq!(drain(&theirs, 5000).len(), 2048);
    }
}

async fn flags_of_inherited_descriptions_stay(watcher: &Watcher) {
    for (theirs, ours) in [pipe(), sockets(), terminal_out()] {
        let stranger = ours.try_clone().unwrap();
        let before = flags(&stranger);
        let mut sink = Sink::inherited(ours, watcher).unwrap();
        assert_eq!(flags(&stranger), before);
        soon(write_all(&mut sink, b"x")).await.unwrap();
        assert_eq!(flags(&stranger), before, "while in use");
        drop(sink);
        assert_eq!(flags(&stranger), before, "after it");
        drop(theirs);
    }
}

/// C21: a stranger's blocking writes must not begin to fail because we write to the same pipe.
async fn a_stranger_that_shares_the_pipe_still_blocks_when_it_is_full(watcher: &Watcher) {
    let (theirs, ours) = pipe();
    set_pipe_size(&ours, 4096);
    let stranger = ours.try_clone().unwrap();
    let mut sink = Sink::inherited(ours, watcher).unwrap();
    soon(write(&mut sink, &pattern(4096))).await.unwrap();
    let writer = std::thread::spawn(move || nix::unistd::write(&stranger, b"waited"));
    assert!(drain(&theirs, 4096) == pattern(4096));
    assert_eq!(writer.join().unwrap(), Ok(6));
    assert_eq!(drain(&theirs, 100), b"waited");
}

async fn a_dead_reader_is_a_broken_pipe(watcher: &Watcher) {
    for (theirs, ours) in [pipe(), sockets()] {
        let mut sink = Sink::inherited(ours, watcher).unwrap();
        assert!(!sink.is_threaded());
        soon(write(&mut sink, b"unread")).await.unwrap();
        drop(theirs);
        let error = loop {
            if let Err(error) = soon(write(&mut sink, b"x")).await {
                break error;
            }
        };
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    }
}

/// A named pipe without a reader cannot be opened for writing (ENXIO): the thread reports it.
async fn a_pipe_that_cannot_be_opened_again_has_a_thread(watcher: &Watcher) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fifo");
    mkfifo(&path, Mode::S_IRWXU).unwrap();
    let theirs = File::options().read(true).write(true).open(&path).unwrap();
    let ours = File::options().write(true).open(&path).unwrap();
    drop(theirs);
    let mut sink = Sink::inherited(ours.into(), watcher).unwrap();
    assert!(sink.is_threaded());
    let error = soon(write_all(&mut sink, b"x")).await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    soon(poll_fn(|cx| sink.poll_hangup(cx))).await;
    assert_eq!(soon(write(&mut sink, b"x")).await.unwrap_err().kind(), io::ErrorKind::BrokenPipe);
}

async fn the_loss_of_the_reader_is_noticed_while_idle(watcher: &Watcher) {
    for (theirs, ours) in [pipe(), sockets()] {
        let mut sink = Sink::inherited(ours, watcher).unwrap();
        stays_pending(|cx| sink.poll_hangup(cx).is_ready()).await;
        drop(theirs);
        soon(poll_fn(|cx| sink.poll_hangup(cx))).await;
    }
}

async fn the_loss_of_the_reader_is_noticed_behind_unread_data(watcher: &Watcher) {
    for (theirs, ours) in [pipe(), sockets()] {
        let mut sink = Sink::inherited(ours, watcher).unwrap();
        while poll_fn(|cx| Poll::Ready(sink.poll_write(cx, &[IoSlice::new(&[0; 4096])]).is_ready())).await {}
        stays_pending(|cx| sink.poll_hangup(cx).is_ready()).await;
        drop(theirs);
        soon(poll_fn(|cx| sink.poll_hangup(cx))).await;
    }
}

#[test]
fn the_kernel_is_asked_about_the_right_half() {
    let (ours, theirs) = sockets();
    let asked = || [End::Read, End::Write].map(|end| descriptor::hung_up(ours.as_fd(), end));
    assert_eq!(asked(), [false, false]);
    shutdown(theirs.as_raw_fd(), Shutdown::Write).unwrap();
    assert_eq!(asked(), [true, false]);
    drop(theirs);
    assert_eq!(asked(), [true, true]);
}

/// A client that has nothing more to say may still listen.
async fn a_client_that_closed_its_writing_half_is_still_a_reader(watcher: &Watcher) {
    let (ours, theirs) = sockets();
    let mut source = Source::inherited(ours.try_clone().unwrap(), watcher).unwrap();
    let mut sink = Sink::inherited(ours, watcher).unwrap();
    shutdown(theirs.as_raw_fd(), Shutdown::Write).unwrap();
    assert_eq!(soon(read(&mut source)).await.unwrap(), b"");
    stays_pending(|cx| sink.poll_hangup(cx).is_ready()).await;
    soon(write(&mut sink, b"answer")).await.unwrap();
    assert_eq!(drain(&theirs, 100), b"answer");
    drop(theirs);
    soon(poll_fn(|cx| sink.poll_hangup(cx))).await;
}

async fn writing_after_a_hangup_was_looked_for_waits_for_no_event(watcher: &Watcher) {
    for (theirs, ours) in [pipe(), sockets()] {
        let mut sink = Sink::inherited(ours, watcher).unwrap();
        stays_pending(|cx| sink.poll_hangup(cx).is_ready()).await;
        soon(write(&mut sink, b"x")).await.unwrap();
        assert_eq!(drain(&theirs, 100), b"x");
    }
}

async fn a_full_pipe_waits_without_spinning(watcher: &Watcher) {
    for (theirs, ours) in [pipe(), sockets()] {
        let mut sink = Sink::inherited(ours, watcher).unwrap();
        let slice = [IoSlice::new(&[0; 4096])];
        while poll_fn(|cx| Poll::Ready(sink.poll_write(cx, &slice).is_ready())).await {}
        stays_pending(|cx| sink.poll_write(cx, &slice).is_ready()).await;
        while drain(&theirs, 1 << 20).len() == 1 << 20 {}
        soon(poll_fn(|cx| sink.poll_write(cx, &slice))).await.unwrap();
    }
}

/// A pipe that was opened again has two write ends; one that stays open would hold off the end of the stream.
async fn dropping_a_sink_ends_the_stream(watcher: &Watcher) {
    for (theirs, ours) in [pipe(), sockets(), terminal_out()] {
        let terminal = nix::unistd::isatty(&ours).unwrap();
        let mut sink = Sink::inherited(ours, watcher).unwrap();
        soon(write_all(&mut sink, b"bye")).await.unwrap();
        drop(sink);
        assert_eq!(drain(&theirs, 100), b"bye");
        match read_blocking(&theirs, 1) {
            Ok(end) if end.is_empty() => {}
            Err(nix::errno::Errno::EIO) if terminal => {}
            other => panic!("no end: {other:?}"),
        }
    }
}

#[tokio::test]
async fn a_writing_thread_is_bounded_and_flushes() {
    let (theirs, ours) = pipe();
    let mut writer = Writer::start(ours, Kind::Other).unwrap();
    let slice = [IoSlice::new(&[7; 10_000])];
    let mut taken = 0;
    while let Poll::Ready(written) = poll_fn(|cx| Poll::Ready(writer.poll_write(cx, &slice))).await {
        taken += written.unwrap();
    }
    // The queue, and at most a pipe full that the thread has written before the queue was full.
    assert!((256 * 1024..=(256 + 64) * 1024).contains(&taken), "{taken} bytes taken");
    assert!(poll_fn(|cx| Poll::Ready(writer.poll_flush(cx))).await.is_pending());
    let reader = std::thread::spawn(move || {
        let mut left = taken;
        while left > 0 {
            left -= drain(&theirs, 65536).len();
        }
        theirs
    });
    soon(poll_fn(|cx| writer.poll_flush(cx))).await.unwrap();
    drop(reader.join().unwrap());
}

#[tokio::test]
async fn an_idle_writing_thread_notices_the_loss_of_its_reader() {
    let (theirs, ours) = pipe();
    let mut writer = Writer::start(ours, Kind::Fifo).unwrap();
    stays_pending(|cx| writer.poll_hangup(cx).is_ready()).await;
    drop(theirs);
    soon(poll_fn(|cx| writer.poll_hangup(cx))).await;
}

async fn dev_null_takes_everything(watcher: &Watcher) {
    let mut sink = Sink::inherited(null(), watcher).unwrap();
    assert!(sink.is_threaded());
    soon(write_all(&mut sink, &pattern(1 << 20))).await.unwrap();
}

async fn a_full_disk_is_an_error(watcher: &Watcher) {
    let full = File::options().write(true).open("/dev/full").unwrap();
    let mut sink = Sink::inherited(full.into(), watcher).unwrap();
    let error = soon(write_all(&mut sink, b"x")).await.unwrap_err();
    assert_eq!(error.raw_os_error(), Some(nix::libc::ENOSPC));
}

under_both!(
    slices_arrive_in_order,
    more_slices_than_the_kernel_takes_are_written_in_part,
    flags_of_inherited_descriptions_stay,
    a_stranger_that_shares_the_pipe_still_blocks_when_it_is_full,
    a_dead_reader_is_a_broken_pipe,
    a_pipe_that_cannot_be_opened_again_has_a_thread,
    the_loss_of_the_reader_is_noticed_while_idle,
    the_loss_of_the_reader_is_noticed_behind_unread_data,
    a_client_that_closed_its_writing_half_is_still_a_reader,
    writing_after_a_hangup_was_looked_for_waits_for_no_event,
    a_full_pipe_waits_without_spinning,
    dropping_a_sink_ends_the_stream,
    dev_null_takes_everything,
    a_full_disk_is_an_error,
);
