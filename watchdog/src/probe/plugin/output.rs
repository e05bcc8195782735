//! What a plugin prints, on its way to the log.

use std::os::fd::OwnedFd;
use std::time::Duration;

use bytes::BytesMut;
use tokio::time::{Instant, sleep_until};

use crate::probe_host::allowance::Allowance;
use crate::stream::{Source, StderrTail};
use crate::telemetry::LogHandle;

/// Room for one read, in bytes.
const READ: usize = 16 * 1024;
/// What is read in one [`WINDOW`]; a plugin that prints more waits, and its neighbours do not.
const MOST: usize = 256 * 1024;
const WINDOW: Duration = Duration::from_secs(1);

/// Reads to the end, which comes when every process that may print has ended.
pub(super) async fn read(pipe: OwnedFd, plugin: String, log: LogHandle) {
    let Ok(mut source) = Source::own_pipe(pipe) else { return };
    let mut lines = StderrTail::new();
    let mut allowance = Allowance::new(std::time::Instant::now());
    let mut buffer = BytesMut::new();
    let mut window = (Instant::now(), 0);
    loop {
        buffer.clear();
        buffer.reserve(READ);
        let read = std::future::poll_fn(|cx| source.poll_read(cx, &mut buffer)).await;
        match read {
            Ok(length) if length > 0 => window.1 += length,
            _ => return lines.finish(|line| tell(&mut allowance, &log, &plugin, line)),
        }
        lines.push(&buffer, |line| tell(&mut allowance, &log, &plugin, line));
        if window.0.elapsed() >= WINDOW {
            window = (Instant::now(), 0);
        } else if window.1 > MOST {
            sleep_until(window.0 + WINDOW).await;
            window = (Instant::now(), 0);
        }
    }
}

fn tell(allowance: &mut Allowance, log: &LogHandle, plugin: &str, line: &[u8]) {
    let Some(left_out) = allowance.admit(std::time::Instant::now()) else { return };
    if left_out > 0 {
        tracing::warn!(target: "mcp", plugin, "{left_out} lines that the plugin printed were left out: too many");
    }
    log.probe_line(plugin, line);
}
