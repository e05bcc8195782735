//! A folder with the files of an image and nothing else, and the namespaces in which a command of it is pid 1.

use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use harness::{Session, Setup, plugins};
use tempfile::TempDir;

use super::image::Image;
use crate::rig::{children, poll_until, root, text};

/// The user whom node's image calls `node`; the tests have no `/etc/passwd` to look it up in.
const NODE: u32 = 1000;
/// What a slim Debian has of what our programs may need.
const SLIM: [&str; 4] = ["ld-linux-x86-64.so.2", "libc.so.6", "libm.so.6", "libgcc_s.so.1"];

/// How this user can make namespaces, if at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Means {
    /// As root.
    Root,
    /// In a namespace of users, where this user is root and nobody else is there.
    Mapped,
}

/// The ways there are. Where there is none, the test that asks has to end, and this has said so.
#[expect(clippy::print_stderr, reason = "a test that did not run has to say so")]
fn means() -> Option<Means> {
    static FOUND: OnceLock<Option<Means>> = OnceLock::new();
    *FOUND.get_or_init(|| {
        let works = |words: &[&str]| {
            let output = Command::new("unshare").args(words).args(["sh", "-c", "mount -t tmpfs none /mnt"]).output();
            output.is_ok_and(|output| output.status.success())
        };
        if nix::unistd::geteuid().is_root() && works(&["--fork", "--pid", "--mount"]) {
            return Some(Means::Root);
        }
        if works(&["--user", "--map-root-user", "--fork", "--pid", "--mount"]) {
            return Some(Means::Mapped);
        }
        eprintln!("containers are not tested: `unshare --pid --mount` is not permitted here");
        None
    })
}

/// What the runtime mounts beside the image's files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mounts {
    /// `/proc` and `/dev/null`, as every container runtime does.
    Usual,
    /// The same, a root that cannot be written to, and a file system in memory for the folder of sockets.
    ReadOnly,
    /// `/dev/null` alone.
    Null,
    /// Nothing.
    None,
}

/// An image on the disk.
pub(crate) struct Place {
    folder: TempDir,
    image: Image,
    user: Option<u32>,
}

