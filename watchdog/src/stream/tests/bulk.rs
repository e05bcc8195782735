//! Ten megabytes through every kind, both ways, with kernel buffers as small as they get.

use std::io::{Read, Write};
use std::sync::LazyLock;

use super::*;

const TEN_MB: usize = 10_000_000;

static BYTES: LazyLock<Vec<u8>> = LazyLock::new(|| pattern(TEN_MB));

fn small_pipe() -> (OwnedFd, OwnedFd) {
    let (read, write) = pipe();
    set_pipe_size(&write, 4096);
    (read, write)
}

fn small_sockets() -> (OwnedFd, OwnedFd) {
    let (a, b) = sockets();
    for socket in [&a, &b] {
        setsockopt(socket, sockopt::SndBuf, &4096).unwrap();
    }
    (a, b)
}

async fn reads(source: io::Result<Source>, theirs: OwnedFd) {
    let writer = std::thread::spawn(move || File::from(theirs).write_all(&BYTES).unwrap());
    let got = soon(read_to_end(&mut source.unwrap())).await.unwrap();
    writer.join().unwrap();
    assert!(got == *BYTES, "{} bytes", got.len());
}

async fn writes(sink: io::Result<Sink>, theirs: OwnedFd) {
    let reader = std::thread::spawn(move || {
        let mut bytes = vec![0; TEN_MB];
        File::from(theirs).read_exact(&mut bytes).unwrap();
        bytes
    });
    soon(write_all(&mut sink.unwrap(), &BYTES)).await.unwrap();
    assert!(reader.join().unwrap() == *BYTES);
}

async fn inherited_pipe_in(watcher: &Watcher) {
    let (ours, theirs) = small_pipe();
    reads(Source::inherited(ours, watcher), theirs).await;
}

async fn inherited_pipe_out(watcher: &Watcher) {
    let (theirs, ours) = small_pipe();
    writes(Sink::inherited(ours, watcher), theirs).await;
}

async fn own_pipe_in(watcher: &Watcher) {
    let (ours, theirs) = small_pipe();
    reads(Source::own_pipe(ours, watcher), theirs).await;
}

async fn own_pipe_out(watcher: &Watcher) {
    let (theirs, ours) = small_pipe();
    writes(Sink::own_pipe(ours, watcher), theirs).await;
}

async fn socket_in(watcher: &Watcher) {
    let (ours, theirs) = small_sockets();
    reads(Source::inherited(ours, watcher), theirs).await;
}

async fn socket_out(watcher: &Watcher) {
    let (ours, theirs) = small_sockets();
    writes(Sink::inherited(ours, watcher), theirs).await;
}

async fn terminal_in(watcher: &Watcher) {
    let (ours, theirs) = terminal();
    // The emulator keeps the terminal open until all is read: closing it throws away what is in it.
    let keep = theirs.try_clone().unwrap();
    let mut source = Source::inherited(ours, watcher).unwrap();
    let writer = std::thread::spawn(move || File::from(theirs).write_all(&BYTES).unwrap());
    let mut got = BytesMut::new();
    while got.len() < TEN_MB {
        got.reserve(64 * 1024);
        assert_ne!(soon(poll_fn(|cx| source.poll_read(cx, &mut got))).await.unwrap(), 0);
    }
    writer.join().unwrap();
    drop(keep);
    assert!(got == *BYTES);
}

async fn terminal_out(watcher: &Watcher) {
    let (ours, theirs) = terminal();
    writes(Sink::inherited(ours, watcher), theirs).await;
}

async fn file_in_and_out(watcher: &Watcher) {
    let file = tempfile::NamedTempFile::new().unwrap();
    let mut sink = Sink::inherited(file.reopen().unwrap().into(), watcher).unwrap();
    soon(write_all(&mut sink, &BYTES)).await.unwrap();
    assert!(std::fs::read(file.path()).unwrap() == *BYTES);
    let mut source = Source::inherited(file.reopen().unwrap().into(), watcher).unwrap();
    assert!(soon(read_to_end(&mut source)).await.unwrap() == *BYTES);
}

/// Both directions of one socket at once, as with a client whose stdin and stdout are the same.
async fn one_socket_both_ways(watcher: &Watcher) {
    let (ours, theirs) = small_sockets();
    let mut source = Source::inherited(ours.try_clone().unwrap(), watcher).unwrap();
    let mut sink = Sink::inherited(ours, watcher).unwrap();
    let (mut up, mut down) = (File::from(theirs.try_clone().unwrap()), File::from(theirs));
    let writer = std::thread::spawn(move || up.write_all(&BYTES).unwrap());
    let reader = std::thread::spawn(move || {
        let mut bytes = vec![0; TEN_MB];
        down.read_exact(&mut bytes).unwrap();
        bytes
    });
    // An echo in one task, as the engine does it.
    let mut held = BytesMut::new();
    let (mut received, mut sent) = (0, 0);
    soon(poll_fn(|cx| {
        loop {
            let mut idle = true;
            if held.is_empty() && received < TEN_MB {
                held.reserve(64 * 1024);
                if let Poll::Ready(read) = source.poll_read(cx, &mut held) {
                    received += read.unwrap();
                    idle = false;
                }
            }
            if !held.is_empty()
                && let Poll::Ready(written) = sink.poll_write(cx, &[IoSlice::new(&held)])
            {
                let written = written.unwrap();
                let _ = held.split_to(written);
                sent += written;
                idle = false;
            }
            if sent == TEN_MB {
                return Poll::Ready(());
            }
            if idle {
                return Poll::Pending;
            }
        }
    }))
    .await;
    writer.join().unwrap();
    assert!(reader.join().unwrap() == *BYTES);
}

under_both!(
    inherited_pipe_in,
    inherited_pipe_out,
    own_pipe_in,
    own_pipe_out,
    socket_in,
    socket_out,
    terminal_in,
    terminal_out,
    file_in_and_out,
    one_socket_both_ways,
);
