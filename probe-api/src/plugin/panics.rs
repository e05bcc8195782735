//! No panic leaves the plugin.

use std::any::Any;
use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::sync::Once;

use super::border::Border;
use crate::abi::log;

thread_local! {
    /// Where a panic of this thread is told.
    static BORDER: Cell<Option<Border>> = const { Cell::new(None) };
}

/// Runs a body, and gives the message of its panic.
///
/// State that the body left halfway is the probe's own affair: it is told by a verdict that counts for nothing.
pub(super) fn contain<T>(border: Option<Border>, body: impl FnOnce() -> T) -> Result<T, String> {
    tell_panics_to_the_host();
    let before = BORDER.replace(border);
    let outcome = panic::catch_unwind(AssertUnwindSafe(body));
    BORDER.set(before);
    outcome.map_err(|payload| {
        let text = message(&*payload).to_owned();
        // Its destructor could panic again.
        std::mem::forget(payload);
        text
    })
}

/// The default hook writes several lines, and takes a quarter of a second to name functions where `RUST_BACKTRACE` is set. A panic
/// of a thread of the probe's own still goes there.
fn tell_panics_to_the_host() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let previous = panic::take_hook();
        panic::set_hook(Box::new(move |info| match BORDER.get() {
            Some(border) => border.log(log::ERROR, &line(info)),
            None => previous(info),
        }));
    });
}

fn line(info: &PanicHookInfo<'_>) -> String {
    let text = message(info.payload());
    match info.location() {
        Some(place) => format!("panicked at {place}: {text}"),
        None => format!("panicked: {text}"),
    }
}

fn message(payload: &(dyn Any + Send)) -> &str {
    if let Some(text) = payload.downcast_ref::<&str>() {
        return text;
    }
    payload.downcast_ref::<String>().map_or("no message", String::as_str)
}
