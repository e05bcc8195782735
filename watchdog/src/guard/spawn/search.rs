//! The search along PATH, as `execvpe` does it, but in the environment of the child.

use std::ffi::CString;

use crate::guard::message::Launch;

/// Where a program is looked for when the child's environment has no PATH (confstr(3), `_CS_PATH`).
const DEFAULT_PATH: &[u8] = b"/bin:/usr/bin";

/// The files to try, in order. A name with a slash is not searched for.
pub(crate) fn candidates(launch: &Launch) -> Vec<CString> {
    let Some(program) = launch.argv.first() else {
        return Vec::new();
    };
    let name = program.as_bytes();
    if name.is_empty() || name.contains(&b'/') {
        return vec![program.clone()];
    }
    let in_env = launch.env.iter().find_map(|pair| pair.as_bytes().strip_prefix(b"PATH="));
    let path = in_env.unwrap_or(DEFAULT_PATH);
    path.split(|&byte| byte == b':').filter_map(|folder| joined(folder, name)).collect()
}

/// An empty folder is the working directory.
fn joined(folder: &[u8], name: &[u8]) -> Option<CString> {
    let separator: &[u8] = if folder.is_empty() { b"" } else { b"/" };
    CString::new([folder, separator, name].concat()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::message::Limits;

    fn found(program: &str, env: &[&str]) -> Vec<String> {
        let strings = |words: &[&str]| words.iter().map(|&word| CString::new(word).unwrap()).collect();
        let limits = Limits { open_files: None, core: None, oom_score_adj: None };
        let launch = Launch { argv: strings(&[program]), env: strings(env), cwd: None, limits, placement: None };
        candidates(&launch).into_iter().map(|path| path.into_string().unwrap()).collect()
    }

    #[test]
    fn a_name_is_looked_for_in_every_folder_of_the_childs_path() {
        assert_eq!(found("x", &["HOME=/", "PATH=/a::/b/"]), ["/a/x", "x", "/b//x"]);
    }

    #[test]
    fn a_name_with_a_slash_is_taken_as_it_is() {
        assert_eq!(found("./x", &["PATH=/a"]), ["./x"]);
        assert_eq!(found("/b/x", &["PATH=/a"]), ["/b/x"]);
    }

    #[test]
    fn without_a_path_the_systems_own_is_taken() {
        assert_eq!(found("x", &["PATHS=/a"]), ["/bin/x", "/usr/bin/x"]);
    }

    #[test]
    fn an_empty_name_is_found_nowhere() {
        assert_eq!(found("", &["PATH=/bin"]), [""]);
    }
}
