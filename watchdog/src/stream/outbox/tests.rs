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
        1 => COPIED - 40..COPIED + 40,
        1 => SHORT..3 * SHORT,
        1 => Just(300_000),
    ];
    proptest::collection::vec(length, 0..60)
}

fn in_runtime<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(std::time::Duration::from_secs(20), work).await.expect("it hangs") })
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
                    outbox.push(line.clone(), 1, at % 5 == 3);
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
                outbox.push(line.clone(), tag, false);
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
        outbox.push(lines[0].clone(), 1, false);
        outbox.push(lines[1].clone(), 2, false);
        // Nobody reads yet: the first line begins and does not end.
        assert!(poll_fn(|cx| Poll::Ready(outbox.poll_write(cx, &mut sink))).await.is_pending());
        outbox.push(lines[2].clone(), 3, true);
        outbox.push(lines[3].clone(), 4, true);
        outbox.push(lines[4].clone(), 5, false);
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
