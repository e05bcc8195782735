//! Whether a group was handed over to whoever runs in it.
#![expect(unsafe_code, reason = "extended attributes have no safe form")]

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use nix::libc;

/// Whether systemd has marked the group as delegated: its users may divide it, and systemd keeps its hands off what is below
/// (systemd.resource-control(5), Delegate=). That root may write there says nothing: it may everywhere.
pub(super) fn is_delegated(group: &Path) -> bool {
    [c"user.delegate", c"trusted.delegate"].into_iter().any(|name| {
        let Ok(path) = CString::new(group.as_os_str().as_bytes()) else { return false };
        let mut value = 0_u8;
        // SAFETY: both strings end with a NUL and are alive, and the kernel writes one byte at most.
        let length =
            unsafe { libc::getxattr(path.as_ptr(), name.as_ptr(), (&raw mut value).cast(), size_of_val(&value)) };
        length == 1 && value == b'1'
    })
}
