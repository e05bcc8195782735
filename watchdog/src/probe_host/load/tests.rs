use std::ffi::c_void;

use super::*;

unsafe extern "C" fn create(_: *const Host, _: Str, _: *mut Check) -> *mut c_void {
    std::ptr::null_mut()
}

unsafe extern "C" fn check(_: *mut c_void, _: *const Host, _: *mut Check, _: Str) -> i32 {
    0
}

fn plugin() -> Plugin {
    Plugin {
        magic: MAGIC,
        size: u32::try_from(size_of::<Plugin>()).unwrap(),
        abi_major: ABI_MAJOR,
        abi_minor: ABI_MINOR,
        min_host_minor: 0,
        flags: 0,
        reserved: 0,
        name: c"x".as_ptr(),
        version: c"1".as_ptr(),
        built_with: std::ptr::null(),
        create: Some(create),
        check: Some(check),
        destroy: None,
        config_schema: c"{}".as_ptr(),
    }
}

fn refusal(change: impl FnOnce(&mut Plugin)) -> String {
    let mut plugin = plugin();
    change(&mut plugin);
    // SAFETY: a whole descriptor, whatever it says.
    unsafe { read(&raw const plugin) }.err().unwrap_or_default()
}

#[test]
fn a_plugin_of_any_minor_is_read() {
    assert_eq!(refusal(|_| {}), "");
    assert_eq!(refusal(|plugin| plugin.abi_minor = 900), "");
    assert_eq!(refusal(|plugin| plugin.destroy = None), "");
}

#[test]
fn versions_that_do_not_fit_are_both_named() {
    let why = refusal(|plugin| plugin.abi_major = 2);
    assert!(why.starts_with("speaks ABI 2.0, this watchdog speaks 1.0"), "{why}");
    let why = refusal(|plugin| plugin.min_host_minor = 7);
    assert!(why.starts_with("needs a watchdog with ABI 1.7 or later, this one speaks 1.0"), "{why}");
}

#[test]
fn what_is_no_descriptor_is_refused() {
    assert!(refusal(|plugin| plugin.magic = 5).contains("begins with 0x0000000000000005 and not 0x4d43505052425631"));
    assert!(refusal(|plugin| plugin.size = 0).contains("broken descriptor of 0 bytes"));
    assert!(refusal(|plugin| plugin.size = 40).contains("descriptor of 40 bytes"));
    assert_eq!(refusal(|plugin| plugin.create = None), "has no `create` in its descriptor");
    assert_eq!(refusal(|plugin| plugin.check = None), "has no `check` in its descriptor");
    // SAFETY: nothing is read there.
    assert!(unsafe { read(std::ptr::null()) }.is_err());
}

#[test]
fn nothing_is_read_beyond_what_a_plugin_says_it_has() {
    let mut short = plugin();
    short.size = u32::try_from(LEAST).unwrap();
    // SAFETY: a whole descriptor that says it is shorter.
    let (plugin, functions) = unsafe { read(&raw const short) }.unwrap();
    assert!(plugin.config_schema.is_null() && functions.destroy.is_none());
}

#[test]
fn texts_are_bounded() {
    assert_eq!(text(c"abc".as_ptr(), 3).as_deref(), Some("abc"));
    assert_eq!(text(c"abcd".as_ptr(), 3), None);
    assert_eq!(text(c"\xff".as_ptr(), 3).as_deref(), Some("\u{fffd}"));
    assert_eq!(text(std::ptr::null(), 3), None);
}
