//! `activity`: whether the server has written anything lately.

use std::time::Duration;

use probe_api::options::Span;
use probe_api::{ConfigError, Context, Probe, ProbeKind, Verdict, async_trait};
use serde::Deserialize;

use crate::request::rounded;

/// A server that has just written is alive, and is not asked; of one that has not, this link knows nothing.
#[derive(Debug)]
pub struct Activity {
    within: Duration,
}

/// The options of `type: activity`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// How long ago the last byte on stdout may be, at the chain's beginning.
    #[serde(default = "ten_seconds")]
    within: Span,
}

fn ten_seconds() -> Span {
    Span(Duration::from_secs(10))
}

#[async_trait]
impl Probe for Activity {
    async fn check(&mut self, cx: &dyn Context) -> Verdict {
        match cx.snapshot().last_byte_ms_ago.map(Duration::from_millis) {
            Some(ago) if ago <= self.within => Verdict::Pass,
            Some(ago) => Verdict::Inconclusive(format!("the server wrote its last byte {} ago", rounded(ago))),
            None => Verdict::Inconclusive("the server has written nothing yet".to_owned()),
        }
    }
}

impl ProbeKind for Activity {
    const NAME: &'static str = "activity";
    type Config = Config;

    fn new(Config { within: Span(within) }: Config) -> Result<Self, ConfigError> {
        if within.is_zero() {
            return Err(ConfigError("`within` must be longer than zero".to_owned()));
        }
        Ok(Self { within })
    }
}

#[cfg(test)]
mod tests {
    use probe_api::testing::FakeContext;
    use serde_json::{Value, json};

    use super::*;

    fn probe(options: Value) -> Result<Activity, ConfigError> {
        Activity::new(serde_json::from_value(options).unwrap())
    }

    fn verdict(options: Value, last_byte_ms_ago: Option<u64>) -> Verdict {
        let mut snapshot = FakeContext::new().snapshot().clone();
        snapshot.last_byte_ms_ago = last_byte_ms_ago;
        FakeContext::with_snapshot(snapshot).check(&mut probe(options).unwrap())
    }

    #[test]
    fn a_server_that_has_just_written_is_alive() {
        assert_eq!(verdict(json!({}), Some(10_000)), Verdict::Pass);
        let late = Verdict::Inconclusive("the server wrote its last byte 10.01s ago".into());
        assert_eq!(verdict(json!({}), Some(10_010)), late);
        assert_eq!(verdict(json!({ "within": "1m" }), Some(60_000)), Verdict::Pass);
        assert!(matches!(verdict(json!({ "within": 1 }), Some(1_001)), Verdict::Inconclusive(_)));
    }

    #[test]
    fn silence_condemns_nobody() {
        assert_eq!(verdict(json!({}), None), Verdict::Inconclusive("the server has written nothing yet".into()));
        assert_eq!(probe(json!({ "within": 0 })).unwrap_err().0, "`within` must be longer than zero");
    }
}
