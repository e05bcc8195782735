use super::*;

#[test]
fn the_users_settings_stay_out() {
    let is = |name: &str| is_setting(OsStr::new(name));
    assert!(is("MCP_WATCHDOG_HOLD") && is("CONNECTION_RETRY_DELAY"));
    assert!(!is("PATH") && !is("NO_COLOR"));
}

#[test]
fn the_command_line_is_whole() {
    let line = command_line();
    assert!(line.starts_with("mcp-watchdog --name=demo "), "{line}");
    assert!(line.ends_with(" -- mcp-watchdog demo --server"), "{line}");
}
