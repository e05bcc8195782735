//! The tools inside the stream of a wrapped server (`mgmt.inject`): the same ones, under names with a prefix. Those that switch
//! servers on and off are never among them.

use std::sync::Arc;

use async_trait::async_trait;
use rmcp::model::JsonObject;
use serde_json::Value;
use tokio::sync::Semaphore;

use super::tool::Tool;
use super::{Local, call};
use crate::config::Management;
use crate::control::LISTENERS;
use crate::core::inject::{Injected, failure};
use crate::engine::Handle;
use crate::slot::Toolbox;

/// The tools over the servers of this process.
struct Inside {
    backend: Local,
    prefix: String,
}

/// The tools for the streams of this process's servers, where they are wanted.
pub(crate) fn toolbox(wanted: &Management, handle: &Handle) -> Option<Arc<dyn Toolbox>> {
    let inside = || -> Arc<dyn Toolbox> {
        let backend = Local::new(handle.clone(), Arc::new(Semaphore::new(LISTENERS)));
        Arc::new(Inside { backend, prefix: wanted.tool_prefix.clone() })
    };
    wanted.inject.then(inside)
}

fn tools() -> impl Iterator<Item = Tool> {
    Tool::ALL.into_iter().filter(|tool| !tool.switches())
}

#[async_trait]
impl Toolbox for Inside {
    fn tools(&self) -> Vec<Injected> {
        let injected = |tool: Tool| {
            let name = format!("{}{}", self.prefix, tool.name());
            let mut described = tool.describe();
            described.name = name.clone().into();
            let item = serde_json::to_vec(&described).ok()?.into();
            Some(Injected { name: name.into(), tool: tool.name().into(), item })
        };
        tools().filter_map(injected).collect()
    }

    async fn call(&self, name: &str, arguments: JsonObject) -> Value {
        let Some(tool) = tools().find(|tool| tool.name() == name) else {
            return failure(&format!("invalid_arguments: there is no tool \"{name}\""));
        };
        let result = call::call(&self.backend, tool, Some(arguments)).await;
        serde_json::to_value(result)
            .unwrap_or_else(|error| failure(&format!("internal: the result cannot be written: {error}")))
    }
}
