//! `mcp-watchdog events [NAME] [--follow] [--since ID] [--type TYPE]... [--json]`

use clap::builder::PossibleValuesParser;
use serde_json::Value;

use super::operator::terminal::Screen;
use super::operator::{Outcome, Output, Target, Whereabouts};
use crate::events::EventKind;
use crate::exit::Exit;

mod line;

/// What was typed.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    pub(super) target: Target,

    /// Go on with what happens, instead of ending with what has happened
    #[arg(long, short)]
    follow: bool,

    /// Begin after the event of this number (`seq`) [default: all that are kept; with --follow, what is to come]
    #[arg(long, value_name = "SEQ")]
    since: Option<u64>,

    /// Only events of this type, such as server_exited; may be repeated
    #[arg(long = "type", value_name = "TYPE", value_delimiter = ',', value_parser = kinds(), hide_possible_values = true)]
    kinds: Vec<String>,

    /// Print JSON objects, one a line
    #[arg(long)]
    json: bool,
}

/// All types, and what JSON lines call the place of events that are kept no more.
fn kinds() -> PossibleValuesParser {
    EventKind::NAMES.iter().copied().chain(["gap"]).into()
}

impl Arguments {
    pub(super) async fn run(&self, there: &Whereabouts, to: &mut Output<'_>) -> Outcome {
        let watchdog = there.watchdog(self.target.name.as_deref()).await?;
        // What has happened ends with the latest that there is now.
        let last = if self.follow { None } else { Some(watchdog.info().await?.sequence) };
        let since = if self.follow { self.since } else { Some(self.since.unwrap_or_default()) };
        if last.is_some_and(|last| last <= since.unwrap_or_default()) {
            return Ok(Exit::Done);
        }
        let screen = Screen::of_stdout();
        let mut lines = watchdog.events(since).await?;
        while let Some(text) = lines.next().await? {
            let event: Value = serde_json::from_str(&text).unwrap_or_default();
            let sequence = event["seq"].as_u64();
            // It may have left the ring by now, for one that is later.
            if last.is_some_and(|last| sequence.is_some_and(|sequence| sequence > last)) {
                break;
            }
            if self.wants(&event) {
                match self.json {
                    true => writeln!(to.out, "{text}")?,
                    false => writeln!(to.out, "{}", line::text(&event, screen))?,
                }
                to.out.flush()?;
            }
            if last.is_some() && sequence == last {
                break;
            }
        }
        Ok(Exit::Done)
    }

    /// What is about no server is of interest to those of a server too if it tells that events are missing.
    fn wants(&self, event: &Value) -> bool {
        let kind = event["type"].as_str().unwrap_or_default();
        if matches!(kind, "gap" | "events_suppressed") {
            return self.since.is_some() || self.follow;
        }
        let server = self.target.name.as_deref().is_none_or(|name| event["server"].as_str() == Some(name));
        server && (self.kinds.is_empty() || self.kinds.iter().any(|wanted| wanted == kind))
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use serde_json::json;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        arguments: Arguments,
    }

    fn wants(line: &str, event: &Value) -> bool {
        let words = std::iter::once("events").chain(line.split_whitespace());
        Line::try_parse_from(words).unwrap().arguments.wants(event)
    }

    #[test]
    fn by_server_and_type() {
        let event = json!({ "type": "server_exited", "server": "a", "seq": 3 });
        assert!(wants("", &event) && wants("a", &event) && wants("a --type server_exited", &event));
        assert!(wants("--type server_starting,server_exited", &event));
        assert!(!wants("b", &event) && !wants("a --type server_starting", &event));
        assert!(!wants("a", &json!({ "type": "watchdog_started" })));
    }

    #[test]
    fn a_type_that_there_is_not_is_refused_with_those_that_there_are() {
        let error = Line::try_parse_from(["events", "--type", "server_exited,server_exitd"]).err().unwrap().to_string();
        assert!(error.starts_with("error: invalid value 'server_exitd' for '--type <TYPE>'"), "{error}");
        assert!(error.contains("tip: a similar value exists: 'server_exited'"), "{error}");
        for kind in EventKind::NAMES.iter().chain(&["gap"]) {
            assert!(
                Line::try_parse_from(["events", "--type", kind]).is_ok() && error.contains(kind),
                "{kind}: {error}"
            );
        }
    }

    #[test]
    fn what_is_missing_is_told_to_those_who_could_think_that_they_have_all() {
        let gap = json!({ "type": "gap", "data": { "since": 1, "oldest": 5 } });
        assert!(wants("a --since 1", &gap) && wants("--follow --type server_exited", &gap));
        assert!(!wants("", &gap), "who asks for all that is kept knows that it is not all");
    }
}
