//! Who is told what happens to plugins.

use std::sync::Arc;
use std::time::SystemTime;

use crate::events::{Bus, Event, EventKind};

/// Gets events of plugins.
#[derive(Clone)]
pub struct Tell(Arc<dyn Fn(EventKind) + Send + Sync>);

impl Tell {
    /// This one.
    pub fn new(tell: impl Fn(EventKind) + Send + Sync + 'static) -> Self {
        Self(Arc::new(tell))
    }

    /// The bus, as of this server.
    #[must_use]
    pub fn bus(events: Bus, server: Arc<str>) -> Self {
        Self::new(move |kind| events.publish(Event::of_server(kind, server.clone(), None), SystemTime::now()))
    }

    /// Nobody.
    #[must_use]
    pub fn nobody() -> Self {
        Self::new(|_| {})
    }

    /// Tells it.
    pub fn tell(&self, kind: EventKind) {
        (self.0)(kind);
    }
}

impl std::fmt::Debug for Tell {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tell")
    }
}
