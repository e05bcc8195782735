//! Where the clients of a server come in.

use std::path::{Path, PathBuf};

use nix::unistd::getuid;

use crate::config::{Listen, Server};
use crate::control::runtime_dir;
use crate::front::entrance::{Entrance, EntranceError};

/// Where a server is found by its name.
///
/// # Errors
/// When there is no private folder for it.
fn place(name: &str) -> Result<PathBuf, String> {
    let places = runtime_dir::places(|variable| std::env::var_os(variable), getuid().as_raw());
    let Some(folder) = places.into_iter().next() else { return Err("there is no runtime folder".to_owned()) };
    Ok(runtime_dir::server_socket(&folder, name))
}

/// Opens all sockets of a server, which only this user can use. One that has `listen:` is found by its name too, where that can
/// be: its clients have been told of the others.
pub(super) fn open(server: &Server) -> Result<Vec<Entrance>, String> {
    let path = place(&server.name);
    if server.listen.is_empty() {
        return Ok(vec![open_by_name(&server.name, &path?)?]);
    }
    let listen =
        server.listen.iter().map(|Listen::Unix(path)| entrance(&server.name, path, "name another path in `listen`"));
    let mut entrances = listen.collect::<Result<Vec<_>, _>>()?;
    if !server.listen.iter().any(|Listen::Unix(listen)| path.as_ref() == Ok(listen)) {
        match path.and_then(|path| open_by_name(&server.name, &path)) {
            Ok(entrance) => entrances.push(entrance),
            Err(why) => tracing::info!("`mcp-watchdog connect {}` does not find it: {why}", server.name),
        }
    }
    Ok(entrances)
}

fn open_by_name(name: &str, path: &Path) -> Result<Entrance, String> {
    for folder in path.ancestors().skip(1).take(2).collect::<Vec<_>>().into_iter().rev() {
        runtime_dir::prepare(folder, getuid().as_raw()).map_err(|error| error.to_string())?;
    }
    entrance(name, path, "name another folder for one of them in MCP_WATCHDOG_RUNTIME_DIR")
}

/// `remedy` is what helps, beside the end of who has it, where another process does.
fn entrance(name: &str, path: &Path, remedy: &str) -> Result<Entrance, String> {
    Entrance::open(path).map_err(|error| {
        let remedy = match error {
            EntranceError::Held(_) => {
                format!("; end that, leave \"{name}\" out of one of the two configurations, or {remedy}")
            }
            EntranceError::NoSocket => "; move it away".to_owned(),
            EntranceError::Lock(..) | EntranceError::Io(_) => String::new(),
        };
        format!("server \"{name}\" cannot listen on {}: {error}{remedy}", path.display())
    })
}
