use std::future::poll_fn;
use std::io::{self, PipeWriter, Read, Write};

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use tokio::time::advance;

use super::*;
use crate::config::{LogFormat, LogLevel};

/// A pipe that takes what fits and no more, and what reads it.
fn printed(log: LogHandle) -> (Printed, PipeWriter) {
    let (read, write) = io::pipe().unwrap();
    fcntl(&write, FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).unwrap();
    (Printed::new(read.into(), "p".to_owned(), log).unwrap(), write)
}

/// Fills the pipe with short lines, as `yes` does. How many bytes were taken.
fn fill(pipe: &mut PipeWriter) -> usize {
    let mut written = 0;
    while let Ok(length) = pipe.write(b"y\ny\ny\ny\ny\ny\ny\ny\n".repeat(256).as_slice()) {
        written += length;
    }
    written
}

async fn poll_once(printed: &mut Printed) -> Poll<()> {
    poll_fn(|cx| Poll::Ready(printed.poll(cx))).await
}

#[tokio::test(start_paused = true)]
async fn a_poll_reads_a_piece_and_a_second_a_number_of_pieces() {
    let (mut printed, mut pipe) = printed(LogHandle::discard());
    fill(&mut pipe);
    for _ in 0..2 {
        let mut read = 0;
        for _ in 0..2 * MOST / READ {
            assert!(poll_once(&mut printed).await.is_pending());
            let taken = fill(&mut pipe);
            assert!(taken <= READ, "{taken} bytes in one poll");
            read += taken;
        }
        assert_eq!(read, MOST, "the writer waits for the rest of the second");
        advance(WINDOW).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_is_left_alone_comes_to_the_end() {
    let (mut printed, mut pipe) = printed(LogHandle::discard());
    fill(&mut pipe);
    drop(pipe);
    poll_fn(|cx| printed.poll(cx)).await;
    assert!(poll_once(&mut printed).await.is_ready(), "for good");
}

#[tokio::test]
async fn a_flood_leaves_room_in_the_log_and_is_told_of() {
    let (mut read, write) = io::pipe().unwrap();
    let config = crate::config::Log { level: LogLevel::Info, format: LogFormat::Text };
    let log = LogHandle::start(write.into(), &config, "s").unwrap();
    let begin = std::time::Instant::now();
    let (mut printed, mut pipe) = printed(log.clone());
    let lines = fill(&mut pipe) / 2;
    printed.drain();
    drop(printed);
    let tenths = usize::try_from(begin.elapsed().as_millis() / 100).unwrap();
    drop(log);
    let mut text = String::new();
    read.read_to_string(&mut text).unwrap();
    let passed = text.lines().filter(|line| *line == "[mcp] s: probe p: y").count();
    assert!((100..=101 + tenths).contains(&passed), "{passed} lines in {tenths} tenths of a second");
    let told =
        text.lines().filter_map(|line| line.split_once("[mcp] s: ")?.1.split_once(" lines that probe p printed"));
    let left_out: usize = told.map(|(number, _)| number.parse::<usize>().unwrap()).sum();
    assert_eq!(passed + left_out, lines, "{text}");
}
