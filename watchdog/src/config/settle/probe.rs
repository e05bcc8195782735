//! `probe`.

use std::path::Path;

use serde_json::{Map, Value};

use crate::config::duration::Above;
use crate::config::error::{ConfigError, ConfigErrors};
use crate::config::expand::expand;
use crate::config::file;
use crate::config::tree::Step;
use crate::config::{Command, Link, Probe};

use super::{Context, Merged, need};

mod advice;

/// Options of links in which `${VAR}` is expanded, as it is in the keys of a server that say what is started.
const EXPANDED: [&str; 8] = ["command", "args", "env", "cwd", "library", "path", "url", "headers"];

/// The option that names a file beside the configuration.
const BESIDE: &str = "library";

/// `command` is the server's, where that is well written.
pub(super) fn settle(
    written: file::Probe,
    command: Option<&Command>,
    context: &Context<'_>,
    warnings: &mut Vec<String>,
) -> Result<Probe, ConfigErrors> {
    let chain = chain(written.chain.unwrap_or_default(), command, context)?;
    let Above(timeout) = need(written.timeout, "probe.timeout")?;
    let Above(total_timeout) = need(written.total_timeout, "probe.total_timeout")?;
    let probe = Probe {
        mode: need(written.mode, "probe.mode")?,
        timeout,
        total_timeout,
        confirmations: need(written.confirmations, "probe.confirmations")?.0,
        busy_grace: need(written.busy_grace, "probe.busy_grace")?,
        busy_max: need(written.busy_max, "probe.busy_max")?,
        on_failure: need(written.on_failure, "probe.on_failure")?,
        chain,
    };
    let of_server = |advice: String| format!("`{}`: {advice}", context.name);
    warnings.extend(advice::on(&probe).into_iter().map(of_server));
    Ok(probe)
}

fn chain(
    written: Vec<file::Link>,
    command: Option<&Command>,
    context: &Context<'_>,
) -> Result<Vec<Link>, ConfigErrors> {
    if written.is_empty() {
        let message =
            "needs at least one link, such as `{type: ping}`; to restart without asking, set `probe.on_failure: close`";
        return Err(context.error("probe.chain", message).into());
    }
    let mut errors: Vec<ConfigError> = Vec::new();
    let mut chain: Vec<Link> = Vec::with_capacity(written.len());
    let given: Vec<_> = written.iter().filter_map(|link| link.name.clone()).collect();
    for (index, link) in written.into_iter().enumerate() {
        let place = Place { context, index };
        let file::Link { kind, name, timeout, allow_methods, mut options } = link;
        let before = errors.len();
        place.settle_options(&mut options, &mut errors);
        let are_settled = errors.len() == before;
        let name = match name {
            Some(name) if chain.iter().any(|link| link.name == name) => {
                errors.push(place.error("name", format!("another link is called `{name}` already")));
                name
            }
            Some(name) => name,
            None => free_name(&kind, |name| {
                given.iter().any(|taken| taken == name) || chain.iter().any(|link| link.name == name)
            }),
        };
        let link = Link { kind, name, timeout, allow_methods, options: Value::Object(options) };
        // What cannot be expanded or found needs no second opinion.
        if are_settled && let Err(message) = (context.known)(&link, command) {
            errors.push(place.error_of(&link, message));
        }
        chain.push(link);
    }
    if errors.is_empty() { Ok(chain) } else { Err(ConfigErrors(errors)) }
}

/// The type, and a number behind it where others of the type come first: `exec`, `exec#2`. A name that is written has no `#`.
fn free_name(kind: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let numbered = (2..).map(|number: usize| format!("{kind}#{number}"));
    let mut names = std::iter::once(kind.to_owned()).chain(numbered);
    names.find(|name| !is_taken(name)).unwrap_or_default()
}

/// A link's place in the configuration.
struct Place<'a> {
    context: &'a Context<'a>,
    index: usize,
}

impl Place<'_> {
    fn path(&self) -> Vec<Step> {
        vec![Step::Key("probe".to_owned()), Step::Key("chain".to_owned()), Step::Index(self.index)]
    }

    fn path_to(&self, key: &str) -> Vec<Step> {
        let mut path = self.path();
        path.push(Step::Key(key.to_owned()));
        path
    }

    /// An error at the option that the message names (at its key if there is no such option), or at the link. What the probe
    /// says of its options has no places.
    fn error_of(&self, link: &Link, message: String) -> ConfigError {
        let named = |key: &&String| message.contains(&format!("`{key}`"));
        let Some(key) = link.options.as_object().and_then(|options| options.keys().find(named)) else {
            return self.context.error_at(&self.path(), message);
        };
        if !message.contains(&format!("unknown field `{key}`")) {
            return self.error(key, message);
        }
        let Merged { tree, sources, .. } = self.context.merged;
        ConfigError::at_key(sources, &tree.deepest(&self.path_to(key)).origin, message)
    }

    fn error(&self, key: &str, message: String) -> ConfigError {
        self.context.error_at(&self.path_to(key), message)
    }

    /// Expands variables, and finds the file that lies beside the configuration.
    fn settle_options(&self, options: &mut Map<String, Value>, errors: &mut Vec<ConfigError>) {
        for key in EXPANDED {
            let Some(value) = options.get_mut(key) else { continue };
            if let Err(message) = self.expand(value) {
                errors.push(self.error(key, message));
            }
        }
        if let Some(Value::String(name)) = options.get_mut(BESIDE) {
            match self.beside(name) {
                Ok(path) => *name = path,
                Err(message) => errors.push(self.error(BESIDE, message)),
            }
        }
    }

    fn expand(&self, value: &mut Value) -> Result<(), String> {
        match value {
            Value::String(text) => {
                let expanded = expand(text, |name| self.context.merged.environment.get(name))?;
                *text = expanded.into_string().map_err(|_| "a variable in it is not UTF-8".to_owned())?;
                Ok(())
            }
            Value::Array(items) => items.iter_mut().try_for_each(|item| self.expand(item)),
            Value::Object(entries) => entries.values_mut().try_for_each(|entry| self.expand(entry)),
            Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
        }
    }

    /// The path of a file that is named from the folder of the file that names it, or from the working directory where an
    /// option or a variable does.
    fn beside(&self, name: &str) -> Result<String, String> {
        if name.trim().is_empty() {
            return Err("is empty: it wants the path of a shared library, such as `./check.so`".to_owned());
        }
        let Merged { tree, sources, .. } = self.context.merged;
        let folder = sources.folder(tree.deepest(&self.path_to(BESIDE)).origin.source).unwrap_or_else(|| Path::new(""));
        let path = std::path::absolute(folder.join(name)).map_err(|error| error.to_string())?;
        path.into_os_string().into_string().map_err(|_| "its folder has a name that is not UTF-8".to_owned())
    }
}