impl Place {
    /// Puts the image's files there. `watchdog` stands for the program that its building stage makes. `None` where containers
    /// cannot be tested.
    pub(crate) fn assemble(image: Image, watchdog: &Path) -> Option<Self> {
        let means = means()?;
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).expect("it is ours");
        let user = match image.user.as_str() {
            "node" => NODE,
            ids => ids.split(':').next().and_then(|id| id.parse().ok()).expect("a user is `node` or a number"),
        };
        let place = Self { folder, image, user: (means == Means::Root).then_some(user) };
        for copy in &place.image.copies {
            match (copy.is_built, copy.from.as_str()) {
                (true, path) if path.ends_with("/mcp-watchdog") => place.put(watchdog, &copy.to),
                (true, "/src/latency.so") => place.put(&plugins::c_example(), &copy.to),
                (true, "/runtime") => place.private(&format!("{}/mcp-watchdog", copy.to)),
                (false, path) => place.put(&root().join(path), &copy.to),
                _ => panic!("the tests do not make {copy:?}"),
            }
        }
        place.image.folders.iter().for_each(|folder| place.private(folder));
        fs::create_dir_all(place.inside(&place.image.workdir)).expect("it is our folder");
        Some(place)
    }

    /// Adds what a slim Debian has, and fails if the image's program needs more.
    pub(crate) fn with_slim_debian(self, watchdog: &Path) -> Self {
        let needed = libraries(watchdog);
        for library in &needed {
            let name = library.file_name().and_then(|name| name.to_str()).expect("libraries have names");
            assert!(SLIM.contains(&name), "{} needs {}", watchdog.display(), library.display());
        }
        needed.iter().for_each(|library| self.put(library, &library.to_string_lossy()));
        self
    }

    /// Adds a program of the base image, with all that it needs.
    pub(crate) fn with_program(self, program: &Path, to: &str) -> Self {
        libraries(program).iter().for_each(|library| self.put(library, &library.to_string_lossy()));
        self.put(program, to);
        self
    }

    /// Adds a file with this text.
    pub(crate) fn with_text(self, to: &str, text: &str) -> Self {
        let to = self.make_room(to);
        fs::write(to, text).expect("it is our folder");
        self
    }

    fn inside(&self, path: &str) -> PathBuf {
        self.folder.path().join(path.trim_start_matches('/'))
    }

    fn make_room(&self, to: &str) -> PathBuf {
        let to = self.inside(to);
        fs::create_dir_all(to.parent().expect("it is below the root")).expect("it is our folder");
        to
    }

    fn put(&self, from: &Path, to: &str) {
        let to = self.make_room(to);
        fs::copy(from, &to).unwrap_or_else(|error| panic!("{} to {}: {error}", from.display(), to.display()));
    }

    /// A folder that is the user's alone.
    fn private(&self, folder: &str) {
        let folder = self.make_room(folder);
        fs::create_dir_all(&folder).expect("it is our folder");
        fs::set_permissions(&folder, Permissions::from_mode(0o700)).expect("it is ours");
        if self.user.is_some() {
            chown(&folder, self.user, self.user).expect("root may do that");
        }
    }

    /// Starts the image's entry point as pid 1.
    pub(crate) fn start(&self, mounts: Mounts) -> Contained<'_> {
        let entrypoint: Vec<_> = self.image.entrypoint.iter().map(String::as_str).collect();
        self.start_as(mounts, &entrypoint)
    }

    /// Starts another command as pid 1.
    pub(crate) fn start_as(&self, mounts: Mounts, command: &[&str]) -> Contained<'_> {
        let mut setup = Setup::direct("unshare").several().options(self.namespaces(mounts)).options(command);
        for (name, value) in &self.image.environment {
            setup = setup.env(name, value);
        }
        Contained { session: setup.env("PATH", PATH).start(), place: self }
    }

    /// Runs a command as pid 1 to its end.
    pub(crate) fn run(&self, mounts: Mounts, command: &[&str]) -> Output {
        let mut run = Command::new("unshare");
        run.args(self.namespaces(mounts)).args(command).env_clear().env("PATH", PATH).stdin(Stdio::null());
        run.envs(self.image.environment.iter().map(|(name, value)| (name, value)));
        run.output().expect("unshare is there")
    }

    /// What stands between `unshare` and the command.
    fn namespaces(&self, mounts: Mounts) -> Vec<String> {
        let root = self.folder.path().to_str().expect("a path of ASCII");
        let mut script = String::from("set -e\n");
        if matches!(mounts, Mounts::Usual | Mounts::ReadOnly) {
            fs::create_dir_all(self.inside("proc")).expect("it is our folder");
            script += &format!("mount -t proc none {root}/proc\n");
        }
        if mounts != Mounts::None {
            fs::create_dir_all(self.inside("dev")).expect("it is our folder");
            script += &format!("mount -t tmpfs -o mode=0755 none {root}/dev\n");
            script += &format!("touch {root}/dev/null\nmount --bind /dev/null {root}/dev/null\n");
        }
        if mounts == Mounts::ReadOnly {
            let sockets = self.environment("MCP_WATCHDOG_RUNTIME_DIR");
            let owner = self.user.map(|user| format!("uid={user},gid={user},")).unwrap_or_default();
            // What lies on the folder is bound along, and stays as it is.
            script += &format!("mount --rbind {root} {root}\nmount -o remount,bind,ro {root}\n");
            script += &format!("mount -t tmpfs -o {owner}mode=0700 none {root}{sockets}\n");
        }
        let user = self.user.map(|user| format!(" --setgid {user} --setuid {user}")).unwrap_or_default();
        script += &format!("exec unshare --root={root} --wd={}{user} \"$@\"\n", self.image.workdir);
        let mapped: &[&str] = if self.user.is_none() { &["--user", "--map-root-user"] } else { &[] };
        let words = ["--fork", "--pid", "--mount", "--kill-child", "sh", "-c", &script, "sh"];
        mapped.iter().chain(&words).map(|&word| word.to_owned()).collect()
    }

    fn environment(&self, name: &str) -> &str {
        let found = self.image.environment.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str()).expect("the image has this variable")
    }
}

