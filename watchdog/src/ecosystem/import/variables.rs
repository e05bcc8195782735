//! The clients' ways to refer to a value that is known only where a server is started, in ours.

use crate::config::expand::is_variable;

/// The text with each reference as `${VAR}` or `${VAR:-default}`.
///
/// Claude Code writes them so already; Cursor and VS Code write `${env:VAR}`, `${userHome}` and `${workspaceFolder}`.
///
/// # Errors
/// When a reference has no meaning without the client: a question to the user, a setting of the editor, an unknown folder.
pub(super) fn convert(text: &str, workspace: Option<&str>) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        let (before, reference) = rest.split_at(at);
        if before.ends_with('$') {
            return Err("`$${` means different things to different clients; write it by hand".to_owned());
        }
        out.push_str(before);
        let Some((inside, after)) = reference[2..].split_once('}') else {
            // To the clients this is text. To us it would be an unfinished reference.
            out.push('$');
            out.push_str(reference);
            return Ok(out);
        };
        out.push_str(&one(inside, workspace)?);
        rest = after;
    }
    out.push_str(rest);
    Ok(out)
}

fn one(inside: &str, workspace: Option<&str>) -> Result<String, String> {
    let folder = || {
        workspace
            .map(literal)
            .ok_or_else(|| format!("`${{{inside}}}` is not known here; give the folder with --workspace"))
    };
    let named = inside.split_once(":-").map_or(inside, |(name, _)| name);
    if let Some(variable) = inside.strip_prefix("env:") {
        let named = variable.split_once(":-").map_or(variable, |(name, _)| name);
        return match is_variable(named) {
            true => Ok(format!("${{{variable}}}")),
            false => Err(format!("`${{env:{variable}}}` does not name a variable")),
        };
    }
    match inside {
        "userHome" => Ok("${HOME}".to_owned()),
        "workspaceFolder" | "workspaceRoot" => folder(),
        "workspaceFolderBasename" => {
            folder().map(|path| path.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_owned())
        }
        "pathSeparator" | "/" => Ok("/".to_owned()),
        _ if inside.starts_with("input:") => Err(format!(
            "`${{{inside}}}` is a question to the user, which nobody could answer here; use a variable of the environment"
        )),
        _ if is_variable(named) => Ok(format!("${{{inside}}}")),
        _ if inside.contains(':') => Err(format!("`${{{inside}}}` is known to the client alone; write its value")),
        _ => Ok(literal(&format!("${{{inside}}}"))),
    }
}

/// A text that is to stand for itself.
fn literal(text: &str) -> String {
    text.replace("${", "$${")
}
