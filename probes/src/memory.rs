//! `memory`: whether the server has grown too large.

use probe_api::options::Size;
use probe_api::{ConfigError, Context, Probe, ProbeKind, Verdict, async_trait};
use serde::Deserialize;

const MEBIBYTE: u64 = 1 << 20;

/// Compares the resident memory of the server's process tree with a limit. While requests are in flight, a server above
/// it is busy and no failure, so that one that leaks is restarted between two calls.
///
/// Within the limit this link passes, which ends a chain of mode `any`: it belongs in one of mode `all`.
#[derive(Debug)]
pub struct Memory {
    limit: u64,
}

/// The options of `type: memory`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The most that the whole process tree may have; what its processes share counts once for each.
    limit: Size,
}

#[async_trait]
impl Probe for Memory {
    async fn check(&mut self, cx: &dyn Context) -> Verdict {
        let Some(resident) = cx.process().resident_bytes else { return Verdict::Unsupported };
        let Some(told) = memory_above(resident, self.limit) else { return Verdict::Pass };
        match cx.snapshot().in_flight {
            0 => Verdict::Fail(told),
            in_flight => Verdict::Busy(format!("{told}, with {in_flight} in flight")),
        }
    }
}

/// Says that a process tree uses more than a limit, both in bytes; `None` if it does not.
#[must_use]
pub fn memory_above(resident: u64, limit: u64) -> Option<String> {
    // Upwards, so that what is above the limit also reads so.
    let rounded = || Size(resident.div_ceil(MEBIBYTE).saturating_mul(MEBIBYTE));
    (resident > limit).then(|| format!("{} of memory in use, above the limit of {}", rounded(), Size(limit)))
}

impl ProbeKind for Memory {
    const NAME: &'static str = "memory";
    type Config = Config;

    fn new(Config { limit: Size(limit) }: Config) -> Result<Self, ConfigError> {
        if limit < MEBIBYTE {
            return Err(ConfigError(format!("`limit` must be at least {}, not {}", Size(MEBIBYTE), Size(limit))));
        }
        Ok(Self { limit })
    }
}

#[cfg(test)]
mod tests {
    use probe_api::ProcessFacts;
    use probe_api::testing::FakeContext;

    use super::*;

    fn verdict(resident_bytes: Option<u64>, in_flight: usize) -> Verdict {
        let config = Config { limit: "512MiB".parse().unwrap() };
        let mut snapshot = FakeContext::new().snapshot().clone();
        snapshot.in_flight = in_flight;
        let mut facts = ProcessFacts::default();
        facts.resident_bytes = resident_bytes;
        FakeContext::with_snapshot(snapshot).seeing(facts).check(&mut Memory::new(config).unwrap())
    }

    #[test]
    fn a_server_above_the_limit_fails_between_two_calls() {
        assert_eq!(verdict(Some(512 * MEBIBYTE), 0), Verdict::Pass);
        let told = "513MiB of memory in use, above the limit of 512MiB";
        assert_eq!(verdict(Some(512 * MEBIBYTE + 4096), 0), Verdict::Fail(told.into()));
        assert_eq!(verdict(Some(512 * MEBIBYTE + 4096), 2), Verdict::Busy(format!("{told}, with 2 in flight")));
        assert_eq!(verdict(Some(1024), 2), Verdict::Pass);
        assert_eq!(verdict(None, 0), Verdict::Unsupported);
        assert!(matches!(verdict(Some(u64::MAX), 0), Verdict::Fail(_)));
    }

    #[test]
    fn a_limit_that_no_server_could_keep_is_refused() {
        let refusal = Memory::new(Config { limit: Size(512) }).unwrap_err().0;
        assert_eq!(refusal, "`limit` must be at least 1MiB, not 512B");
    }
}
