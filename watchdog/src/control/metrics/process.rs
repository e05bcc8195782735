//! What every Prometheus client tells of its own process, under the names that all of them use. What the system does not
//! say is left out.

use std::time::SystemTime;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::MetricType::{Counter, Gauge};
use prometheus_client::registry::Unit;

use super::{counter, gauge};
use crate::back::facts::own_resident_bytes;

/// This process; not those of the servers.
#[derive(Debug)]
pub(super) struct Process {
    pub(super) started: SystemTime,
}

impl Collector for Process {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> std::fmt::Result {
        if let Some(seconds) = cpu_seconds() {
            let help = "User and system CPU time of this process.";
            counter(&mut encoder.encode_descriptor("process_cpu", help, Some(&Unit::Seconds), Counter)?, seconds)?;
        }
        if let Some(bytes) = own_resident_bytes() {
            let help = "Resident memory of this process.";
            gauge(&mut encoder.encode_descriptor("process_resident_memory", help, Some(&Unit::Bytes), Gauge)?, bytes)?;
        }
        if let Some(count) = open_descriptors() {
            let help = "Open file descriptors of this process.";
            gauge(&mut encoder.encode_descriptor("process_open_fds", help, None, Gauge)?, count)?;
        }
        let started = self.started.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs_f64();
        let help = "When this process started, since 1970.";
        gauge(&mut encoder.encode_descriptor("process_start_time", help, Some(&Unit::Seconds), Gauge)?, started)
    }
}

fn cpu_seconds() -> Option<f64> {
    let usage = getrusage(UsageWho::RUSAGE_SELF).ok()?;
    let micros = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    Some(micros as f64 / 1e6)
}

/// The one by which the folder is read does not count.
fn open_descriptors() -> Option<u64> {
    let count = std::fs::read_dir("/dev/fd").ok()?.count();
    u64::try_from(count.checked_sub(1)?).ok()
}
