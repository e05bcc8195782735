//! Requests of the client that have come to an end, by method and outcome. Nothing here allocates or waits: it is on the way
//! of every answer.

use std::time::Duration;

use super::{Cell, Histogram};
use crate::core::slot::RequestOutcome;
use crate::wire::head::Method;

/// The outcomes, in the order of [`RequestOutcome`].
pub const OUTCOMES: [&str; 5] = ["ok", "error", "refused", "cancelled", "cached"];

/// What clients may ask, in the order of [`Method`].
const METHODS: [Method; 22] = [
    Method::None,
    Method::Other,
    Method::Initialize,
    Method::Ping,
    Method::Discover,
    Method::ToolsList,
    Method::ToolsCall,
    Method::PromptsList,
    Method::PromptsGet,
    Method::ResourcesList,
    Method::ResourcesTemplatesList,
    Method::ResourcesRead,
    Method::ResourcesSubscribe,
    Method::ResourcesUnsubscribe,
    Method::CompletionComplete,
    Method::LoggingSetLevel,
    Method::SubscriptionsListen,
    Method::TasksGet,
    Method::TasksResult,
    Method::TasksList,
    Method::TasksCancel,
    Method::TasksUpdate,
];

const METHODS_END: usize = METHODS.len();

/// The table.
#[derive(Debug, Default)]
pub struct Requests {
    rows: [Row; METHODS.len()],
}

#[derive(Debug, Default)]
struct Row {
    outcomes: [Cell; OUTCOMES.len()],
    durations: Histogram,
}

/// One method's part of the table.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// Its name on the wire, or `other`.
    pub name: &'static str,
    row: &'a Row,
}

impl Requests {
    /// A request has come to an end. `elapsed` is since it came; `None` where that says nothing.
    pub fn ended(&self, method: Method, outcome: RequestOutcome, elapsed: Option<Duration>) {
        // What no client may ask counts as any other unknown method.
        let place = match method as usize {
            known @ 1..METHODS_END => known,
            _ => Method::Other as usize,
        };
        let row = &self.rows[place];
        row.outcomes[outcome as usize].add(1);
        if let Some(elapsed) = elapsed {
            row.durations.observe(elapsed);
        }
    }

    /// The methods that were asked so far.
    pub fn asked(&self) -> impl Iterator<Item = Asked<'_>> {
        let all =
            METHODS.iter().zip(&self.rows).map(|(method, row)| Asked { name: method.name().unwrap_or("other"), row });
        all.filter(|method| method.outcomes().any(|(_, count)| count > 0))
    }
}

impl<'a> Asked<'a> {
    /// Each outcome with its number of requests.
    pub fn outcomes(self) -> impl Iterator<Item = (&'static str, u64)> + 'a {
        OUTCOMES.into_iter().zip(self.row.outcomes.iter().map(Cell::get))
    }

    /// How long they took.
    #[must_use]
    pub const fn durations(self) -> &'a Histogram {
        &self.row.durations
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_the_methods_and_outcomes() {
        for (place, method) in METHODS.into_iter().enumerate() {
            assert_eq!(method as usize, place);
        }
        use RequestOutcome as O;
        for (place, outcome) in [O::Ok, O::Error, O::Refused, O::Cancelled, O::Cached].into_iter().enumerate() {
            assert_eq!(outcome as usize, place);
            assert_eq!(format!("{outcome:?}").to_lowercase(), OUTCOMES[place]);
        }
    }
}
