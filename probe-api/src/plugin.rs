//! A probe as a plugin: what [`declare_probe!`](crate::declare_probe) puts between a [`ProbeKind`] and the border of
//! `include/mcp_probe.h`.
//!
//! The border is C and it blocks; the trait is Rust and async. A check is driven to its end on the thread that the host calls on,
//! and nothing but the host bounds it. No panic crosses the border: it becomes `Inconclusive`, and the probe may be asked again.
//!
//! ```
//! use probe_api::{ConfigError, Context, Probe, ProbeKind, Verdict, async_trait, declare_probe, serde, serde_json};
//!
//! struct Ping;
//!
//! #[derive(serde::Deserialize)]
//! #[serde(crate = "probe_api::serde", deny_unknown_fields)]
//! struct Config {}
//!
//! #[async_trait]
//! impl Probe for Ping {
//!     async fn check(&mut self, cx: &dyn Context) -> Verdict {
//!         match cx.call("ping", serde_json::Value::Null, cx.remaining()).await {
//!             Ok(_) => Verdict::Pass,
//!             Err(error) => Verdict::Fail(error.to_string()),
//!         }
//!     }
//! }
//!
//! impl ProbeKind for Ping {
//!     const NAME: &'static str = "my-ping";
//!     type Config = Config;
//!     fn new(_config: Config) -> Result<Self, ConfigError> {
//!         Ok(Self)
//!     }
//! }
//!
//! // In a crate of `crate-type = ["cdylib"]`:
//! declare_probe!(Ping);
//! ```
//!
//! A probe that needs timers or sockets in async form brings its own runtime and enters it in its check. A panic inside the
//! arguments of a panic's message cannot be held, nor can one in a destructor during a panic: Rust aborts, and the host tells.

use std::ffi::c_char;

use crate::ProbeKind;
use crate::abi::{ABI_MAJOR, ABI_MINOR, MAGIC, Plugin};

mod border;
mod context;
mod entry;
mod executor;
mod panics;

/// Makes the library a plugin: exports `mcp_probe_plugin_v1` for a type that implements [`ProbeKind`], once in a crate.
///
/// The plugin's name is [`ProbeKind::NAME`], its version that of its crate. The crate has to be built with `panic = "unwind"`,
/// which is the default.
#[macro_export]
macro_rules! declare_probe {
    ($probe:ty $(,)?) => {
        #[cfg(not(panic = "unwind"))]
        ::core::compile_error!(
            "a probe is built with `panic = \"unwind\"`: its host could not tell a panic from a crash otherwise"
        );

        const _: () = {
            const NAME: &[::core::primitive::u8] = $crate::__terminated!(<$probe as $crate::ProbeKind>::NAME);
            const VERSION: &[::core::primitive::u8] = $crate::__terminated!(::core::env!("CARGO_PKG_VERSION"));
            const SCHEMA: &[::core::primitive::u8] =
                $crate::__terminated!(<$probe as $crate::ProbeKind>::CONFIG_SCHEMA);

            #[unsafe(export_name = "mcp_probe_plugin_v1")]
            pub static PLUGIN: $crate::abi::Plugin = $crate::plugin::descriptor::<$probe>(NAME, VERSION, SCHEMA);
        };
    };
}

/// A constant text with a NUL behind it, without an allocation.
#[doc(hidden)]
#[macro_export]
macro_rules! __terminated {
    ($text:expr) => {{
        const TEXT: &::core::primitive::str = $text;
        const BYTES: &[::core::primitive::u8] = &$crate::plugin::terminated::<{ TEXT.len() + 1 }>(TEXT);
        BYTES
    }};
}

/// A text with a NUL behind it; `N` is its length and one.
///
/// # Panics
/// At compile time: when the text contains a NUL, or `N` is something else.
#[doc(hidden)]
#[must_use]
pub const fn terminated<const N: usize>(text: &str) -> [u8; N] {
    assert!(N == text.len() + 1, "the length of the text and one");
    let mut terminated = [0; N];
    let mut at = 0;
    while at < text.len() {
        assert!(text.as_bytes()[at] != 0, "a name, version or schema ends at its first NUL");
        terminated[at] = text.as_bytes()[at];
        at += 1;
    }
    terminated
}

/// The descriptor of a plugin; the texts are NUL-terminated. An empty schema is none.
#[doc(hidden)]
#[must_use]
pub const fn descriptor<P: ProbeKind>(
    name: &'static [u8],
    version: &'static [u8],
    config_schema: &'static [u8],
) -> Plugin {
    /// Which compiler it was is not told to the code that it compiles.
    const BUILT_WITH: &[u8] = __terminated!(concat!("Rust, probe-api ", env!("CARGO_PKG_VERSION")));
    Plugin {
        magic: MAGIC,
        size: size_of::<Plugin>() as u32,
        abi_major: ABI_MAJOR,
        abi_minor: ABI_MINOR,
        min_host_minor: 0,
        flags: 0,
        reserved: 0,
        name: name.as_ptr().cast::<c_char>(),
        version: version.as_ptr().cast(),
        built_with: BUILT_WITH.as_ptr().cast(),
        create: Some(entry::create::<P>),
        check: Some(entry::check::<P>),
        destroy: Some(entry::destroy::<P>),
        config_schema: if config_schema.len() > 1 { config_schema.as_ptr().cast() } else { std::ptr::null() },
    }
}

#[cfg(test)]
mod tests;
