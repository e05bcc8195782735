//! `process`: whether the server's process can do anything at all.

use probe_api::{ConfigError, Context, Probe, ProbeKind, ProcessState, Verdict, async_trait};

use crate::question::NoOptions;

/// Looks at the process that was started as COMMAND. It finds only fault: that a process is there does not say that it
/// answers, so a chain in which this link comes first goes on to the links that ask.
#[derive(Debug)]
pub struct Process;

#[async_trait]
impl Probe for Process {
    async fn check(&mut self, cx: &dyn Context) -> Verdict {
        match cx.process().state {
            None => Verdict::Unsupported,
            Some(ProcessState::Stopped) => {
                Verdict::Fail("the process is stopped, by a signal or a debugger".to_owned())
            }
            Some(ProcessState::Dead) => Verdict::Fail("the process has ended".to_owned()),
            Some(_) => Verdict::Inconclusive("the process is there, which does not say that it answers".to_owned()),
        }
    }
}

impl ProbeKind for Process {
    const NAME: &'static str = "process";
    type Config = NoOptions;

    fn new(_: NoOptions) -> Result<Self, ConfigError> {
        Ok(Self)
    }
}

#[cfg(test)]
mod tests {
    use probe_api::ProcessFacts;
    use probe_api::testing::FakeContext;

    use super::*;

    fn verdict(state: Option<ProcessState>) -> Verdict {
        let mut facts = ProcessFacts::default();
        facts.state = state;
        FakeContext::new().seeing(facts).check(&mut Process)
    }

    #[test]
    fn only_a_process_that_can_do_nothing_is_condemned() {
        let stopped = Verdict::Fail("the process is stopped, by a signal or a debugger".into());
        assert_eq!(verdict(Some(ProcessState::Stopped)), stopped);
        assert_eq!(verdict(Some(ProcessState::Dead)), Verdict::Fail("the process has ended".into()));
        assert_eq!(verdict(None), Verdict::Unsupported);
        for state in [ProcessState::Running, ProcessState::Sleeping, ProcessState::Blocked] {
            assert!(matches!(verdict(Some(state)), Verdict::Inconclusive(_)), "{state:?} is not praised either");
        }
    }
}
