//! `cpu`: whether the server computes.

use std::time::Duration;

use probe_api::options::Span;
use probe_api::{ConfigError, Context, Probe, ProbeKind, Verdict, async_trait};
use serde::Deserialize;
use tokio::time::{Instant, sleep};

use crate::request::rounded;

/// The kernel counts in steps of 10 ms: in a shorter time, one step alone would look like work.
const SHORTEST: Duration = Duration::from_millis(100);

/// A server that computes is busy, whatever else it does not do; of one that does not, this link knows nothing.
#[derive(Debug)]
pub struct Cpu {
    window: Duration,
    min_share: f64,
}

/// The options of `type: cpu`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// How long the processor time is measured, within the time of the link. At least 100 ms.
    #[serde(default = "quarter_of_a_second")]
    window: Span,
    /// The share of one processor from which on the whole process tree counts as busy: 0.05 is five percent, 2 is two
    /// processors.
    #[serde(default = "one_twentieth")]
    min_share: f64,
}

fn quarter_of_a_second() -> Span {
    Span(Duration::from_millis(250))
}

/// An idle runtime's own timers and garbage collection stay well below.
fn one_twentieth() -> f64 {
    0.05
}

#[async_trait]
impl Probe for Cpu {
    async fn check(&mut self, cx: &dyn Context) -> Verdict {
        let begin = Instant::now();
        let Some(before) = cx.process().cpu_ms else { return Verdict::Unsupported };
        sleep(self.window.min(cx.remaining())).await;
        let Some(after) = cx.process().cpu_ms else { return Verdict::Unsupported };
        let elapsed = begin.elapsed();
        if elapsed < SHORTEST {
            return Verdict::Inconclusive("there was no time to measure".to_owned());
        }
        let used = Duration::from_millis(after.saturating_sub(before));
        let told = format!("used {} of processor time in {}", rounded(used), rounded(elapsed));
        if used.as_secs_f64() >= self.min_share * elapsed.as_secs_f64() {
            Verdict::Busy(told)
        } else {
            Verdict::Inconclusive(told)
        }
    }
}

impl ProbeKind for Cpu {
    const NAME: &'static str = "cpu";
    type Config = Config;

    fn new(Config { window: Span(window), min_share }: Config) -> Result<Self, ConfigError> {
        if window < SHORTEST {
            return Err(ConfigError(format!("`window` must be at least {}, not {}", Span(SHORTEST), Span(window))));
        }
        if !min_share.is_finite() || min_share <= 0.0 {
            return Err(ConfigError(format!("`min_share` must be above 0, such as 0.05, not {min_share}")));
        }
        Ok(Self { window, min_share })
    }
}

#[cfg(test)]
mod tests {
    use probe_api::ProcessFacts;
    use probe_api::testing::FakeContext;
    use serde_json::{Value, json};

    use super::*;

    fn probe(options: Value) -> Result<Cpu, ConfigError> {
        Cpu::new(serde_json::from_value(options).unwrap())
    }

    fn using(cpu_ms: [Option<u64>; 2]) -> FakeContext {
        cpu_ms.into_iter().fold(FakeContext::new(), |cx, cpu_ms| {
            let mut facts = ProcessFacts::default();
            facts.cpu_ms = cpu_ms;
            cx.seeing(facts)
        })
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_computes_is_busy() {
        let begin = Instant::now();
        let mut cpu = probe(json!({})).unwrap();
        let busy = Verdict::Busy("used 120ms of processor time in 250ms".into());
        assert_eq!(cpu.check(&using([Some(1000), Some(1120)])).await, busy);
        assert_eq!(begin.elapsed(), Duration::from_millis(250));
        let idle = Verdict::Inconclusive("used 10ms of processor time in 250ms".into());
        assert_eq!(cpu.check(&using([Some(1000), Some(1010)])).await, idle);
        let mut cpu = probe(json!({ "window": "1s", "min_share": 1.5 })).unwrap();
        assert!(matches!(cpu.check(&using([Some(0), Some(1499)])).await, Verdict::Inconclusive(_)));
        assert!(matches!(cpu.check(&using([Some(0), Some(1500)])).await, Verdict::Busy(_)));
    }

    #[tokio::test(start_paused = true)]
    async fn it_measures_no_longer_than_it_may() {
        let begin = Instant::now();
        let mut cpu = probe(json!({ "window": "1m" })).unwrap();
        let cx = using([Some(0), Some(2000)]).remaining_for(Duration::from_secs(2));
        assert_eq!(cpu.check(&cx).await, Verdict::Busy("used 2s of processor time in 2s".into()));
        assert_eq!(begin.elapsed(), Duration::from_secs(2));
        let cx = using([Some(0), Some(2000)]).remaining_for(Duration::from_millis(50));
        assert_eq!(cpu.check(&cx).await, Verdict::Inconclusive("there was no time to measure".into()));
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_not_known_is_not_judged() {
        let mut cpu = probe(json!({})).unwrap();
        assert_eq!(cpu.check(&FakeContext::new()).await, Verdict::Unsupported);
        assert_eq!(cpu.check(&using([Some(1), None])).await, Verdict::Unsupported);
        let less = Verdict::Inconclusive("used 0s of processor time in 250ms".into());
        assert_eq!(cpu.check(&using([Some(5), Some(1)])).await, less, "what has ended takes its time along");
    }

    #[test]
    fn options_that_cannot_work_are_refused() {
        let refusal = |options| probe(options).unwrap_err().0;
        assert_eq!(refusal(json!({ "window": "50ms" })), "`window` must be at least 100ms, not 50ms");
        assert_eq!(refusal(json!({ "min_share": 0 })), "`min_share` must be above 0, such as 0.05, not 0");
    }
}
