//! The host's functions, as safe ones.

#![expect(unsafe_code, reason = "the border: functions and text of the host are reached by pointers")]

use std::borrow::Cow;
use std::mem::offset_of;

use crate::abi::{Check, Host, Str};

/// The host, and the check or creation that is under way.
#[derive(Debug, Clone, Copy)]
pub(super) struct Border {
    host: *const Host,
    check: *mut Check,
}

// SAFETY: the functions of a host may be called from any thread, and the check is but a handle that only they read.
unsafe impl Send for Border {}
// SAFETY: the same.
unsafe impl Sync for Border {}

/// A function of the host, where its struct reaches that far and it is not null.
macro_rules! function {
    ($border:expr, $name:ident) => {{
        let host = $border.host;
        // SAFETY: `Border::new` was promised a host, of which `size` bytes can be read.
        unsafe {
            let size = (&raw const (*host).size).read() as usize;
            let reaches = size >= offset_of!(Host, $name) + size_of::<fn()>();
            if reaches { function_at(&raw const (*host).$name) } else { None }
        }
    }};
}

/// # Safety
/// `F` is a type of functions, and one or a null can be read there.
unsafe fn function_at<F: Copy>(place: *const F) -> Option<F> {
    const { assert!(size_of::<Option<F>>() == size_of::<F>(), "the null of a function is `None`") };
    // SAFETY: promised by the caller; a function is laid out as an option of it.
    unsafe { place.cast::<Option<F>>().read() }
}

impl Border {
    /// `None` for a host that is null.
    ///
    /// # Safety
    /// What is not null is a host's struct, of which as many bytes can be read as its `size` says and which stays where it is;
    /// its functions are those of the header; `check` came with it.
    pub(super) unsafe fn new(host: *const Host, check: *mut Check) -> Option<Self> {
        (!host.is_null()).then_some(Self { host, check })
    }

    /// Sends a request; see `mcp_probe_host.call`. Gives the code and a copy of the reply. `None` if the host has no such function.
    pub(super) fn call(self, method: &str, params: &str, timeout_ms: u32) -> Option<(i32, String)> {
        let call = function!(self, call)?;
        let mut reply = Str::EMPTY;
        // SAFETY: the texts and the place of the reply outlive the call.
        let code = unsafe { call(self.check, Str::borrow(method), Str::borrow(params), timeout_ms, &raw mut reply) };
        // SAFETY: the host keeps its reply until the check returns, which is later than this.
        let reply = unsafe { text(&reply) };
        Some((code, reply.into_owned()))
    }

    /// What is left of the check's time, in milliseconds; `None` if the host does not say.
    pub(super) fn remaining_ms(self) -> Option<i64> {
        let remaining = function!(self, remaining_ms)?;
        // SAFETY: a function of the host with its own handle.
        Some(unsafe { remaining(self.check) })
    }

    /// The reason for a verdict or a refusal.
    pub(super) fn detail(self, text: &str) {
        if let Some(detail) = function!(self, detail) {
            // SAFETY: the host copies the text before it returns.
            unsafe { detail(self.check, Str::borrow(text)) };
        }
    }

    /// A line for the log; `level` is one of [`abi::log`](crate::abi::log).
    pub(super) fn log(self, level: i32, text: &str) {
        if let Some(log) = function!(self, log) {
            // SAFETY: the host copies the text before it returns.
            unsafe { log(self.check, level, Str::borrow(text)) };
        }
    }
}

/// Text of the host. What is not UTF-8 in it is replaced; null is empty.
///
/// # Safety
/// Where `ptr` is not null, `len` bytes can be read there for as long as `text` is borrowed.
pub(super) unsafe fn text(text: &Str) -> Cow<'_, str> {
    if text.ptr.is_null() {
        return Cow::Borrowed("");
    }
    // SAFETY: promised by the caller.
    String::from_utf8_lossy(unsafe { std::slice::from_raw_parts(text.ptr.cast::<u8>(), text.len) })
}
