//! The client's session: what it said at its opening, what it was told, and what a new server process has to be told.

use std::hash::{DefaultHasher, Hash, Hasher};

use bytes::Bytes;
use serde::Deserialize;
use serde_json::Value;

use crate::wire::head::{Head, Method};
use crate::wire::id::IdKey;

/// How the client opened the session (wire.md, "Which era?"). The client's first request decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Era {
    /// No request yet.
    #[default]
    Unknown,
    /// Only `server/discover`: a dual-era client asks which era the server speaks.
    Probing,
    /// 2024-11-05 to 2025-11-25.
    Handshake,
    /// 2026-07-28 and later.
    Stateless,
}

/// The client's `initialize`, and what belongs to it.
#[derive(Debug, Clone)]
struct Opening {
    line: Bytes,
    told: Told,
    /// `notifications/initialized` as the client sent it.
    initialized: Option<Bytes>,
}

/// What the client was told in the answer to `initialize` (or in that to `server/discover`).
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Told {
    /// The negotiated version.
    pub protocol_version: String,
    /// The server's capabilities.
    pub capabilities: Value,
    /// Its name and version.
    pub server_info: Value,
}

impl Told {
    fn read(result: &[u8]) -> Option<Self> {
        serde_json::from_slice(result).ok()
    }

    /// Tells two handshakes apart in events; not meant to withstand an attack.
    #[must_use]
    pub fn hash(&self) -> String {
        let mut hasher = DefaultHasher::new();
        (&self.protocol_version, self.capabilities.to_string(), self.server_info.to_string()).hash(&mut hasher);
        format!("{:016x}", hasher.finish())
    }

    /// Whether the server announced that this list may change.
    #[must_use]
    pub fn list_changed(&self, kind: &str) -> bool {
        self.capabilities.get(kind).and_then(|c| c.get("listChanged")) == Some(&Value::Bool(true))
    }
}

/// How a new server's answer to the replayed `initialize` compares with what the client was told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Compatibility {
    /// The session goes on.
    Same {
        /// Whether the capabilities differ from what the client was told.
        capabilities_changed: bool,
        /// What the new server says.
        now: Told,
    },
    /// It cannot: the client is bound to another version.
    OtherVersion {
        /// What the client was told.
        told: String,
        /// What this server says.
        now: String,
    },
    /// The answer is no result of `initialize`.
    Unreadable,
}

/// What the watchdog remembers of the session.
#[derive(Debug, Default)]
pub struct Session {
    era: Era,
    /// The handshake that was answered.
    opening: Option<Opening>,
    /// One that was not answered yet. Only its answer replaces the established one.
    asked: Option<Opening>,
    level: Option<Bytes>,
    subscriptions: Vec<(Box<str>, Bytes)>,
    version: Option<String>,
    begun: bool,
    /// Whether the client has asked for something after its handshake.
    went_on: bool,
    /// Whether a server answered the client's question for its era with a result.
    discovered: bool,
    text_ids: bool,
    /// Whether the client has ever used numbers for ids, and strings.
    ids_seen: [bool; 2],
}

impl Session {
    /// How the client opened.
    #[must_use]
    pub const fn era(&self) -> Era {
        self.era
    }

    /// Whether requests of ours may be sent: a fresh server hears nothing of ours before the client's opening has fixed the
    /// era. Between a discovery that succeeded and the request that decides, only `server/discover` itself fixes nothing.
    #[must_use]
    pub const fn is_open(&self) -> bool {
        match self.era {
            Era::Unknown => false,
            Era::Probing => self.discovered,
            Era::Stateless | Era::Handshake => true,
        }
    }

    /// Whether what we send has the form of 2026-07-28.
    #[must_use]
    pub const fn is_stateless(&self) -> bool {
        matches!(self.era, Era::Stateless) || matches!(self.era, Era::Probing) && self.discovered
    }

    /// The client's `server/discover` was answered with a result.
    pub const fn discovered(&mut self) {
        self.discovered = true;
    }

    /// Whether the client has asked for its first handshake and no server has answered.
    #[must_use]
    pub const fn awaits_handshake(&self) -> bool {
        self.opening.is_none() && self.asked.is_some()
    }

    /// The protocol version that the client used last.
    #[must_use]
    pub fn version(&self) -> Option<&str> {
        self.version.as_deref()
    }

    /// Whether the client's ids are strings.
    #[must_use]
    pub const fn text_ids(&self) -> bool {
        self.text_ids
    }

    /// The id of a request that may be meant by this one, which is not in flight: careless servers give a number back as a string,
    /// or the other way round. None where the client has used ids of this kind: it may be a late answer to one of those.
    #[must_use]
    pub fn meant_by(&self, id: &IdKey) -> Option<IdKey> {
        let is_text = matches!(id, IdKey::Text(_) | IdKey::Opaque(_));
        id.alias().filter(|_| !self.ids_seen[usize::from(is_text)])
    }

    /// Whether arrays are messages: 2025-03-26, or not negotiated yet.
    #[must_use]
    pub fn batches(&self) -> bool {
        match self.knows() {
            Some(told) => told.protocol_version == "2025-03-26",
            None => self.era != Era::Stateless,
        }
    }

