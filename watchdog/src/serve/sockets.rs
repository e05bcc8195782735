//! Where the clients of a server come in.

use std::path::PathBuf;

use nix::unistd::getuid;

use crate::config::{Listen, Server};
use crate::control::runtime_dir;
use crate::front::entrance::Entrance;

/// Where a server without `listen:` is found.
///
/// # Errors
/// When there is no private folder for it.
fn place(name: &str) -> Result<PathBuf, String> {
    let places = runtime_dir::places(|variable| std::env::var_os(variable), getuid().as_raw());
    let Some(folder) = places.into_iter().next() else { return Err("there is no runtime folder".to_owned()) };
    Ok(runtime_dir::server_socket(&folder, name))
}

/// Opens all sockets of a server, which only this user can use.
pub(super) fn open(server: &Server) -> Result<Vec<Entrance>, String> {
    let paths = if server.listen.is_empty() {
        let path = place(&server.name)?;
        for folder in path.ancestors().skip(1).take(2).collect::<Vec<_>>().into_iter().rev() {
            runtime_dir::prepare(folder, getuid().as_raw()).map_err(|error| error.to_string())?;
        }
        vec![path]
    } else {
        server.listen.iter().map(|Listen::Unix(path)| path.clone()).collect()
    };
    let open = |path: PathBuf| {
        Entrance::open(&path)
            .map_err(|error| format!("server \"{}\" cannot listen on {}: {error}", server.name, path.display()))
    };
    paths.into_iter().map(open).collect()
}
