//! `probe`.

use serde_json::Value;

use crate::config::duration::Above;
use crate::config::error::{ConfigError, ConfigErrors};
use crate::config::file;
use crate::config::tree::Step;
use crate::config::{Link, Probe};

use super::{Context, need};

pub(super) fn settle(written: file::Probe, context: &Context<'_>) -> Result<Probe, ConfigErrors> {
    let chain = chain(written.chain.unwrap_or_default(), context)?;
    let Above(timeout) = need(written.timeout, "probe.timeout")?;
    let Above(total_timeout) = need(written.total_timeout, "probe.total_timeout")?;
    Ok(Probe {
        mode: need(written.mode, "probe.mode")?,
        timeout,
        total_timeout,
        confirmations: need(written.confirmations, "probe.confirmations")?.0,
        busy_grace: need(written.busy_grace, "probe.busy_grace")?,
        busy_max: need(written.busy_max, "probe.busy_max")?,
        on_failure: need(written.on_failure, "probe.on_failure")?,
        chain,
    })
}

fn chain(written: Vec<file::Link>, context: &Context<'_>) -> Result<Vec<Link>, ConfigErrors> {
    if written.is_empty() {
        let message =
            "needs at least one link, such as `{type: ping}`; to restart without asking, set `probe.on_failure: close`";
        return Err(context.error("probe.chain", message).into());
    }
    let mut errors: Vec<ConfigError> = Vec::new();
    let mut chain = Vec::with_capacity(written.len());
    for (index, file::Link { kind, timeout, options }) in written.into_iter().enumerate() {
        let link = Link { kind, timeout, options: Value::Object(options) };
        if let Err(message) = (context.known)(&link) {
            let path = [Step::Key("probe".to_owned()), Step::Key("chain".to_owned()), Step::Index(index)];
            errors.push(context.error_at(&path, message));
        }
        chain.push(link);
    }
    if errors.is_empty() { Ok(chain) } else { Err(ConfigErrors(errors)) }
}