    /// Learns from a request of the client, before it is sent on.
    pub fn observe(&mut self, line: &[u8], head: &Head) {
        if let Some(id) = &head.id {
            self.text_ids = line.get(id.start) == Some(&b'"');
            self.ids_seen[usize::from(self.text_ids)] = true;
        }
        let stateless = head.meta_client_capabilities && head.meta_protocol_version.is_some();
        if let Some(span) = &head.meta_protocol_version {
            self.observe_version(line.get(span.clone()));
        }
        self.era = match (self.era, head.method) {
            (_, Method::Initialize) => Era::Handshake,
            (Era::Unknown | Era::Probing, Method::Discover) => Era::Probing,
            (Era::Unknown | Era::Probing, _) if stateless => Era::Stateless,
            (Era::Unknown | Era::Probing, _) => Era::Handshake,
            (era, _) => era,
        };
        self.begun = true;
        self.went_on |= self.opening.is_some() && !matches!(head.method, Method::Initialize | Method::Ping);
        if head.method == Method::Initialize {
            self.observe_opening(line);
        }
    }

    fn observe_version(&mut self, raw: Option<&[u8]>) {
        if let Some(version) = raw.and_then(|raw| serde_json::from_slice::<String>(raw).ok())
            && self.version.as_ref() != Some(&version)
        {
            self.version = Some(version);
        }
    }

    #[cold]
    fn observe_opening(&mut self, line: &[u8]) {
        self.asked = Some(Opening { line: Bytes::copy_from_slice(line), told: Told::default(), initialized: None });
    }

    /// The client sent `notifications/initialized`.
    pub fn initialized(&mut self, line: &[u8]) {
        if let Some(opening) = self.asked.as_mut().or(self.opening.as_mut()) {
            opening.initialized = Some(Bytes::copy_from_slice(line));
        }
    }

    /// The client's `initialize` was answered with a result. One that cannot be read is the client's to judge: there is a
    /// session, of which nothing is known.
    pub fn told(&mut self, result: &[u8]) {
        if let Some(mut opening) = self.asked.take() {
            opening.told = Told::read(result).unwrap_or_default();
            if !opening.told.protocol_version.is_empty() {
                self.version = Some(opening.told.protocol_version.clone());
            }
            self.opening = Some(opening);
        }
    }

    /// The client's `initialize` was answered with an error, or cancelled: what was established before still is.
    pub fn refused(&mut self) {
        self.asked = None;
        if self.opening.is_none() {
            // It may go on in the other era.
            self.era = Era::Unknown;
        }
    }

    /// Whether the client has asked for anything.
    #[must_use]
    pub const fn has_begun(&self) -> bool {
        self.begun
    }

    /// Whether the client's handshake is complete: it has sent `notifications/initialized`, or goes on as if it had.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.went_on || self.replay_initialized().is_some()
    }

    /// What the client was told.
    #[must_use]
    pub fn knows(&self) -> Option<&Told> {
        self.opening.as_ref().map(|opening| &opening.told)
    }

    /// `logging/setLevel` succeeded.
    pub fn set_level(&mut self, line: Bytes) {
        self.level = Some(line);
    }

    /// `resources/subscribe` succeeded.
    pub fn subscribed(&mut self, uri: &str, line: Bytes) {
        self.unsubscribed(uri);
        self.subscriptions.push((uri.into(), line));
    }

    /// `resources/unsubscribe` succeeded.
    pub fn unsubscribed(&mut self, uri: &str) {
        self.subscriptions.retain(|(known, _)| **known != *uri);
    }

    /// Whether the client wants to hear of changes of single resources.
    #[must_use]
    pub const fn has_subscriptions(&self) -> bool {
        !self.subscriptions.is_empty()
    }

    /// The recorded `initialize`, for a replay.
    #[must_use]
    pub fn replay_opening(&self) -> Option<&Bytes> {
        self.opening.as_ref().map(|opening| &opening.line)
    }

    /// `notifications/initialized` as the client sent it, if it has.
    #[must_use]
    pub fn replay_initialized(&self) -> Option<&Bytes> {
        self.opening.as_ref()?.initialized.as_ref()
    }

    /// The requests that give a new server the state of the session, oldest first; each needs an id of our own.
    pub fn replay_state(&self) -> impl Iterator<Item = &Bytes> {
        self.level.iter().chain(self.subscriptions.iter().map(|(_, line)| line))
    }

    /// Compares a new server's answer to the replayed `initialize` with what the client was told.
    #[must_use]
    pub fn compare(&self, result: &[u8]) -> Compatibility {
        let Some(told) = self.knows() else { return Compatibility::Unreadable };
        let now = match Told::read(result) {
            Some(now) => now,
            // As unreadable as what the client has accepted.
            None if told.protocol_version.is_empty() => Told::default(),
            None => return Compatibility::Unreadable,
        };
        if !told.protocol_version.is_empty() && told.protocol_version != now.protocol_version {
            return Compatibility::OtherVersion { told: told.protocol_version.clone(), now: now.protocol_version };
        }
        Compatibility::Same { capabilities_changed: told.capabilities != now.capabilities, now }
    }
}

#[cfg(test)]
mod tests;
