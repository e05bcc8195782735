//! `${VAR}` and `${VAR:-default}` in `command`, `args`, `cwd` and `env`.

use std::ffi::{OsStr, OsString};

/// Replaces every reference by the variable's value. `$${` stands for a literal `${`; any other `$` for itself.
///
/// The error never holds a value: it completes "KEY: …".
pub(crate) fn expand<'a>(text: &str, lookup: impl Fn(&str) -> Option<&'a OsStr>) -> Result<OsString, String> {
    let mut out = OsString::new();
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        let (before, reference) = rest.split_at(at);
        if let Some(before) = before.strip_suffix('$') {
            out.push(before);
            out.push("${");
            rest = &reference[2..];
            continue;
        }
        out.push(before);
        let Some((inside, after)) = reference[2..].split_once('}') else {
            return Err("`${` without `}` (write `$${` for the two characters)".to_owned());
        };
        let (name, default) = inside.split_once(":-").map_or((inside, None), |(name, default)| (name, Some(default)));
        if !is_variable(name) {
            return Err("`${…}` without a variable's name in it: write `${VAR}` or `${VAR:-default}`, or `$${` for the two characters".to_owned());
        }
        match (lookup(name), default) {
            // As in a shell, `:-` also stands in for an empty value.
            (Some(value), default) if !value.is_empty() || default.is_none() => out.push(value),
            (_, Some(default)) => out.push(default),
            (_, None) => {
                return Err(format!("the variable `{name}` is not set, and has no default (`${{{name}:-default}}`)"));
            }
        }
        rest = after;
    }
    out.push(rest);
    Ok(out)
}

/// Whether a text can be the name of a variable that is referred to.
pub(crate) fn is_variable(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

#[cfg(test)]
mod tests;
