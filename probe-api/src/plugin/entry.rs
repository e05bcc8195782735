//! The three functions of a plugin.

#![expect(unsafe_code, reason = "the border: the host hands over pointers")]

use std::ffi::c_void;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::border::{Border, text};
use super::context::PluginContext;
use super::executor::block_on;
use super::panics::contain;
use crate::abi::{Check, Host, Str, verdict};
use crate::{ConfigError, ProbeKind, Verdict};

/// `mcp_probe_plugin.create`.
///
/// # Safety
/// The host keeps the rules of the header.
pub(super) unsafe extern "C" fn create<P: ProbeKind>(host: *const Host, config: Str, diag: *mut Check) -> *mut c_void {
    // SAFETY: the host keeps the rules of the header.
    let border = unsafe { Border::new(host, diag) };
    let made = contain(border, || {
        // SAFETY: the host lends its text for the call.
        let config = unsafe { text(&config) };
        make::<P>(&config).map(Box::new)
    });
    let why = match made {
        Ok(Ok(probe)) => return Box::into_raw(probe).cast(),
        Ok(Err(why)) => why.0,
        Err(panic) => panicked(&panic),
    };
    if let Some(border) = border {
        border.detail(&why);
    }
    std::ptr::null_mut()
}

/// `mcp_probe_plugin.check`.
///
/// # Safety
/// The host keeps the rules of the header; `probe` came from [`create`] of the same `P`, and is not in use.
pub(super) unsafe extern "C" fn check<P: ProbeKind>(
    probe: *mut c_void,
    host: *const Host,
    check: *mut Check,
    context: Str,
) -> i32 {
    // SAFETY: the host keeps the rules of the header.
    let Some(border) = (unsafe { Border::new(host, check) }) else {
        return verdict::INCONCLUSIVE;
    };
    let outcome = contain(Some(border), || {
        // SAFETY: the host lends its text for the call.
        let context = unsafe { text(&context) };
        // SAFETY: it came from `create`, and the host uses an instance on one thread.
        match unsafe { probe.cast::<P>().as_mut() } {
            Some(probe) => tell(border, &examine(probe, border, &context)),
            None => tell(border, &Verdict::Inconclusive("the host names no instance".to_owned())),
        }
    });
    outcome.unwrap_or_else(|panic| tell(border, &Verdict::Inconclusive(panicked(&panic))))
}

/// `mcp_probe_plugin.destroy`.
///
/// # Safety
/// `probe` came from [`create`] of the same `P`, and is not used again.
pub(super) unsafe extern "C" fn destroy<P: ProbeKind>(probe: *mut c_void) {
    if probe.is_null() {
        return;
    }
    // There is nobody to tell of a panic but the hook, which has told it.
    let _ = contain(None, || {
        // SAFETY: it came from `Box::into_raw` in `create`.
        drop(unsafe { Box::from_raw(probe.cast::<P>()) });
    });
}

fn make<P: ProbeKind>(config: &str) -> Result<P, ConfigError> {
    let config = serde_json::from_str(config).map_err(|error| ConfigError(format!("config: {error}")))?;
    P::new(options(config).map_err(|error| ConfigError(error.to_string()))?)
}

/// A link without `config:` has `null`, which makes `()` or an option; for a struct it means one without any field.
fn options<C: DeserializeOwned>(config: Value) -> serde_json::Result<C> {
    match config {
        Value::Null => serde_json::from_value(Value::Null).or_else(|_| serde_json::from_value(Map::new().into())),
        config => serde_json::from_value(config),
    }
}

fn examine<P: ProbeKind>(probe: &mut P, border: Border, context: &str) -> Verdict {
    match PluginContext::new(border, context) {
        Ok(context) => block_on(probe.check(&context)),
        Err(error) => Verdict::Inconclusive(format!("cannot read the context of the check: {error}")),
    }
}

/// Gives the host the reason, and its caller the code.
fn tell(border: Border, verdict: &Verdict) -> i32 {
    let (code, why) = match verdict {
        Verdict::Pass => (verdict::PASS, None),
        Verdict::Busy(why) => (verdict::BUSY, Some(why)),
        Verdict::Fail(why) => (verdict::FAIL, Some(why)),
        Verdict::Inconclusive(why) => (verdict::INCONCLUSIVE, Some(why)),
        Verdict::Unsupported => (verdict::UNSUPPORTED, None),
    };
    if let Some(why) = why {
        border.detail(why);
    }
    code
}

fn panicked(message: &str) -> String {
    format!("the probe panicked: {message}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn null_is_whatever_the_configuration_can_be_made_of() {
        assert_eq!(options::<Option<u8>>(Value::Null).unwrap(), None);
        options::<()>(Value::Null).unwrap();
        assert_eq!(options::<std::collections::BTreeMap<String, u8>>(Value::Null).unwrap().len(), 0);
        assert!(options::<u8>(Value::Null).is_err());
    }
}
