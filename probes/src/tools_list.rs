//! `tools_list`: a request that every server with tools has to answer.

use probe_api::Era;
use rmcp::model::{ConstString, ListToolsRequestMethod};

use crate::question::{self, Asking};

/// Asks for `tools/list`, in either era. Heavier than a ping, and answered by servers that drop pings.
pub type ToolsList = Asking<Question>;

/// The question of [`ToolsList`].
#[derive(Debug)]
pub struct Question;

impl question::Question for Question {
    const NAME: &'static str = "tools_list";

    fn method(_: Era) -> Option<&'static str> {
        Some(ListToolsRequestMethod::VALUE)
    }
}
