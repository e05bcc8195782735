use std::fs::File;
use std::future::{Future, poll_fn};
use std::io::Read;
use std::thread;

use proptest::prelude::*;

use super::*;
use crate::event_loop::Watcher;

/// A line that tells which one it is, whatever its length.
fn line(number: usize, length: usize) -> Bytes {
    let mut line = format!("{number} ").into_bytes();
    line.resize(line.len() + length, b'a' + u8::try_from(number % 26).unwrap());
    line.into()
}

/// Short and long ones, and those about the lengths at which something changes.
fn lengths() -> impl Strategy<Value = Vec<usize>> {
    let length = prop_oneof![
        6 => 0..300_usize,
        2 => SHORT - 4..SHORT + 4,
        1 => SHORT..3 * SHORT,
        1 => Just(300_000),
    ];
    proptest::collection::vec(length, 0..60)
}

fn in_runtime<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(std::time::Duration::from_secs(20), work).await.expect("it hangs") })
}

/// What is done with a queue.
#[derive(Debug, Clone)]
enum Step {
    Push {
        length: usize,
        urgent: bool,
    },
    /// Writes what the pipe takes.
    Write,
    /// So much of it is read.
    Read(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let length = prop_oneof![5 => 0..300_usize, 2 => SHORT - 4..SHORT + 4, 2 => SHORT..4 * SHORT];
    let step = prop_oneof![
        5 => (length, prop::bool::weighted(0.3)).prop_map(|(length, urgent)| Step::Push { length, urgent }),
        2 => Just(Step::Write),
        2 => (1..10_000_usize).prop_map(Step::Read),
    ];
    proptest::collection::vec(step, 0..150)
}

proptest! {
    #[test]
    fn a_queue_that_is_written_bit_by_bit_is_one_line_behind_the_other(steps in steps()) {
        let (near, far) = io::pipe().unwrap();
        // The smallest one, so that it is full most of the time.
        nix::fcntl::fcntl(&far, nix::fcntl::FcntlArg::F_SETPIPE_SZ(4096)).unwrap();
        let mut near = File::from(std::os::fd::OwnedFd::from(near));
        // Those that wait, the urgent ones first; and what has to be read.
        let (mut waiting, mut urgent_ones, mut expected) = (VecDeque::<(u64, Bytes)>::new(), 0, Vec::new());
        let (mut read, mut in_pipe, mut begun) = (Vec::new(), 0, 0_usize);
        let left = in_runtime(async {
            let (mut outbox, mut sink) = (Outbox::default(), Sink::own_pipe(far.into(), &Watcher::Runtime).unwrap());
            for (tag, step) in (1..).zip(&steps) {
                match *step {
                    Step::Push { length, urgent } => {
                        let line = line(tag as usize, length);
                        outbox.push(&Framed::from(&line), tag, urgent);
                        let place = if urgent { usize::from(begun > 0) + urgent_ones } else { waiting.len() };
                        urgent_ones += usize::from(urgent);
                        waiting.insert(place, (tag, line));
                    }
                    Step::Write => {
                        let before = outbox.backlog();
                        poll_fn(|cx| Poll::Ready(_ = outbox.poll_write(cx, &mut sink))).await;
                        let written = before - outbox.backlog();
                        in_pipe += written;
                        begun += written;
                        let mut first_is_new = begun == written;
                        while let Some((_, first)) = waiting.front() {
                            // A line counts as begun with its first byte.
                            if begun == 0 {
                                break;
                            }
                            urgent_ones -= usize::from(std::mem::replace(&mut first_is_new, true) && urgent_ones > 0);
                            if begun <= first.len() {
                                break;
                            }
                            begun -= first.len() + 1;
                            expected.extend_from_slice(first);
                            expected.push(b'\n');
                            waiting.pop_front();
                        }
                    }
                    Step::Read(most) => {
                        let mut some = vec![0; most.min(in_pipe)];
                        near.read_exact(&mut some).unwrap();
                        in_pipe -= some.len();
                        read.extend(some);
                        // Who waits for room is told by the event loop.
                        tokio::task::yield_now().await;
                    }
                }
                let total: usize = waiting.iter().map(|(_, line)| line.len() + 1).sum();
                assert_eq!(outbox.backlog(), total - begun);
            }
            outbox.unsent()
        });
        near.read_to_end(&mut read).unwrap();
        let torn = waiting.front().map_or(&[][..], |(_, line)| &line[..begun.min(line.len())]);
        expected.extend_from_slice(torn);
        prop_assert!(read == expected);
        let unsent: HashMap<u64, Bytes> = waiting.into_iter().skip(usize::from(begun > 0)).collect();
        prop_assert_eq!(left, unsent);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn lines_arrive_whole_and_in_the_order_of_their_lane(batches in proptest::collection::vec(lengths(), 1..4)) {
        let (near, far) = io::pipe().unwrap();
        let reader = thread::spawn(move || {
            let (mut near, mut all) = (File::from(std::os::fd::OwnedFd::from(near)), Vec::new());
            near.read_to_end(&mut all).map(|_| all)
        });
        let mut expected = Vec::new();
        in_runtime(async {
            let (mut outbox, mut sink) = (Outbox::default(), Sink::own_pipe(far.into(), &Watcher::Runtime).unwrap());
            for (batch, lengths) in batches.iter().enumerate() {
                let lines = lengths.iter().enumerate().map(|(at, length)| line(batch * 100 + at, *length));
                let (urgent, ordinary): (Vec<_>, Vec<_>) = lines.enumerate().partition(|(at, _)| at % 5 == 3);
                for (at, line) in urgent.iter().chain(&ordinary) {
                    expected.extend_from_slice(line);
                    expected.push(b'\n');
                    outbox.push(&Framed::from(line), 1, at % 5 == 3);
                }
                poll_fn(|cx| outbox.poll_write(cx, &mut sink)).await.unwrap();
                assert_eq!(outbox.backlog(), 0);
                assert!(outbox.unsent().is_empty());
            }
        });
        prop_assert!(reader.join().unwrap().unwrap() == expected);
    }

    #[test]
    fn what_was_never_begun_is_taken_back(lengths in lengths()) {
        let (near, far) = io::pipe().unwrap();
        let lines: Vec<_> = lengths.iter().enumerate().map(|(at, length)| line(at, *length)).collect();
        let unsent = in_runtime(async {
            let (mut outbox, mut sink) = (Outbox::default(), Sink::own_pipe(far.into(), &Watcher::Runtime).unwrap());
            for (tag, line) in (1..).zip(&lines) {
                outbox.push(&Framed::from(line), tag, false);
            }
            // Nobody reads: it writes what the pipe takes.
            poll_fn(|cx| Poll::Ready(_ = outbox.poll_write(cx, &mut sink))).await;
            outbox.unsent()
        });
        let mut written = Vec::new();
        File::from(std::os::fd::OwnedFd::from(near)).read_to_end(&mut written).unwrap();
        let mut rest = &written[..];
        for (tag, line) in (1..).zip(&lines) {
            let begun = rest.len().min(line.len() + 1);
            prop_assert!(rest[..begun] == [&line[..], b"\n"].concat()[..begun]);
            rest = &rest[begun..];
            prop_assert_eq!(unsent.get(&tag), (begun == 0).then_some(line), "line {}", tag);
        }
        prop_assert!(rest.is_empty());
    }
}

#[test]
fn an_urgent_line_passes_those_that_have_not_begun_and_never_breaks_into_one() {
    let (near, far) = io::pipe().unwrap();
    let lines = [line(0, 200_000), line(1, 10), line(2, 10), line(3, 10), line(4, 10)];
    let (mut outbox, mut written) = (Outbox::default(), Vec::new());
    in_runtime(async {
        let mut sink = Sink::own_pipe(far.into(), &Watcher::Runtime).unwrap();
        outbox.push(&Framed::from(&lines[0]), 1, false);
        outbox.push(&Framed::from(&lines[1]), 2, false);
        // Nobody reads yet: the first line begins and does not end.
        assert!(poll_fn(|cx| Poll::Ready(outbox.poll_write(cx, &mut sink))).await.is_pending());
        outbox.push(&Framed::from(&lines[2]), 3, true);
        outbox.push(&Framed::from(&lines[3]), 4, true);
        outbox.push(&Framed::from(&lines[4]), 5, false);
        let reader = thread::spawn(move || {
            let (mut near, mut all) = (File::from(std::os::fd::OwnedFd::from(near)), Vec::new());
            near.read_to_end(&mut all).map(|_| all)
        });
        poll_fn(|cx| outbox.poll_write(cx, &mut sink)).await.unwrap();
        drop(sink);
        written = reader.join().unwrap().unwrap();
    });
    let order = [0, 2, 3, 1, 4].map(|at| [&lines[at][..], b"\n"].concat()).concat();
    assert!(written == order);
}

#[test]
fn what_many_lines_took_is_given_back() {
    let (near, far) = io::pipe().unwrap();
    let reader = thread::spawn(move || File::from(std::os::fd::OwnedFd::from(near)).read_to_end(&mut Vec::new()));
    in_runtime(async {
        let (mut outbox, mut sink) = (Outbox::default(), Sink::own_pipe(far.into(), &Watcher::Runtime).unwrap());
        let line = line(1, 100);
        for lines in [10, 100_000] {
            for _ in 0..lines {
                outbox.push(&Framed::from(&line), 0, false);
            }
            poll_fn(|cx| outbox.poll_write(cx, &mut sink)).await.unwrap();
            assert!(0 < outbox.short.capacity() && outbox.short.capacity() <= KEEP, "{}", outbox.short.capacity());
            assert!(outbox.pieces.capacity() <= KEEP_PIECES, "{}", outbox.pieces.capacity());
        }
    });
    reader.join().unwrap().unwrap();
}

#[test]
fn a_queue_that_is_never_empty_does_not_keep_what_it_has_written() {
    let (near, far) = io::pipe().unwrap();
    let mut near = File::from(std::os::fd::OwnedFd::from(near));
    in_runtime(async {
        let (mut outbox, mut sink) = (Outbox::default(), Sink::own_pipe(far.into(), &Watcher::Runtime).unwrap());
        let line = line(1, 195);
        // More than the pipe holds.
        for _ in 0..1000 {
            outbox.push(&Framed::from(&line), 0, false);
        }
        for _ in 0..1000 {
            for _ in 0..20 {
                outbox.push(&Framed::from(&line), 0, false);
            }
            poll_fn(|cx| Poll::Ready(_ = outbox.poll_write(cx, &mut sink))).await;
            near.read_exact(&mut [0; 20 * 198]).unwrap();
            tokio::task::yield_now().await;
            assert!(outbox.backlog() > 0);
            assert!(outbox.short.len() <= 2 * outbox.backlog() + 2 * SHORT, "{}", outbox.short.len());
        }
    });
}

#[test]
fn a_long_line_behind_many_short_ones_does_not_have_all_of_them_looked_at_for_each_write() {
    let mut outbox = Outbox::default();
    for _ in 0..10_000 {
        outbox.push(&Framed::from(&line(1, 195)), 0, false);
    }
    outbox.push(&Framed::from(&line(2, 2 * SHORT)), 0, false);
    let (near, far) = io::pipe().unwrap();
    // It holds more than is written at once.
    nix::fcntl::fcntl(&far, nix::fcntl::FcntlArg::F_SETPIPE_SZ(1 << 20)).unwrap();
    in_runtime(async {
        let mut sink = Sink::own_pipe(far.into(), &Watcher::Runtime).unwrap();
        let written = poll_fn(|cx| outbox.write_some(cx, &mut sink)).await.unwrap();
        assert!((SOME..SOME + 2 * SHORT).contains(&written), "{written}");
    });
    drop(near);
}
