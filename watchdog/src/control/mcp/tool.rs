//! The tools, as clients list them.

use std::sync::Arc;

use rmcp::model::{JsonObject, ToolAnnotations};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use schemars::transform::RestrictFormats;
use serde_json::Value;

use super::model::{Activity, Await, Named, Nothing, Retried, RetriedServers, Retry, RetryAll, Server, Servers};

/// One tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tool {
    ListServers,
    GetServerStatus,
    RetryServer,
    RetryAllServers,
    ReconnectServer,
    AwaitActivity,
    EnableServer,
    DisableServer,
}

/// What a tool does to the servers.
enum Effect {
    /// Nothing.
    Reads,
    /// Brings one up; done twice it does the same.
    Adds,
    /// May end a process, with the calls in flight there; done twice it does the same.
    Ends,
}

/// All that a client is told.
struct Outline {
    name: &'static str,
    title: &'static str,
    description: &'static str,
    effect: Effect,
    input: fn() -> JsonObject,
    output: fn() -> JsonObject,
}

impl Tool {
    /// In the order in which they are listed.
    pub(super) const ALL: [Self; 8] = [
        Self::ListServers,
        Self::GetServerStatus,
        Self::RetryServer,
        Self::RetryAllServers,
        Self::ReconnectServer,
        Self::AwaitActivity,
        Self::EnableServer,
        Self::DisableServer,
    ];

    pub(super) const fn name(self) -> &'static str {
        self.outline().name
    }

    /// Whether it switches servers on and off.
    pub(super) const fn switches(self) -> bool {
        matches!(self, Self::EnableServer | Self::DisableServer)
    }

    pub(super) fn describe(self) -> rmcp::model::Tool {
        let Outline { name, title, description, effect, input, output } = self.outline();
        let (reads, ends) = (matches!(effect, Effect::Reads), matches!(effect, Effect::Ends));
        let annotations = ToolAnnotations::with_title(title).read_only(reads).destructive(ends).open_world(false);
        rmcp::model::Tool::new(name, description, input())
            .with_title(title)
            .with_raw_output_schema(Arc::new(output()))
            .with_annotations(annotations.idempotent(true))
    }

    const fn outline(self) -> Outline {
        match self {
            Self::ListServers => Outline {
                name: "list_servers",
                title: "List servers",
                description: "All supervised MCP servers with their state, attempts, health and last error.",
                effect: Effect::Reads,
                input: input::<Nothing>,
                output: output::<Servers>,
            },
            Self::GetServerStatus => Outline {
                name: "get_server_status",
                title: "Show a server",
                description: "One supervised MCP server: its state, attempts, health, last error and exit, last probe.",
                effect: Effect::Reads,
                input: input::<Named>,
                output: output::<Server>,
            },
            Self::RetryServer => Outline {
                name: "retry_server",
                title: "Retry a server",
                description: "Starts an attempt to bring a server back now, whatever its state, with a new budget of \
                              attempts. A server that is connected is replaced, and loses the calls in flight. Answers when \
                              the attempt has begun; with wait_ms, when the server is connected.",
                effect: Effect::Ends,
                input: input::<Retry>,
                output: output::<Retried>,
            },
            Self::RetryAllServers => Outline {
                name: "retry_all_servers",
                title: "Retry all servers",
                description: "Starts an attempt now for every server that has failed for good, or for any server.",
                effect: Effect::Ends,
                input: input::<RetryAll>,
                output: output::<RetriedServers>,
            },
            Self::ReconnectServer => Outline {
                name: "reconnect_server",
                title: "Reconnect a server",
                description: "The same as retry_server, but waits up to 30 seconds for the server to be connected unless \
                              wait_ms says otherwise.",
                effect: Effect::Ends,
                input: input::<Retry>,
                output: output::<Retried>,
            },
            Self::AwaitActivity => Outline {
                name: "await_activity",
                title: "Wait for activity",
                description: "Waits until something happens to a server: it was lost, is back, failed for good, was slow. \
                              Answers with what happened and a cursor; give that to the next call to miss nothing.",
                effect: Effect::Reads,
                input: input::<Await>,
                output: output::<Activity>,
            },
            Self::EnableServer => Outline {
                name: "enable_server",
                title: "Enable a server",
                description: "Switches a server on that was disabled; it is started.",
                effect: Effect::Adds,
                input: input::<Named>,
                output: output::<Server>,
            },
            Self::DisableServer => Outline {
                name: "disable_server",
                title: "Disable a server",
                description: "Switches a server off: its processes are stopped, and its clients get errors until it is \
                              enabled.",
                effect: Effect::Ends,
                input: input::<Named>,
                output: output::<Server>,
            },
        }
    }
}

fn input<T: JsonSchema>() -> JsonObject {
    schema::<T>(SchemaSettings::draft2020_12())
}

fn output<T: JsonSchema>() -> JsonObject {
    schema::<T>(SchemaSettings::draft2020_12().for_serialize())
}

/// Validators of other languages complain of Rust's formats of numbers, and a title that is the name of a type helps nobody.
fn schema<T: JsonSchema>(settings: SchemaSettings) -> JsonObject {
    let settings = settings.with_transform(RestrictFormats::default());
    let Value::Object(mut schema) = settings.into_generator().into_root_schema_for::<T>().to_value() else {
        return JsonObject::new();
    };
    schema.remove("title");
    schema
}
