//! The functions that a plugin may call, as `mcp_probe.h` has them. Each takes what it is given apart and goes to the table.

use std::sync::OnceLock;

use probe_api::abi::{ABI_MAJOR, ABI_MINOR, Check, Host, LONGEST_TEXT, Str, call};
use serde_json::value::RawValue;

use super::message::LONGEST_PARAMS;
use super::table::Table;

/// What the functions act upon: C gives them nothing of ours.
static TABLE: OnceLock<Table> = OnceLock::new();

/// What a plugin gets.
pub(super) static HOST: Host = Host {
    size: size_of::<Host>() as u32,
    abi_major: ABI_MAJOR,
    abi_minor: ABI_MINOR,
    call: ask,
    remaining_ms,
    detail,
    log,
};

/// Makes the table known to the functions, once.
pub(super) fn serve(table: Table) -> &'static Table {
    TABLE.get_or_init(|| table)
}

/// The number that a handle is.
fn number(check: *mut Check) -> usize {
    check.addr()
}

/// The handle of a number.
pub(super) const fn handle(number: usize) -> *mut Check {
    std::ptr::without_provenance_mut(number)
}

/// The bytes of a text, at most so many. `None` where it is said to lie at no address.
///
/// # Safety
/// The text lies where it says, for as long as the result is used.
unsafe fn bytes<'a>(text: Str, most: usize) -> Option<&'a [u8]> {
    match (text.ptr.is_null(), text.len) {
        (_, 0) => Some(&[]),
        (true, _) => None,
        // SAFETY: the caller's promise; no more of it is read than there is.
        (false, length) => Some(unsafe { std::slice::from_raw_parts(text.ptr.cast(), length.min(most)) }),
    }
}

/// A text for people, cut and mended.
///
/// # Safety
/// As for [`bytes`].
unsafe fn words(text: Str) -> Option<String> {
    // SAFETY: the caller's promise.
    unsafe { bytes(text, LONGEST_TEXT) }.map(|bytes| String::from_utf8_lossy(bytes).into_owned())
}

/// A method and its parameters. `None` is what cannot be sent.
///
/// # Safety
/// As for [`bytes`].
unsafe fn request(method: Str, params: Str) -> Option<(String, Option<Box<RawValue>>)> {
    if method.len > LONGEST_TEXT || params.len > LONGEST_PARAMS {
        return None;
    }
    // SAFETY: the caller's promise.
    let (method, params) = unsafe { (bytes(method, LONGEST_TEXT)?, bytes(params, LONGEST_PARAMS)?) };
    let method = std::str::from_utf8(method).ok().filter(|method| !method.is_empty())?;
    let params = match params {
        [] => None,
        json => Some(serde_json::from_slice(json).ok()?),
    };
    Some((method.to_owned(), params))
}

unsafe extern "C" fn ask(check: *mut Check, method: Str, params: Str, timeout_ms: u32, reply: *mut Str) -> i32 {
    // SAFETY: the header wants both to be readable while this runs.
    let request = unsafe { request(method, params) };
    let (code, json) = match (request, TABLE.get()) {
        (Some((method, params)), Some(table)) => table.call(number(check), &method, params, timeout_ms),
        _ => (call::INVALID, Str::EMPTY),
    };
    if !reply.is_null() {
        // SAFETY: where it is not null, the header wants it to be a place for an answer.
        unsafe { reply.write(json) };
    }
    code
}

unsafe extern "C" fn remaining_ms(check: *mut Check) -> i64 {
    TABLE.get().map_or(0, |table| table.remaining_ms(number(check)))
}

unsafe extern "C" fn detail(check: *mut Check, text: Str) {
    // SAFETY: the header wants it to be readable while this runs.
    if let (Some(text), Some(table)) = (unsafe { words(text) }, TABLE.get()) {
        table.detail(number(check), text);
    }
}

unsafe extern "C" fn log(check: *mut Check, level: i32, text: Str) {
    // SAFETY: the header wants it to be readable while this runs.
    if let (Some(text), Some(table)) = (unsafe { words(text) }, TABLE.get()) {
        table.log(number(check), level, text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strange_texts_are_cut_and_mended() {
        // SAFETY: all of these lie where they say, or nowhere.
        let words = |text: Str| unsafe { words(text) };
        assert_eq!(words(Str::borrow("a")).as_deref(), Some("a"));
        assert_eq!(words(Str::EMPTY).as_deref(), Some(""));
        assert_eq!(words(Str { ptr: std::ptr::null(), len: 5 }), None);
        assert_eq!(words(Str { ptr: b"a\xff".as_ptr().cast(), len: 2 }).as_deref(), Some("a\u{fffd}"));
        let long = "x".repeat(LONGEST_TEXT + 1);
        assert_eq!(words(Str::borrow(&long)).unwrap().len(), LONGEST_TEXT);
    }

    #[test]
    fn only_json_is_sent() {
        let ask = |method: &str, params: &str| {
            // SAFETY: both are texts.
            let asked = unsafe { request(Str::borrow(method), Str::borrow(params)) };
            asked.map(|(method, params)| (method, params.map(|params| params.get().to_owned())))
        };
        assert_eq!(ask("ping", ""), Some(("ping".into(), None)));
        assert_eq!(ask("ping", "{\"a\" :1}"), Some(("ping".into(), Some("{\"a\" :1}".into()))));
        assert_eq!(ask("ping", "{"), None);
        assert_eq!(ask("ping", "{} x"), None);
        assert_eq!(ask("", ""), None);
        assert_eq!(ask(&"m".repeat(LONGEST_TEXT + 1), ""), None);
        assert_eq!(ask("ping", &format!("\"{}\"", "x".repeat(LONGEST_PARAMS))), None);
    }

    #[test]
    fn handles_are_numbers() {
        for given in [0, 1, usize::MAX] {
            assert_eq!(number(handle(given)), given);
        }
    }
}
