//! `discover`: the sign of life of the revisions without a session.

use probe_api::Era;
use rmcp::model::{ConstString, DiscoverRequestMethod};

use crate::question::{self, Asking};

/// Asks for `server/discover`; a handshake session does not have it.
pub type Discover = Asking<Question>;

/// The question of [`Discover`].
#[derive(Debug)]
pub struct Question;

impl question::Question for Question {
    const NAME: &'static str = "discover";

    fn method(era: Era) -> Option<&'static str> {
        (era == Era::Stateless).then_some(DiscoverRequestMethod::VALUE)
    }
}
