//! The options of an `exec` link.
//!
//! They are read by hand: what serde says of a wrong value quotes it, and the values of `env` and `args` may be secrets.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use probe_api::ConfigError;
use serde_json::Value;

use crate::config::{self, hint};

const KEYS: [&str; 5] = ["command", "args", "exit_codes", "env", "cwd"];

/// What exit codes mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Codes {
    /// 0 is well, everything else is not: as the kubelet and Docker read them.
    Simple,
    /// 0 is well, 1 busy, 2 not well, everything else cannot tell: as monitoring plugins mean them.
    Nagios,
}

/// The options, read.
pub(super) struct Options {
    argv: Vec<String>,
    pub(super) exit_codes: Codes,
    env: BTreeMap<String, String>,
    cwd: Option<PathBuf>,
}

impl Options {
    pub(super) fn read(options: &Value) -> Result<Self, ConfigError> {
        read(options).map_err(ConfigError)
    }

    /// What is executed: in the server's environment and folder, as far as the link does not say otherwise.
    pub(super) fn command(&self, server: &config::Command) -> config::Command {
        let mut env: BTreeMap<OsString, OsString> = server.env.iter().cloned().collect();
        env.extend(self.env.iter().map(|(name, value)| (name.into(), value.into())));
        let mut words = self.argv.iter().map(OsString::from);
        config::Command {
            program: words.next().unwrap_or_default(),
            args: words.collect(),
            cwd: self.cwd.clone().or_else(|| server.cwd.clone()),
            env: env.into_iter().collect(),
            bounds: config::Bounds::default(),
        }
    }
}

fn read(options: &Value) -> Result<Options, String> {
    let entries: Vec<_> = options.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null()).collect();
    if let Some((key, _)) = entries.iter().find(|(key, _)| !KEYS.contains(&key.as_str())) {
        let hint = hint::did_you_mean(key, KEYS);
        return Err(format!("unknown field `{key}`{hint}, expected {}", hint::alternatives(&KEYS)));
    }
    let get = |wanted: &str| entries.iter().find(|(key, _)| *key == wanted).map(|(_, value)| *value);
    let args = get("args").map(|args| words("args", args)).transpose()?;
    let argv = match (get("command"), args) {
        (None, _) => return Err("needs a `command`, such as `command: [/usr/local/bin/check-db, --quick]`".to_owned()),
        (Some(Value::Array(_)), Some(_)) => {
            return Err("`args` goes with a `command` that is one word, not with a list".to_owned());
        }
        (Some(command @ Value::Array(_)), None) => words("command", command)?,
        (Some(program), args) => [vec![word("command", program)?], args.unwrap_or_default()].concat(),
    };
    match argv.first() {
        Some(program) if !program.is_empty() => {}
        _ => return Err("`command` is empty".to_owned()),
    }
    Ok(Options {
        argv,
        exit_codes: get("exit_codes").map_or(Ok(Codes::Simple), codes)?,
        env: get("env").map_or_else(|| Ok(BTreeMap::new()), environment)?,
        cwd: get("cwd").map(|cwd| word("cwd", cwd)).transpose()?.map(PathBuf::from),
    })
}

fn codes(value: &Value) -> Result<Codes, String> {
    match value.as_str() {
        Some("simple") => Ok(Codes::Simple),
        Some("nagios") => Ok(Codes::Nagios),
        _ => Err("`exit_codes` is `simple` or `nagios`".to_owned()),
    }
}

fn environment(value: &Value) -> Result<BTreeMap<String, String>, String> {
    let entries = value.as_object().ok_or("`env` is a map such as `{NAME: value}`")?;
    let pair = |(name, value): (&String, &Value)| {
        if name.is_empty() || name.contains(['=', '\0']) {
            return Err("a name in `env` is not the name of a variable".to_owned());
        }
        Ok((name.clone(), word(&format!("env.{name}"), value)?))
    };
    entries.iter().filter(|(_, value)| !value.is_null()).map(pair).collect()
}

fn words(key: &str, value: &Value) -> Result<Vec<String>, String> {
    let items = value.as_array().ok_or_else(|| format!("`{key}` is a list of words"))?;
    items.iter().map(|item| word(key, item)).collect()
}

/// A word, also where YAML takes it for a number or a truth. A number with a fraction has lost its spelling: `1.10` is 1.1.
fn word(key: &str, value: &Value) -> Result<String, String> {
    let word = match value {
        Value::String(text) => text.clone(),
        Value::Bool(_) => value.to_string(),
        Value::Number(number) if !number.is_f64() => number.to_string(),
        Value::Number(_) => return Err(format!("a number with a fraction in `{key}` has to stand in quotes")),
        _ => return Err(format!("`{key}` takes words, and no maps or lists inside")),
    };
    if word.contains('\0') { Err(format!("`{key}` holds a NUL byte")) } else { Ok(word) }
}

#[cfg(test)]
mod tests;
