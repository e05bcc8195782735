//! Loads a library and reads what it says about itself. Plugin code runs here only as far as its constructors do.

use std::ffi::{CStr, c_char, c_void};
use std::mem::{MaybeUninit, offset_of};
use std::path::Path;

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use probe_api::abi::{ABI_MAJOR, ABI_MINOR, Check, Host, LONGEST_TEXT, MAGIC, Plugin, SYMBOL, Str};

use super::message::Descriptor;
use super::trust;
use crate::exit::chain_text;

/// What a descriptor has at least: everything up to and including `check`.
const LEAST: usize = offset_of!(Plugin, check) + size_of::<usize>();
/// A longer schema is left out, in bytes.
const LONGEST_SCHEMA: usize = 256 * 1024;

/// A library that may be used.
pub(super) struct Loaded {
    /// What it does.
    pub(super) functions: Functions,
    /// What it says about itself.
    pub(super) descriptor: Descriptor,
}

/// The functions of a plugin, as [`Plugin`] describes them. Only the last one may be missing.
#[derive(Debug, Clone, Copy)]
pub(super) struct Functions {
    pub(super) create: unsafe extern "C" fn(*const Host, Str, *mut Check) -> *mut c_void,
    pub(super) check: unsafe extern "C" fn(*mut c_void, *const Host, *mut Check, Str) -> i32,
    pub(super) destroy: Option<unsafe extern "C" fn(*mut c_void)>,
}

/// Loads a library into this process, for good. The error is a sentence that names the file and the remedy.
pub(super) fn load(library: &Path, pin: Option<&str>) -> Result<Loaded, String> {
    let file = trust::accept(library, pin)?;
    let shown = library.display();
    // With RTLD_NOW a library that lacks a symbol is refused here, and does not end the process in the middle of a check; with
    // RTLD_LOCAL its symbols are its own.
    // SAFETY: its constructors may do anything, which is why this process is there for this library alone.
    let loaded = unsafe { Library::open(Some(file), RTLD_NOW | RTLD_LOCAL) };
    let handle = loaded
        .map_err(|error| format!("cannot load {shown} as a shared library of this system: {}", chain_text(&error)))?;
    // SAFETY: only the address is taken; what lies there is looked at below.
    let address = unsafe { handle.get::<*const Plugin>(SYMBOL) }.map(|symbol| *symbol);
    // Threads, thread-local destructors and exit handlers of a library outlive any use of it, so it is never unloaded.
    std::mem::forget(handle);
    let address = address
        .map_err(|_| format!("{shown} is not a probe plugin: it does not export `{SYMBOL}` (see mcp_probe.h)"))?;
    // SAFETY: the symbol is an object of a library that stays loaded.
    let (plugin, functions) = unsafe { read(address) }.map_err(|why| format!("{shown} {why}"))?;
    let name = text(plugin.name, LONGEST_TEXT).filter(|name| !name.is_empty());
    let descriptor = Descriptor {
        abi: format!("{}.{}", plugin.abi_major, plugin.abi_minor),
        name: name.ok_or_else(|| format!("{shown} has no name in its descriptor"))?,
        version: text(plugin.version, LONGEST_TEXT).unwrap_or_default(),
        built_with: text(plugin.built_with, LONGEST_TEXT),
        config_schema: text(plugin.config_schema, LONGEST_SCHEMA),
    };
    Ok(Loaded { functions, descriptor })
}

/// Reads a descriptor, with null for what it does not have. The reason goes on from the name of the file.
///
/// # Safety
/// The address is that of an object that stays, of the size that it says in the second of its fields if the first one is the
/// magic number.
unsafe fn read(address: *const Plugin) -> Result<(Plugin, Functions), String> {
    if address.is_null() {
        return Err("is not a probe plugin: its descriptor is at address 0".to_owned());
    }
    // SAFETY: every object that is called so begins with this number, whatever its version.
    let magic = unsafe { address.cast::<u64>().read_unaligned() };
    if magic != MAGIC {
        return Err(format!("is not a probe plugin: its descriptor begins with {magic:#018x} and not {MAGIC:#018x}"));
    }
    // SAFETY: the magic number promises this field.
    let size = unsafe { address.byte_add(offset_of!(Plugin, size)).cast::<u32>().read_unaligned() };
    let size = usize::try_from(size).unwrap_or(usize::MAX).min(size_of::<Plugin>());
    let mut plugin = MaybeUninit::<Plugin>::zeroed();
    // SAFETY: the object has so many bytes by its own word, and the copy has room for them.
    unsafe { address.cast::<u8>().copy_to_nonoverlapping(plugin.as_mut_ptr().cast(), size) };
    // SAFETY: all zeroes is a value of every field, and what was copied over them are integers and pointers.
    let plugin = unsafe { plugin.assume_init() };
    judge(&plugin, size).map(|functions| (plugin, functions))
}

/// What a plugin of this version and size can be used for.
fn judge(plugin: &Plugin, size: usize) -> Result<Functions, String> {
    let Plugin { abi_major, abi_minor, min_host_minor, create, check, destroy, .. } = *plugin;
    if size < offset_of!(Plugin, flags) {
        return Err(format!("has a broken descriptor of {size} bytes: rebuild it"));
    }
    if abi_major != ABI_MAJOR {
        return Err(format!(
            "speaks ABI {abi_major}.{abi_minor}, this watchdog speaks {ABI_MAJOR}.{ABI_MINOR}: rebuild it against the \
             mcp_probe.h of this version"
        ));
    }
    if min_host_minor > ABI_MINOR {
        return Err(format!(
            "needs a watchdog with ABI {abi_major}.{min_host_minor} or later, this one speaks {ABI_MAJOR}.{ABI_MINOR}: \
             update the watchdog, or rebuild the plugin for the older version"
        ));
    }
    if size < LEAST {
        return Err(format!("has a descriptor of {size} bytes, and {LEAST} are needed: rebuild it"));
    }
    let missing = |function| format!("has no `{function}` in its descriptor");
    Ok(Functions {
        create: create.ok_or_else(|| missing("create"))?,
        check: check.ok_or_else(|| missing("check"))?,
        destroy,
    })
}

/// A text of the descriptor. `None` where there is none, or where it is longer than `longest` bytes.
fn text(start: *const c_char, longest: usize) -> Option<String> {
    if start.is_null() {
        return None;
    }
    // SAFETY: the header wants these to be NUL-terminated constants. One that is not may end this process, and no other.
    let text = unsafe { CStr::from_ptr(start) };
    (text.count_bytes() <= longest).then(|| text.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests;
