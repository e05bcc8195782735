//! A call: arguments in, a result that a model can read and a program can use.

use std::time::Duration;

use rmcp::model::{CallToolResult, ContentBlock, JsonObject};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::activity;
use super::backend::{Backend, Failure, Found, RetriedMany, Target};
use super::model::{Await, Left, Named, Nothing, Retried, RetriedServers, Retry, RetryAll, Servers, Tried};
use super::tool::Tool;
use crate::control::limit::LONGEST;
use crate::events::EventKind;

/// How long a reconnection is waited for: longer than most servers take, shorter than the 60 s that most clients wait.
const RECONNECT: Duration = Duration::from_secs(30);

/// Calls a tool.
pub(super) async fn call(backend: &dyn Backend, tool: Tool, arguments: Option<JsonObject>) -> CallToolResult {
    match carry_out(backend, tool, arguments.unwrap_or_default()).await {
        Ok(value) => CallToolResult::structured(value),
        Err(failure) => refused(&failure),
    }
}

/// A result that is an error. It has no structured content, since that would have to look like a success.
pub(super) fn refused(failure: &Failure) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(format!("{}: {}", failure.code, failure.message))])
}

async fn carry_out(backend: &dyn Backend, tool: Tool, arguments: JsonObject) -> Result<Value, Failure> {
    match tool {
        Tool::ListServers => {
            let Nothing {} = read(tool, arguments)?;
            let Found { servers, problems } = backend.servers().await?;
            written(&Servers { servers, problems })
        }
        Tool::GetServerStatus => written(&backend.server(&named(tool, arguments)?).await?),
        Tool::RetryServer => {
            let asked: Retry = read(tool, arguments)?;
            let wait = asked.wait_ms.map(|wait| bounded("wait_ms", wait)).transpose()?;
            written(&retry(backend, &asked.target(), wait).await?)
        }
        Tool::ReconnectServer => {
            let asked: Retry = read(tool, arguments)?;
            let wait = asked.wait_ms.map_or(Ok(RECONNECT), |wait| bounded("wait_ms", wait))?;
            written(&retry(backend, &asked.target(), Some(wait)).await?)
        }
        Tool::RetryAllServers => {
            let RetryAll { state } = read(tool, arguments)?;
            written(&flat(backend.retry_all(state).await?))
        }
        Tool::AwaitActivity => {
            let Await { timeout_ms, types, cursor } = read(tool, arguments)?;
            let limit = timeout_ms.map_or(Ok(activity::USUAL), |limit| bounded("timeout_ms", limit))?;
            let cursor = cursor.as_deref().unwrap_or_default().parse().map_err(Failure::invalid)?;
            // None at all would be waited for in vain.
            let types = types.filter(|types| !types.is_empty());
            EventKind::check_names(types.iter().flatten().map(String::as_str)).map_err(Failure::invalid)?;
            let listener = backend.listen(&cursor).await?;
            written(&listener.activity(limit, types.as_deref()).await)
        }
        Tool::EnableServer => written(&backend.switch(&named(tool, arguments)?, true).await?),
        Tool::DisableServer => written(&backend.switch(&named(tool, arguments)?, false).await?),
    }
}

/// The answer of an attempt is of the moment when it began; how things are now is looked up.
async fn retry(backend: &dyn Backend, target: &Target, wait: Option<Duration>) -> Result<Retried, Failure> {
    let (watchdog, accepted) = backend.retry(target, wait).await?;
    let same = Target { name: target.name.clone(), watchdog: Some(watchdog) };
    let now = backend.server(&same).await?.status;
    Ok(Retried {
        success: true,
        server: now.name,
        watchdog,
        status: now.status,
        state: now.state,
        generation: now.generation,
        attempt: accepted.attempt,
    })
}

fn flat(retried: RetriedMany) -> RetriedServers {
    let mut all = RetriedServers { accepted: Vec::new(), skipped: Vec::new(), problems: retried.problems };
    for (watchdog, each) in retried.each {
        let tried = each.accepted.into_iter().map(|accepted| Tried {
            watchdog,
            server: accepted.server,
            state: accepted.state,
            generation: accepted.generation,
            attempt: accepted.attempt,
        });
        all.accepted.extend(tried);
        all.skipped.extend(each.skipped.into_iter().map(|skipped| Left { watchdog, skipped }));
    }
    all
}

fn named(tool: Tool, arguments: JsonObject) -> Result<Target, Failure> {
    read::<Named>(tool, arguments).map(Target::from)
}

fn read<T: DeserializeOwned>(tool: Tool, arguments: JsonObject) -> Result<T, Failure> {
    serde_json::from_value(Value::Object(arguments))
        .map_err(|error| Failure::invalid(format!("{} does not take these arguments: {error}", tool.name())))
}

fn written(result: &impl Serialize) -> Result<Value, Failure> {
    serde_json::to_value(result)
        .map_err(|error| Failure::new("internal", format!("the result cannot be written: {error}")))
}

fn bounded(argument: &str, millis: u64) -> Result<Duration, Failure> {
    let wait = Duration::from_millis(millis);
    if wait > LONGEST {
        return Err(Failure::invalid(format!("{argument} is at most {} milliseconds", LONGEST.as_millis())));
    }
    Ok(wait)
}
