//! Chains that are well formed but cannot do what they are there for.

use std::time::Duration;

use probe_api::options::Span;

use crate::config::{ChainMode, Link, Probe};

/// Links that look at something else than the server's answers. They pass while it hangs.
const LIMITS: [&str; 4] = ["memory", "file", "tcp", "http"];

/// Links that can tell nothing of a server that sits and does not answer, whatever they find.
const BLIND: [&str; 4] = ["activity", "cpu", "memory", "process"];

/// The one kind of link whose requests are its author's choice.
const CALLING: &str = "plugin";

/// What is probably not meant, one sentence each.
pub(super) fn on(probe: &Probe) -> Vec<String> {
    let mut advice = Vec::new();
    for (at, link) in probe.chain.iter().enumerate() {
        let link_advice = [hides_a_hang(probe, link), is_cut(probe, at, link), calls_nothing(link)];
        advice.extend(link_advice.into_iter().flatten().map(|text| format!("probe.chain[{at}]: {text}")));
    }
    if probe.chain.iter().all(|link| BLIND.contains(&link.kind.as_str())) {
        advice.push("probe.chain: no link notices that the server hangs; add `{type: ping}`".to_owned());
    }
    advice
}

fn hides_a_hang(probe: &Probe, link: &Link) -> Option<String> {
    let hides = probe.mode == ChainMode::Any && probe.chain.len() > 1 && LIMITS.contains(&link.kind.as_str());
    hides.then(|| {
        format!(
            "in `mode: any` one passing link is life, and `{}` passes also while the server hangs; with `mode: all` every \
             link has to pass",
            link.kind
        )
    })
}

/// A link may use an equal part of what is left of the whole limit, which is most where those before it have used nothing. That a chain
/// of many links cuts the usual timeout is as it should be; one of its own was meant.
fn is_cut(probe: &Probe, at: usize, link: &Link) -> Option<String> {
    let (timeout, total) = (link.timeout.unwrap_or(probe.timeout), probe.total_timeout);
    let (own, whole) = (Span(timeout), Span(total));
    if timeout > total {
        return Some(format!(
            "its timeout of {own} is never used up for an overdue call, since `probe.total_timeout` is {whole}"
        ));
    }
    let behind = probe.chain.len() - at - 1;
    let part = total / u32::try_from(behind + 1).unwrap_or(u32::MAX);
    (link.timeout.is_some() && timeout > part).then(|| {
        let links = if behind == 1 { "a link comes".to_owned() } else { format!("{behind} links come") };
        let part = Span(Duration::from_millis(u64::try_from(part.as_millis()).unwrap_or(u64::MAX)));
        format!(
            "its timeout of {own} is never used up for an overdue call: {links} behind it, and so {part} of `probe.total_timeout` \
             ({whole}) are its part"
        )
    })
}

fn calls_nothing(link: &Link) -> Option<String> {
    let idle = !link.allow_methods.is_empty() && link.kind != CALLING;
    idle.then(|| format!("`allow_methods` has no effect: `{}` sends no requests of your choice", link.kind))
}

#[cfg(test)]
mod tests;
