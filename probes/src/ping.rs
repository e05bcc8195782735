//! `ping`: the cheapest sign of life.

use probe_api::Era;
use rmcp::model::{ConstString, DiscoverRequestMethod, PingRequestMethod};

use crate::question::{self, Asking};

/// Asks for `ping`, or for `server/discover` in a session of a revision that has no ping (2026-07-28).
pub type Ping = Asking<Question>;

/// The question of [`Ping`].
#[derive(Debug)]
pub struct Question;

impl question::Question for Question {
    const NAME: &'static str = "ping";

    fn method(era: Era) -> Option<&'static str> {
        Some(match era {
            Era::Handshake => PingRequestMethod::VALUE,
            Era::Stateless => DiscoverRequestMethod::VALUE,
        })
    }
}
