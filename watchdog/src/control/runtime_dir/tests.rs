use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;

fn found(variables: &[(&str, &str)], user: u32) -> Vec<String> {
    let variable = |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| OsString::from(*value));
    places(variable, user).iter().map(|path| path.display().to_string()).collect()
}

fn us() -> u32 {
    nix::unistd::geteuid().as_raw()
}

#[test]
fn the_order_of_places() {
    let session = ("XDG_RUNTIME_DIR", "/run/user/7");
    assert_eq!(found(&[], 7), ["/tmp/mcp-watchdog-7"]);
    assert_eq!(found(&[], 0), ["/run/mcp-watchdog", "/tmp/mcp-watchdog-0"]);
    assert_eq!(found(&[session], 7), ["/run/user/7/mcp-watchdog", "/tmp/mcp-watchdog-7"]);
    assert_eq!(found(&[session, ("MCP_WATCHDOG_RUNTIME_DIR", "/x")], 0), ["/x"], "the one that is named, and no other");
    let relative = [("XDG_RUNTIME_DIR", ""), ("MCP_WATCHDOG_RUNTIME_DIR", "x")];
    assert_eq!(found(&relative, 7), ["/tmp/mcp-watchdog-7"]);
}

#[test]
fn a_missing_folder_is_made_private() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a/b");
    assert!(matches!(check(&path, us()), Err(RuntimeDirError::Unusable { .. })));
    prepare(&path, us()).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
    prepare(&path, us()).unwrap();
}

#[test]
fn folders_that_others_could_use_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    for mode in [0o755, 0o710, 0o702, 0o600] {
        let path = folder.path().join(format!("{mode:o}"));
        fs::create_dir(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let error = prepare(&path, us()).unwrap_err().to_string();
        let expected =
            format!("the runtime folder {} has mode {mode:o} and must be private; chmod 700 it", path.display());
        assert_eq!(error, expected);
    }
    let private = folder.path().join("private");
    prepare(&private, us()).unwrap();
    assert!(matches!(prepare(&private, us() + 1), Err(RuntimeDirError::Foreign { owner, .. }) if owner == us()));
}

#[test]
fn links_and_files_are_no_folders() {
    let folder = tempfile::tempdir().unwrap();
    let (target, link, dangling, file) =
        (folder.path().join("t"), folder.path().join("l"), folder.path().join("d"), folder.path().join("f"));
    prepare(&target, us()).unwrap();
    symlink(&target, &link).unwrap();
    symlink(folder.path().join("nowhere"), &dangling).unwrap();
    fs::write(&file, "").unwrap();
    for path in [&link, &dangling, &file] {
        assert!(matches!(prepare(path, us()), Err(RuntimeDirError::NoFolder(_))), "{}", path.display());
    }
    let below = file.join("x");
    assert!(matches!(prepare(&below, us()), Err(RuntimeDirError::Unusable { .. })));
}

#[test]
fn sockets_tell_their_process() {
    let folder = Path::new("/run/user/7/mcp-watchdog");
    let path = socket(folder, "files", 12);
    assert_eq!(path, folder.join("files-12.sock"));
    assert_eq!(process_of(&path), Some(12));
    assert_eq!(socket(folder, "../a b/ü", 3), folder.join("-.-a-b---3.sock"));
    assert_eq!(process_of(Path::new("/run/a-b-7.sock")), Some(7));
    for other in ["files.sock", "files-7", "files-x.sock", "7.sock", "files-7.sock.lock"] {
        assert_eq!(process_of(Path::new(other)), None, "{other}");
    }
}

#[test]
fn long_names_are_cut() {
    let path = socket(Path::new("/run/user/7/mcp-watchdog"), &"n".repeat(300), 4_294_967_295);
    assert_eq!(path.as_os_str().len(), LONGEST_SOCKET);
    assert_eq!(process_of(&path), Some(4_294_967_295));
}
