//! The options of `type: http`.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::RangeInclusive;

use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use hyper::http::uri::{PathAndQuery, Scheme};
use hyper::{Method, Uri};
use probe_api::ConfigError;
use probe_api::options::quoted;
use serde::Deserialize;
use serde::de::{Deserializer, Error, SeqAccess, Unexpected, Visitor};

use crate::address::Address;

/// The options of `type: http`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// `http://HOST[:PORT][/PATH]`.
    url: String,
    /// The statuses that are well: a number, a range such as `200-399`, or a list of both.
    #[serde(default)]
    pub(super) status: Statuses,
    /// `GET` or `HEAD`.
    #[serde(default)]
    method: Verb,
    /// Further headers, and others in place of our own.
    #[serde(default)]
    headers: BTreeMap<String, String>,
}

/// Without values of headers, which may be secrets.
impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<_> = self.headers.keys().collect();
        let mut all = f.debug_struct("Config");
        all.field("url", &self.url).field("status", &self.status).field("method", &self.method);
        all.field("headers", &headers).finish()
    }
}

/// Requests that change nothing.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
enum Verb {
    #[default]
    Get,
    Head,
}

/// What a URL says, taken apart.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) address: Address,
    /// Host and port as they were written.
    pub(super) authority: String,
    /// Path and query.
    pub(super) uri: Uri,
}

impl Config {
    pub(super) fn method(&self) -> Method {
        match self.method {
            Verb::Get => Method::GET,
            Verb::Head => Method::HEAD,
        }
    }

    pub(super) fn target(&self) -> Result<Target, ConfigError> {
        let refused = |why: &str| ConfigError(format!("`url` {why}"));
        let form = "must have the form http://HOST:PORT/PATH";
        let uri: Uri = self.url.trim().parse().map_err(|error| refused(&format!("{form} ({error})")))?;
        match uri.scheme() {
            Some(scheme) if *scheme == Scheme::HTTP => {}
            Some(scheme) if *scheme == Scheme::HTTPS => {
                return Err(refused(
                    "is https, which this probe does not speak: use a link of `type: exec` that runs curl",
                ));
            }
            _ => return Err(refused(form)),
        }
        let authority =
            uri.authority().filter(|authority| !authority.host().is_empty()).ok_or_else(|| refused(form))?;
        if authority.as_str().contains('@') {
            return Err(refused("must not have a user and password: set the header `Authorization`"));
        }
        let port = match authority.as_str().strip_prefix(authority.host()) {
            None | Some("") => 80,
            Some(_) => {
                authority.port_u16().filter(|port| *port != 0).ok_or_else(|| refused("has a port that is none"))?
            }
        };
        let path = uri.path_and_query().cloned().unwrap_or_else(|| PathAndQuery::from_static("/"));
        Ok(Target {
            address: Address::new(authority.host(), port),
            authority: authority.as_str().to_owned(),
            uri: Uri::from(path),
        })
    }

    pub(super) fn headers(&self) -> Result<HeaderMap, ConfigError> {
        let mut map = HeaderMap::new();
        for (name, value) in &self.headers {
            let key = HeaderName::try_from(name.as_str())
                .map_err(|_| ConfigError(format!("`headers`: {} is not the name of a header", quoted(name))))?;
            // The value is not quoted: it may be a secret.
            let mut value = HeaderValue::try_from(value.as_str())
                .map_err(|_| ConfigError(format!("`headers`: the value of {} has control characters", quoted(name))))?;
            value.set_sensitive(true);
            map.insert(key, value);
        }
        Ok(map)
    }
}

/// A set of HTTP statuses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Statuses(Vec<RangeInclusive<u16>>);

impl Default for Statuses {
    /// As the kubelet has it: a redirect is an answer too.
    fn default() -> Self {
        Self(vec![200..=399])
    }
}

impl Statuses {
    pub(super) fn contains(&self, status: u16) -> bool {
        self.0.iter().any(|range| range.contains(&status))
    }
}

impl fmt::Display for Statuses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, range) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { ", " };
            match (range.start(), range.end()) {
                (first, last) if first == last => write!(f, "{separator}{first}")?,
                (first, last) => write!(f, "{separator}{first}-{last}")?,
            }
        }
        Ok(())
    }
}

impl<'de> Deserialize<'de> for Statuses {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(StatusVisitor)
    }
}

struct StatusVisitor;

impl<'de> Visitor<'de> for StatusVisitor {
    type Value = Statuses;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a status such as 200, a range such as 200-399, or a list of these")
    }

    fn visit_u64<E: Error>(self, status: u64) -> Result<Statuses, E> {
        self.visit_str(&status.to_string())
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Statuses, E> {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let number = |text: &str| text.trim().parse::<u16>().ok().filter(|status| (100..=599).contains(status));
        match number(first).zip(number(last)) {
            Some((first, last)) if first <= last => Ok(Statuses(vec![first..=last])),
            _ => Err(E::invalid_value(Unexpected::Str(text), &self)),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Statuses, A::Error> {
        let mut all = Vec::new();
        while let Some(Statuses(ranges)) = items.next_element()? {
            all.extend(ranges);
        }
        if all.is_empty() {
            return Err(A::Error::invalid_length(0, &self));
        }
        Ok(Statuses(all))
    }
}
