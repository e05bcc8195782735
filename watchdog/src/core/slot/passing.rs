//! Lines on their way through the core: nearly all of them leave it as they came, and are not even owned here.

use std::ops::Deref;

use bytes::Bytes;

use super::Effect;
use crate::wire::framed::Framed;
use crate::wire::head::{self, Scan, Shapes};

/// A line in the hands of the core.
#[derive(Debug, Clone, Copy)]
pub(super) enum Passing<'a> {
    /// The one that the core was given, and that who gave it still has.
    Given(&'a Framed<'a>),
    /// Another one: a part of it, or one that has waited here.
    Kept(&'a Bytes),
}

impl Passing<'_> {
    /// [`Framed::scan_into`].
    #[inline]
    pub(super) fn scan_into(&self, shapes: &mut Shapes, scan: &mut Scan) {
        match self {
            Self::Given(line) => line.scan_into(shapes, scan),
            Self::Kept(line) => *scan = head::scan(line),
        }
    }

    /// [`Framed::is_utf8`].
    #[inline]
    pub(super) fn is_utf8(&self) -> bool {
        match self {
            Self::Given(line) => line.is_utf8(),
            Self::Kept(line) => head::is_utf8(line),
        }
    }

    /// The line, for who keeps it.
    #[cold]
    pub(super) fn to_bytes(self) -> Bytes {
        match self {
            Self::Given(line) => line.to_bytes(),
            Self::Kept(line) => line.clone(),
        }
    }
}

impl Deref for Passing<'_> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match self {
            Self::Given(line) => line,
            Self::Kept(line) => line,
        }
    }
}

/// A line that leaves the core.
#[derive(Debug, PartialEq, Eq)]
pub enum Outgoing {
    /// The one that the core was given when it decided this, unchanged.
    Given,
    /// Another one.
    Made(Bytes),
}

impl Outgoing {
    /// Its bytes, where the core was given this line.
    pub(super) fn into_bytes(self, given: &Bytes) -> Bytes {
        match self {
            Self::Given => given.clone(),
            Self::Made(line) => line,
        }
    }
}

impl From<Bytes> for Outgoing {
    fn from(line: Bytes) -> Self {
        Self::Made(line)
    }
}

impl From<Passing<'_>> for Outgoing {
    #[inline]
    fn from(line: Passing<'_>) -> Self {
        match line {
            Passing::Given(_) => Self::Given,
            Passing::Kept(line) => Self::Made(line.clone()),
        }
    }
}

/// Makes effects last longer than the line that the core was given.
#[cold]
#[inline(never)]
pub fn keep_given(effects: &mut [Effect], given: &Framed<'_>) {
    for effect in effects {
        if let Effect::Deliver(line) | Effect::Forward { line, .. } = effect
            && *line == Outgoing::Given
        {
            *line = Outgoing::Made(given.to_bytes());
        }
    }
}
