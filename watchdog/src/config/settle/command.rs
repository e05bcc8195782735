//! What is started: command, arguments, folder and environment.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::config::error::ConfigError;
use crate::config::expand::expand;
use crate::config::text::Written;
use crate::config::tree::Step;
use crate::config::tree::place::Target;
use crate::config::{Bounds, Command, environment, file};

use super::Context;

/// An environment file is read whole.
const LONGEST_ENV_FILE: u64 = 1024 * 1024;

pub(super) fn settle(
    written: &file::Server,
    context: &Context<'_>,
    errors: &mut Vec<ConfigError>,
    warnings: &mut Vec<String>,
) -> Option<Command> {
    let (program, args) = match context.command {
        // The shell has expanded these already.
        [program, args @ ..] => (program.clone(), args.to_vec()),
        [] => described(written, context, errors, warnings)?,
    };
    if program.is_empty() {
        errors.push(match context.command {
            [] => context.error("command", "is empty"),
            _ => ConfigError::new("COMMAND is empty"),
        });
    }
    let cwd = written
        .cwd
        .as_ref()
        .and_then(|Written(cwd)| expanded(cwd, &[Step::Key("cwd".to_owned())], context, errors).map(PathBuf::from));
    let env = environment(written, context, errors);
    Some(Command { program, args, cwd, env, bounds: Bounds::default() })
}

/// The command of a file.
fn described(
    written: &file::Server,
    context: &Context<'_>,
    errors: &mut Vec<ConfigError>,
    warnings: &mut Vec<String>,
) -> Option<(OsString, Vec<OsString>)> {
    let Some(Written(command)) = &written.command else {
        let message = format!("the server `{}` has no `command`", context.name);
        errors.push(match &context.section {
            Some(section) => ConfigError::located(context.merged.sources, section, Target::Key(0), message),
            None => ConfigError::new(message),
        });
        return None;
    };
    let args = written.args.as_deref().unwrap_or_default();
    if args.is_empty() && command.trim().contains(char::is_whitespace) {
        warnings.push(format!(
            "`command` of `{}` has spaces and is not split: arguments go into `args`, there is no shell",
            context.name
        ));
    }
    let program = expanded(command, &[Step::Key("command".to_owned())], context, errors);
    let args: Vec<OsString> = args
        .iter()
        .enumerate()
        .filter_map(|(at, Written(arg))| {
            expanded(arg, &[Step::Key("args".to_owned()), Step::Index(at)], context, errors)
        })
        .collect();
    Some((program?, args))
}

fn expanded(text: &str, path: &[Step], context: &Context<'_>, errors: &mut Vec<ConfigError>) -> Option<OsString> {
    let result = match expand(text, |name| context.merged.environment.get(name)) {
        Ok(value) if value.as_encoded_bytes().contains(&0) => Err("cannot hold a NUL byte".to_owned()),
        result => result,
    };
    result.map_err(|message| errors.push(context.error_at(path, message))).ok()
}

/// Inherited, then the file's lines, then `env`.
fn environment(
    written: &file::Server,
    context: &Context<'_>,
    errors: &mut Vec<ConfigError>,
) -> Vec<(OsString, OsString)> {
    let inherit = written.inherit_env.as_ref().is_none_or(|Written(inherit)| *inherit);
    let mut settled = if inherit { environment::inherited(context.merged.environment.all()) } else { BTreeMap::new() };
    if let Some(Written(name)) = &written.env_file {
        match env_file(name, context) {
            Ok(pairs) => settled.extend(pairs.into_iter().map(|(key, value)| (key.into(), value.into()))),
            Err(error) => errors.push(error),
        }
    }
    for (key, value) in written.env.iter().flatten() {
        let path = [Step::Key("env".to_owned()), Step::Key(key.clone())];
        if key.is_empty() || key.contains(['=', '\0']) {
            errors.push(context.error_at(&path, "is not the name of a variable"));
            continue;
        }
        let Some(Written(value)) = value else { continue };
        if let Some(value) = expanded(value, &path, context, errors) {
            settled.insert(OsString::from(key), value);
        }
    }
    settled.into_iter().collect()
}

/// Reads `env_file`.
fn env_file(name: &str, context: &Context<'_>) -> Result<Vec<(String, String)>, ConfigError> {
    let wrong = |message: String| context.error("env_file", message);
    let path = context.merged.path("env_file", name)?;
    let text = read(&path).map_err(|error| wrong(format!("{} cannot be read: {error}", path.display())))?;
    environment::parse_file(&text).map_err(|(line, error)| wrong(format!("{}:{line}: {error}", path.display())))
}

fn read(path: &Path) -> std::io::Result<String> {
    use std::io::Read as _;
    let mut text = String::new();
    let file = std::fs::File::open(path)?;
    let length = file.take(LONGEST_ENV_FILE + 1).read_to_string(&mut text)?;
    if length as u64 > LONGEST_ENV_FILE {
        return Err(std::io::Error::other("it is longer than 1 MiB"));
    }
    Ok(text)
}
