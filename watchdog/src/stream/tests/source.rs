use nix::sys::socket::{Shutdown, shutdown};
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

use super::super::descriptor::Kind;
use super::super::thread::Reader;
use super::*;

async fn a_pipe_is_read_to_its_end(watcher: &Watcher) {
    let (ours, theirs) = pipe();
    let mut source = Source::inherited(ours, watcher).unwrap();
    assert!(!source.is_threaded());
    nix::unistd::write(&theirs, b"one").unwrap();
    assert_eq!(soon(read(&mut source)).await.unwrap(), b"one");
    nix::unistd::write(&theirs, b"two").unwrap();
    drop(theirs);
    assert_eq!(soon(read(&mut source)).await.unwrap(), b"two");
    assert_eq!(soon(read(&mut source)).await.unwrap(), b"");
    assert_eq!(soon(read(&mut source)).await.unwrap(), b"", "the end is for good");
}

async fn a_socket_is_read_to_its_end(watcher: &Watcher) {
    let (ours, theirs) = sockets();
    let mut source = Source::inherited(ours, watcher).unwrap();
    assert!(!source.is_threaded());
    nix::unistd::write(&theirs, b"one").unwrap();
    assert_eq!(soon(read(&mut source)).await.unwrap(), b"one");
    shutdown(theirs.as_raw_fd(), Shutdown::Write).unwrap();
    assert_eq!(soon(read(&mut source)).await.unwrap(), b"");
}

async fn a_client_that_leaves_bytes_of_ours_unread_ends_the_source(watcher: &Watcher) {
    let (ours, theirs) = sockets();
    nix::unistd::write(&ours, b"never read").unwrap();
    let mut source = Source::inherited(ours, watcher).unwrap();
    nix::unistd::write(&theirs, b"last words").unwrap();
    drop(theirs);
    assert_eq!(soon(read_to_end(&mut source)).await.unwrap(), b"last words");
}

async fn files_null_and_terminals_have_a_thread(watcher: &Watcher) {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), pattern(200_000)).unwrap();
    let mut source = Source::inherited(File::open(file.path()).unwrap().into(), watcher).unwrap();
    assert!(source.is_threaded());
    assert!(soon(read_to_end(&mut source)).await.unwrap() == pattern(200_000));

    let mut source = Source::inherited(null(), watcher).unwrap();
    assert!(source.is_threaded());
    assert_eq!(soon(read(&mut source)).await.unwrap(), b"");

    let (ours, theirs) = terminal();
    let mut source = Source::inherited(ours, watcher).unwrap();
    assert!(source.is_threaded());
    nix::unistd::write(&theirs, b"typed").unwrap();
    assert_eq!(soon(read(&mut source)).await.unwrap(), b"typed");
    drop(theirs);
    assert_eq!(soon(read(&mut source)).await.unwrap(), b"", "a lost terminal is the end");
}

async fn a_descriptor_of_the_wrong_direction_is_an_error_and_not_granted_anew(watcher: &Watcher) {
    let (_reader, writer) = pipe();
    let mut source = Source::inherited(writer, watcher).unwrap();
    assert!(source.is_threaded());
    assert_eq!(soon(read(&mut source)).await.unwrap_err().raw_os_error(), Some(nix::libc::EBADF));
}

async fn flags_of_inherited_descriptions_stay(watcher: &Watcher) {
    for (ours, theirs) in [pipe(), sockets(), terminal()] {
        let stranger = ours.try_clone().unwrap();
        let before = flags(&stranger);
        assert!(!before.contains(OFlag::O_NONBLOCK));
        let mut source = Source::inherited(ours, watcher).unwrap();
        assert_eq!(flags(&stranger), before);
        nix::unistd::write(&theirs, b"x").unwrap();
        soon(read(&mut source)).await.unwrap();
        assert_eq!(flags(&stranger), before, "while in use");
        drop(source);
        assert_eq!(flags(&stranger), before, "after it");
    }
}

async fn our_own_pipe_is_made_nonblocking(watcher: &Watcher) {
    let (ours, theirs) = pipe();
    let probe = ours.try_clone().unwrap();
    let mut source = Source::own_pipe(ours, watcher).unwrap();
    assert!(flags(&probe).contains(OFlag::O_NONBLOCK));
    nix::unistd::write(&theirs, b"x").unwrap();
    assert_eq!(soon(read(&mut source)).await.unwrap(), b"x");
}

async fn a_hangup_shows_behind_unread_data(watcher: &Watcher) {
    for half in [false, true] {
        for (ours, theirs) in [pipe(), sockets()] {
            let socket = nix::sys::socket::getsockopt(&theirs, sockopt::SockType).is_ok();
            let mut source = Source::inherited(ours, watcher).unwrap();
            nix::unistd::write(&theirs, b"unread").unwrap();
            stays_pending(|cx| source.poll_hangup(cx).is_ready()).await;
            if half && socket {
                shutdown(theirs.as_raw_fd(), Shutdown::Write).unwrap();
                soon(poll_fn(|cx| source.poll_hangup(cx))).await;
            } else {
                drop(theirs);
                soon(poll_fn(|cx| source.poll_hangup(cx))).await;
            }
            assert_eq!(soon(read_to_end(&mut source)).await.unwrap(), b"unread", "the data is still there");
            soon(poll_fn(|cx| source.poll_hangup(cx))).await;
        }
    }
}

