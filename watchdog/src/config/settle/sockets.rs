//! No two listeners can have one socket.

use std::collections::BTreeMap;
use std::path::Path;

use crate::config::error::ConfigError;
use crate::config::tree::{Node, Step};
use crate::config::{Control, ControlListen, Listen, Server};

use super::Merged;

/// Adds an error for each socket that is taken already.
pub(super) fn once_each(
    control: &Control,
    servers: &[Server],
    sections: &[(String, Node)],
    top: &Merged<'_>,
    errors: &mut Vec<ConfigError>,
) {
    let mut taken: BTreeMap<&Path, String> = BTreeMap::new();
    if let ControlListen::Unix(path) = &control.listen {
        taken.insert(path, "`control.listen`".to_owned());
    }
    for (server, (_, tree)) in servers.iter().zip(sections) {
        for (index, Listen::Unix(path)) in server.listen.iter().enumerate() {
            if let Some(owner) = taken.get(path.as_path()) {
                let message = format!(
                    "{} is the socket of {owner} already; `{}` needs one of its own",
                    path.display(),
                    server.name
                );
                let place = [Step::Key("listen".to_owned()), Step::Index(index)];
                errors.push(Merged { tree, ..*top }.error_at(&place, message));
            } else {
                taken.insert(path, format!("the server `{}`", server.name));
            }
        }
    }
}
