//! `file`: a heartbeat that the server writes.

use std::io::{ErrorKind, Result};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use probe_api::options::Span;
use probe_api::{ConfigError, Context, Probe, ProbeKind, Verdict, async_trait};
use serde::Deserialize;

use crate::aside::Aside;
use crate::request::rounded;

/// Looks how old a file is that a well server keeps writing or touching.
#[derive(Debug)]
pub struct File {
    path: PathBuf,
    max_age: Duration,
    look: Aside<Result<SystemTime>>,
}

/// The options of `type: file`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The file; a relative path begins at the watchdog's own working directory.
    path: PathBuf,
    /// How long ago it may have been written. A server that is younger than this is not judged: what lies there may be
    /// the file of the one before it.
    #[serde(default = "one_minute")]
    max_age: Span,
}

fn one_minute() -> Span {
    Span(Duration::from_secs(60))
}

#[async_trait]
impl Probe for File {
    async fn check(&mut self, cx: &dyn Context) -> Verdict {
        let path = self.path.clone();
        let look = move || std::fs::metadata(path)?.modified();
        let written = self.look.run(cx.remaining(), look).await.and_then(|written| written);
        let name = self.path.display();
        let fault = match written {
            Ok(written) => {
                // A time to come is a clock that was set back, and a file that was written just now at the earliest.
                let age = SystemTime::now().duration_since(written).unwrap_or_default();
                if age <= self.max_age {
                    return Verdict::Pass;
                }
                format!("{name} was written {} ago, not within {}", rounded(age), Span(self.max_age))
            }
            Err(error) if error.kind() == ErrorKind::NotFound => format!("{name} does not exist"),
            Err(error) => return Verdict::Inconclusive(format!("{name} cannot be looked at: {error}")),
        };
        if Duration::from_millis(cx.snapshot().since_start_ms) < self.max_age {
            Verdict::Inconclusive(format!("{fault}, and the server has only just been started"))
        } else {
            Verdict::Fail(fault)
        }
    }
}

impl ProbeKind for File {
    const NAME: &'static str = "file";
    type Config = Config;

    fn new(Config { path, max_age: Span(max_age) }: Config) -> std::result::Result<Self, ConfigError> {
        if path.as_os_str().is_empty() {
            return Err(ConfigError("`path` is empty: name the file that the server keeps writing".to_owned()));
        }
        if max_age.is_zero() {
            return Err(ConfigError("`max_age` must be longer than zero".to_owned()));
        }
        Ok(Self { path, max_age, look: Aside::default() })
    }
}

#[cfg(test)]
mod tests {
    use probe_api::testing::FakeContext;
    use serde_json::{Value, json};

    use super::*;

    fn probe(options: Value) -> std::result::Result<File, ConfigError> {
        File::new(serde_json::from_value(options).unwrap())
    }

    fn after(since_start_ms: u64) -> FakeContext {
        let mut snapshot = FakeContext::new().snapshot().clone();
        snapshot.since_start_ms = since_start_ms;
        FakeContext::with_snapshot(snapshot)
    }

    #[tokio::test]
    async fn the_age_of_the_file_is_the_verdict() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("beat");
        let file = std::fs::File::create(&path).unwrap();
        let mut probe = probe(json!({ "path": path })).unwrap();
        assert_eq!(probe.check(&after(60_000)).await, Verdict::Pass);
        let hour = Duration::from_secs(3600);
        file.set_modified(SystemTime::now() - hour).unwrap();
        let name = path.display();
        let Verdict::Fail(old) = probe.check(&after(60_000)).await else { panic!() };
        assert!(old.starts_with(&format!("{name} was written 1h")) && old.ends_with(" ago, not within 1m"), "{old}");
        assert!(matches!(probe.check(&after(59_999)).await, Verdict::Inconclusive(_)), "that of the server before it");
        file.set_modified(SystemTime::now() + hour).unwrap();
        assert_eq!(probe.check(&after(60_000)).await, Verdict::Pass, "a clock that was set back");
    }

    #[tokio::test]
    async fn a_file_that_is_missing_fails_once_it_should_be_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("beat");
        let mut missing = probe(json!({ "path": path, "max_age": "2s" })).unwrap();
        let told = format!("{} does not exist", path.display());
        let young = format!("{told}, and the server has only just been started");
        assert_eq!(missing.check(&after(1_999)).await, Verdict::Inconclusive(young));
        assert_eq!(missing.check(&after(2_000)).await, Verdict::Fail(told));
    }

    #[tokio::test]
    async fn a_file_that_cannot_be_looked_at_says_nothing() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("plain"), "").unwrap();
        let mut probe = probe(json!({ "path": folder.path().join("plain/below") })).unwrap();
        assert!(matches!(probe.check(&after(60_000)).await, Verdict::Inconclusive(_)));
    }

    #[test]
    fn options_that_cannot_work_are_refused() {
        let refusal = |options| probe(options).unwrap_err().0;
        assert_eq!(refusal(json!({ "path": "" })), "`path` is empty: name the file that the server keeps writing");
        assert_eq!(refusal(json!({ "path": "a", "max_age": "0s" })), "`max_age` must be longer than zero");
    }
}