async fn data_that_came_while_unwanted_is_read_without_a_new_event(watcher: &Watcher) {
    for (ours, theirs) in [pipe(), sockets()] {
        let mut source = Source::inherited(ours, watcher).unwrap();
        // Known to be empty first, so that only the event can tell.
        stays_pending(|cx| source.poll_read(cx, &mut BytesMut::with_capacity(10)).is_ready()).await;
        nix::unistd::write(&theirs, b"abcdef").unwrap();
        stays_pending(|cx| source.poll_hangup(cx).is_ready()).await;
        let mut small = BytesMut::with_capacity(3);
        small.reserve(3);
        let room = small.capacity();
        let read_now = soon(poll_fn(|cx| source.poll_read(cx, &mut small))).await.unwrap();
        assert_eq!(read_now, room.min(6));
        assert_eq!(&small[..], &b"abcdef"[..read_now]);
    }
}

async fn reading_piecemeal_waits_for_no_event(watcher: &Watcher) {
    for (ours, theirs) in [pipe(), sockets()] {
        let mut source = Source::inherited(ours, watcher).unwrap();
        nix::unistd::write(&theirs, &pattern(4000)).unwrap();
        let mut got = Vec::new();
        while got.len() < 4000 {
            let mut buffer = BytesMut::with_capacity(37);
            soon(poll_fn(|cx| source.poll_read(cx, &mut buffer))).await.unwrap();
            got.extend_from_slice(&buffer);
        }
        assert!(got == pattern(4000));
        stays_pending(|cx| source.poll_read(cx, &mut BytesMut::with_capacity(37)).is_ready()).await;
    }
}

async fn a_buffer_without_room_does_not_look_like_the_end(watcher: &Watcher) {
    let (ours, theirs) = pipe();
    let mut source = Source::inherited(ours, watcher).unwrap();
    nix::unistd::write(&theirs, b"x").unwrap();
    let mut buffer = BytesMut::new();
    assert_eq!(soon(poll_fn(|cx| source.poll_read(cx, &mut buffer))).await.unwrap(), 1);
}

async fn what_is_there_can_be_had_at_once(watcher: &Watcher) {
    let (ours, theirs) = pipe();
    let mut source = Source::own_pipe(ours, watcher).unwrap();
    let mut buffer = BytesMut::with_capacity(100);
    assert_eq!(source.try_read_now(&mut buffer).unwrap(), None);
    nix::unistd::write(&theirs, b"last").unwrap();
    assert_eq!(source.try_read_now(&mut buffer).unwrap(), Some(4));
    drop(theirs);
    assert_eq!(source.try_read_now(&mut buffer).unwrap(), Some(0));
    assert_eq!(&buffer[..], b"last");
}

/// `mcp-watchdog < fifo` with one `echo > fifo` after another: the kernel takes the hangup back.
async fn a_named_pipe_gets_another_writer(watcher: &Watcher) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fifo");
    mkfifo(&path, Mode::S_IRWXU).unwrap();
    let open_writer = || File::options().write(true).open(&path).unwrap();
    let ours = File::options().read(true).custom_flags_nonblocking().open(&path).unwrap();
    let first = open_writer();
    let mut source = Source::inherited(ours.into(), watcher).unwrap();
    assert!(!source.is_threaded());
    nix::unistd::write(&first, b"first").unwrap();
    drop(first);
    soon(poll_fn(|cx| source.poll_hangup(cx))).await;

    let second = open_writer();
    stays_pending(|cx| source.poll_hangup(cx).is_ready()).await;
    assert_eq!(soon(read(&mut source)).await.unwrap(), b"first");
    stays_pending(|cx| source.poll_read(cx, &mut BytesMut::with_capacity(99)).is_ready()).await;
    nix::unistd::write(&second, b"second").unwrap();
    assert_eq!(soon(read(&mut source)).await.unwrap(), b"second");
    drop(second);
    assert_eq!(soon(read(&mut source)).await.unwrap(), b"");
}

/// One read gives one packet, and a short read says nothing about what follows.
async fn packets_are_all_read(watcher: &Watcher) {
    let (ours, theirs) = socketpair(AddressFamily::Unix, SockType::SeqPacket, None, SockFlag::SOCK_CLOEXEC).unwrap();
    let mut source = Source::inherited(ours, watcher).unwrap();
    stays_pending(|cx| source.poll_read(cx, &mut BytesMut::with_capacity(10)).is_ready()).await;
    for packet in [&b"one"[..], b"two", b"three"] {
        nix::unistd::write(&theirs, packet).unwrap();
    }
    for packet in [&b"one"[..], b"two", b"three"] {
        assert_eq!(soon(read(&mut source)).await.unwrap(), packet);
    }
}

