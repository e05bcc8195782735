//! How the server's processes are fenced in.

use crate::config::duration::SizeOrUnlimited;
use crate::config::error::ConfigError;
use crate::config::text::{Count, OomScoreAdj, Written};
use crate::config::{Bounds, Isolation, file};

use super::{Context, need};

pub(super) fn settle(written: &file::Server, context: &Context<'_>) -> Result<Bounds, ConfigError> {
    let limits = written.limits.as_ref();
    let isolation = need(written.isolation.clone(), "isolation")?;
    let SizeOrUnlimited(memory_max) = need(limits.and_then(|limits| limits.memory_max.clone()), "limits.memory_max")?;
    if memory_max.is_some() && isolation != Isolation::Cgroup {
        return Err(
            context.error("limits.memory_max", "takes `isolation: cgroup`: nothing else counts a tree's memory")
        );
    }
    let SizeOrUnlimited(core) = need(limits.and_then(|limits| limits.core.clone()), "limits.core")?;
    let open_files = limits.and_then(|limits| limits.open_files.clone());
    Ok(Bounds {
        isolation,
        memory_max,
        open_files: open_files.map(|Written(Count(count))| count.into()),
        core,
        oom_score_adj: written.oom_score_adj.clone().map(|Written(OomScoreAdj(number))| number),
    })
}