/// Of the images, and enough for what the script needs.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// A running container.
pub(crate) struct Contained<'a> {
    pub(crate) session: Session,
    place: &'a Place,
}

impl Contained<'_> {
    /// The number of its first process, outside.
    #[track_caller]
    pub(crate) fn first(&self) -> u32 {
        // The shell that mounts becomes it.
        child_of(self.session.pid(), |pid| comm(pid) == "watchdog-init")
    }

    /// The server's process, outside: the child of a guard, which is a child of the engine, which is the first one's.
    #[track_caller]
    pub(crate) fn server(&self) -> u32 {
        let engine = child_of(self.first(), |_| true);
        child_of(child_of(engine, is_guard_of_server), |_| true)
    }

    /// Runs a command inside, as `docker exec` does.
    pub(crate) fn exec(&self, command: &[&str]) -> Output {
        let mut words = vec!["--target".to_owned(), self.first().to_string()];
        words.extend(["--mount", "--pid", "--root", "--wd"].map(str::to_owned));
        match self.place.user {
            Some(user) => words.extend(["--setuid".into(), user.to_string(), "--setgid".into(), user.to_string()]),
            None => words.extend(["--user", "--preserve-credentials"].map(str::to_owned)),
        }
        let mut exec = Command::new("nsenter");
        exec.args(words).arg("--").args(command).env_clear().env("PATH", PATH).stdin(Stdio::null());
        exec.envs(self.place.image.environment.iter().map(|(name, value)| (name, value)));
        exec.output().expect("nsenter is there, as unshare is")
    }

    /// How its commands name the watchdog.
    pub(crate) fn watchdog(&self) -> &str {
        &self.place.image.entrypoint[0]
    }

    /// Runs the image's health check, and gives its exit code.
    #[track_caller]
    pub(crate) fn health(&self) -> Option<i32> {
        let command: Vec<_> = self.place.image.healthcheck.iter().map(String::as_str).collect();
        let output = self.exec(&command);
        assert!(output.status.code() == Some(0) || output.status.code() == Some(1), "{}", text(&output.stderr));
        output.status.code()
    }
}

/// Waits for a child of a process.
#[track_caller]
fn child_of(parent: u32, is_it: impl Fn(u32) -> bool) -> u32 {
    let mut found = None;
    poll_until("process of the container", || {
        found = children(parent).into_iter().find(|(pid, state, _)| *state != 'Z' && is_it(*pid));
        found.is_some()
    });
    found.map(|(pid, ..)| pid).expect("it was waited for")
}

/// A guard whose child is no probe host.
fn is_guard_of_server(pid: u32) -> bool {
    comm(pid) == "watchdog-guard"
        && children(pid).first().is_some_and(|(child, ..)| {
            let command = fs::read(format!("/proc/{child}/cmdline")).unwrap_or_default();
            !String::from_utf8_lossy(&command).contains("probe-host")
        })
}

fn comm(pid: u32) -> String {
    fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim_end().to_owned()
}

/// The shared libraries that a program needs, its loader included.
pub(crate) fn libraries(program: &Path) -> BTreeSet<PathBuf> {
    let output = Command::new("ldd").arg(program).output().expect("ldd is there");
    let listed = text(&output.stdout);
    let paths = listed.lines().filter_map(|line| {
        let path = line.split_once("=> ").map_or(line, |(_, path)| path).split_whitespace().next()?;
        path.starts_with('/').then(|| PathBuf::from(path))
    });
    paths.collect()
}
