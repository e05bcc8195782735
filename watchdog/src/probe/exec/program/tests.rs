use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use super::*;
use crate::config::Bounds;

/// A folder with a program `check`, a plain file `notes`, and a folder `inside`.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, mode) in [("check", 0o755), ("notes", 0o644)] {
        let path = folder.path().join(name);
        fs::write(&path, "").unwrap();
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }
    fs::create_dir(folder.path().join("inside")).unwrap();
    folder
}

fn found(program: &str, path: &Path, cwd: Option<&Path>) -> Result<(), String> {
    let env = vec![("PATH".into(), path.as_os_str().to_owned())];
    find(&Command {
        program: program.into(),
        args: Vec::new(),
        cwd: cwd.map(Path::to_owned),
        env,
        bounds: Bounds::default(),
    })
}

#[test]
fn a_program_is_found_along_its_own_path_and_from_its_own_folder() {
    let folder = folder();
    let (here, nowhere) = (folder.path(), Path::new("/nowhere"));
    assert_eq!(found("check", here, None), Ok(()));
    assert_eq!(found(here.join("check").to_str().unwrap(), nowhere, None), Ok(()));
    assert_eq!(found("./check", nowhere, Some(here)), Ok(()));
    assert_eq!(found("../check", nowhere, Some(&here.join("inside"))), Ok(()));
}

#[test]
fn what_would_not_start_is_said_with_what_helps() {
    let folder = folder();
    let (here, nowhere) = (folder.path(), Path::new("/nowhere"));
    let error = |program: &str, path, cwd| found(program, path, cwd).unwrap_err();
    assert_eq!(error("check", nowhere, None), "cannot find `check` along PATH: install it, or give its whole path");
    let no_file = "cannot execute `./check`: there is no such file (PATH is not searched for a name with a slash)";
    let inside = here.join("inside");
    assert_eq!(error("./check", here, Some(&inside)), no_file);
    let denied = |name| format!("cannot execute `{name}`: permission denied; is it an executable file?");
    assert_eq!(error("notes", here, None), denied("notes"));
    assert_eq!(error("inside", here, None), denied("inside"));
    let split = "cannot find `check --all` along PATH: install it, or give its whole path; it is not split at spaces: write \
                 each argument as a word of its own, in a file as an item of a list";
    assert_eq!(error("check --all", here, None), split);
    assert!(error("./check --all", here, None).ends_with(
        "(PATH is not searched for a name with a slash); it is not split \
        at spaces: write each argument as a word of its own, in a file as an item of a list"
    ));
    let folder = error("check", here, Some(nowhere));
    assert_eq!(folder, "cannot enter the working directory `/nowhere` of `check`: No such file or directory");
}