#[tokio::test]
async fn a_thread_reads_one_chunk_ahead_and_sees_the_hangup_behind_it() {
    let (ours, theirs) = pipe();
    let mut reader = Reader::start(ours, Kind::Fifo).unwrap();
    nix::unistd::write(&theirs, &pattern(60_000)).unwrap();
    let mut buffer = BytesMut::with_capacity(10);
    let first = soon(poll_fn(|cx| reader.poll_read(cx, &mut buffer))).await.unwrap();
    assert!(first <= buffer.capacity());
    // More than a chunk, of which the thread must not take anything while it holds the first.
    nix::unistd::write(&theirs, b"later").unwrap();
    stays_pending(|cx| reader.poll_hangup(cx).is_ready()).await;
    drop(theirs);
    soon(poll_fn(|cx| reader.poll_hangup(cx))).await;
    let mut got = buffer.to_vec();
    loop {
        let mut buffer = BytesMut::with_capacity(64 * 1024);
        if soon(poll_fn(|cx| reader.poll_read(cx, &mut buffer))).await.unwrap() == 0 {
            break;
        }
        got.extend_from_slice(&buffer);
    }
    let mut expected = pattern(60_000);
    expected.extend_from_slice(b"later");
    assert!(got == expected);
}

/// A stranger made the shared description non-blocking: the thread waits instead of failing.
#[tokio::test]
async fn a_thread_copes_with_a_description_that_is_nonblocking() {
    let (ours, theirs) = pipe();
    fcntl(&ours, FcntlArg::F_SETFL(flags(&ours) | OFlag::O_NONBLOCK)).unwrap();
    let mut reader = Reader::start(ours, Kind::Fifo).unwrap();
    let mut buffer = BytesMut::with_capacity(10);
    stays_pending(|cx| reader.poll_read(cx, &mut buffer).is_ready()).await;
    nix::unistd::write(&theirs, b"x").unwrap();
    assert_eq!(soon(poll_fn(|cx| reader.poll_read(cx, &mut buffer))).await.unwrap(), 1);
}

/// Who is told that a source is spent does not ask it again before it is woken.
async fn a_source_that_is_spent_has_nothing_and_wakes_for_more(watcher: &Watcher) {
    for (ours, theirs) in [pipe(), sockets()] {
        let mut source = Source::inherited(ours, watcher).unwrap();
        let (mut got, mut spent) = (0, 0);
        for length in [1, 5000, 64 * 1024, 100, 30_000] {
            nix::unistd::write(&theirs, &pattern(length)).unwrap();
            let expected = got + length;
            while got < expected {
                // A whole read and one byte more: what exactly fills the room says nothing of what is left.
                let mut buffer = BytesMut::with_capacity(length.min(20_000));
                got += soon(poll_fn(|cx| source.poll_read(cx, &mut buffer))).await.unwrap();
                if source.is_spent() {
                    spent += 1;
                    let mut rest = BytesMut::with_capacity(10);
                    assert_eq!(source.try_read_now(&mut rest).unwrap(), None, "at {got}");
                    stays_pending(|cx| source.poll_read(cx, &mut rest).is_ready()).await;
                }
            }
        }
        assert_eq!(spent > 0, matches!(watcher, Watcher::Reactor(_)));
        drop(theirs);
        assert_eq!(soon(read(&mut source)).await.unwrap(), b"");
        assert!(!source.is_spent(), "there is an end to be seen");
    }
}

/// Opens a named pipe for reading before there is a writer.
trait Nonblocking {
    fn custom_flags_nonblocking(&mut self) -> &mut Self;
}

impl Nonblocking for std::fs::OpenOptions {
    fn custom_flags_nonblocking(&mut self) -> &mut Self {
        std::os::unix::fs::OpenOptionsExt::custom_flags(self, nix::libc::O_NONBLOCK)
    }
}

under_both!(
    a_pipe_is_read_to_its_end,
    a_socket_is_read_to_its_end,
    a_client_that_leaves_bytes_of_ours_unread_ends_the_source,
    files_null_and_terminals_have_a_thread,
    a_descriptor_of_the_wrong_direction_is_an_error_and_not_granted_anew,
    flags_of_inherited_descriptions_stay,
    our_own_pipe_is_made_nonblocking,
    a_hangup_shows_behind_unread_data,
    data_that_came_while_unwanted_is_read_without_a_new_event,
    reading_piecemeal_waits_for_no_event,
    a_buffer_without_room_does_not_look_like_the_end,
    what_is_there_can_be_had_at_once,
    a_named_pipe_gets_another_writer,
    packets_are_all_read,
    a_source_that_is_spent_has_nothing_and_wakes_for_more,
);
