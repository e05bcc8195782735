//! The border to a plugin, as `include/mcp_probe.h` has it. That header explains the rules; a test compares the two layouts.
//!
//! Only data here. What a plugin is made of is in `plugin`; the host's side is in the watchdog.

use std::ffi::{c_char, c_void};

/// `MCP_PROBE_MAGIC`: "MCPPRBV1".
pub const MAGIC: u64 = 0x4d43_5050_5242_5631;
/// `MCP_PROBE_ABI_MAJOR`: a host loads plugins of its own major only.
pub const ABI_MAJOR: u16 = 1;
/// `MCP_PROBE_ABI_MINOR`: grows when a field or a value is added.
pub const ABI_MINOR: u16 = 0;
/// The one symbol that a plugin exports.
pub const SYMBOL: &str = "mcp_probe_plugin_v1";

/// The longest text of a detail or a log line that a host keeps, in bytes.
pub const LONGEST_TEXT: usize = 4096;

/// `mcp_str`: borrowed UTF-8.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Str {
    /// May be null where `len` is 0.
    pub ptr: *const c_char,
    /// In bytes.
    pub len: usize,
}

impl Str {
    /// No text.
    pub const EMPTY: Self = Self { ptr: std::ptr::null(), len: 0 };

    /// Borrows a text; the result must not be used after it.
    #[must_use]
    pub const fn borrow(text: &str) -> Self {
        Self { ptr: text.as_ptr().cast(), len: text.len() }
    }
}

/// What `check` returns.
pub mod verdict {
    /// `MCP_PROBE_PASS`.
    pub const PASS: i32 = 0;
    /// `MCP_PROBE_BUSY`.
    pub const BUSY: i32 = 1;
    /// `MCP_PROBE_FAIL`.
    pub const FAIL: i32 = 2;
    /// `MCP_PROBE_INCONCLUSIVE`.
    pub const INCONCLUSIVE: i32 = 3;
    /// `MCP_PROBE_UNSUPPORTED`.
    pub const UNSUPPORTED: i32 = 4;
}

/// What `call` returns.
pub mod call {
    /// `MCP_CALL_RESULT`.
    pub const RESULT: i32 = 0;
    /// `MCP_CALL_ERROR`.
    pub const ERROR: i32 = 1;
    /// `MCP_CALL_TIMEOUT`.
    pub const TIMEOUT: i32 = -1;
    /// `MCP_CALL_CANCELLED`.
    pub const CANCELLED: i32 = -2;
    /// `MCP_CALL_GONE`.
    pub const GONE: i32 = -3;
    /// `MCP_CALL_INVALID`.
    pub const INVALID: i32 = -4;
}

/// Levels of `log`.
pub mod log {
    /// `MCP_LOG_ERROR`.
    pub const ERROR: i32 = 1;
    /// `MCP_LOG_WARN`.
    pub const WARN: i32 = 2;
    /// `MCP_LOG_INFO`.
    pub const INFO: i32 = 3;
    /// `MCP_LOG_DEBUG`.
    pub const DEBUG: i32 = 4;
}

/// `mcp_check`: a handle that only its host can read.
#[repr(C)]
#[derive(Debug)]
pub struct Check {
    _opaque: [u8; 0],
}

/// `mcp_probe_host`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Host {
    /// Of this struct, in bytes, as the host knows it.
    pub size: u32,
    /// [`ABI_MAJOR`] of the host.
    pub abi_major: u16,
    /// [`ABI_MINOR`] of the host.
    pub abi_minor: u16,
    /// Sends a request to the server.
    pub call: unsafe extern "C" fn(*mut Check, Str, Str, u32, *mut Str) -> i32,
    /// Milliseconds left.
    pub remaining_ms: unsafe extern "C" fn(*mut Check) -> i64,
    /// The reason for a verdict.
    pub detail: unsafe extern "C" fn(*mut Check, Str),
    /// A line for the log.
    pub log: unsafe extern "C" fn(*mut Check, i32, Str),
}

/// `mcp_probe_plugin`.
///
/// The functions are options because a plugin's struct comes from a file: a null is possible, and is refused at load.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Plugin {
    /// [`MAGIC`].
    pub magic: u64,
    /// Of this struct, in bytes, as the plugin knows it.
    pub size: u32,
    /// [`ABI_MAJOR`] of the plugin.
    pub abi_major: u16,
    /// [`ABI_MINOR`] of the plugin.
    pub abi_minor: u16,
    /// The least [`ABI_MINOR`] of a host that it can work with.
    pub min_host_minor: u16,
    /// 0.
    pub flags: u16,
    /// 0.
    pub reserved: u32,
    /// NUL-terminated.
    pub name: *const c_char,
    /// NUL-terminated.
    pub version: *const c_char,
    /// NUL-terminated, or null.
    pub built_with: *const c_char,
    /// Makes an instance; null refuses.
    pub create: Option<unsafe extern "C" fn(*const Host, Str, *mut Check) -> *mut c_void>,
    /// Examines the server once.
    pub check: Option<unsafe extern "C" fn(*mut c_void, *const Host, *mut Check, Str) -> i32>,
    /// Ends an instance; may be null.
    pub destroy: Option<unsafe extern "C" fn(*mut c_void)>,
    /// NUL-terminated JSON Schema of the configuration, or null.
    pub config_schema: *const c_char,
}

// SAFETY: a descriptor is constant data; its pointers lead to constants of the same library.
#[expect(unsafe_code, reason = "the border: the exported descriptor is a static")]
unsafe impl Sync for Plugin {}
