//! A generation of which nothing could be started. It says so in its turn, as one that ends does, and gives back all that it
//! was to be given.

use std::collections::HashMap;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;

use super::runtime::{News, Runtime};
use crate::exit::Exit;
use crate::wire::framed::Framed;
use crate::wire::lines::Line;

/// What stands in its place until that is known.
#[derive(Debug)]
pub(crate) struct NotStarted {
    why: Option<String>,
    gone: bool,
    unsent: HashMap<u64, Bytes>,
}

impl NotStarted {
    pub(crate) fn because(why: String) -> Self {
        Self { why: Some(why), gone: false, unsent: HashMap::new() }
    }
}

impl Runtime for NotStarted {
    fn poll_news(&mut self, _: &mut Context<'_>, _: bool) -> Poll<News> {
        if let Some(why) = self.why.take() {
            return Poll::Ready(News::CannotStart { why, exit: Exit::Internal, may_have_run: false });
        }
        if std::mem::replace(&mut self.gone, true) {
            return Poll::Pending;
        }
        Poll::Ready(News::Gone { survivors: Vec::new() })
    }

    fn next_line(&mut self) -> Option<Line<'_>> {
        None
    }

    fn send(&mut self, line: &Framed<'_>, tag: u64, _: bool) {
        if tag != 0 {
            self.unsent.insert(tag, line.to_bytes());
        }
    }

    fn flush(&mut self, _: &mut Context<'_>) {}

    fn backlog(&self) -> usize {
        0
    }

    fn stop(&mut self, _: bool, _: Duration, _: Duration) -> HashMap<u64, Bytes> {
        std::mem::take(&mut self.unsent)
    }

    fn kill(&mut self) {}
}
