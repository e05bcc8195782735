//! What a service manager is told, on a datagram socket of its own, and what of it nobody else gets to see.
#![cfg(target_os = "linux")]

use std::cell::RefCell;
use std::fs;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::process::Command;
use std::time::{Duration, Instant};

use harness::plugins::c_plugin;
use harness::{Session, Setup, Signal, json, tool_call};
use nix::time::{ClockId, clock_gettime};
use tempfile::TempDir;

use crate::rig::{EAGER, FIXTURE, QUICK_STOP, WATCHDOG, children, poll_until, root, setup, text as text_of};

const LIMIT: Duration = Duration::from_secs(10);

/// A service manager with its ear at a socket.
struct Manager {
    socket: UnixDatagram,
    name: String,
    folder: TempDir,
    /// Messages in the order in which they came.
    heard: RefCell<Vec<String>>,
}

impl Manager {
    fn at_path() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let path = folder.path().join("notify");
        let socket = UnixDatagram::bind(&path).expect("a socket can be bound");
        Self::new(socket, path.display().to_string(), folder)
    }

    fn abstractly() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let name = folder.path().display().to_string();
        let address = SocketAddr::from_abstract_name(name.as_bytes()).expect("the name fits");
        let socket = UnixDatagram::bind_addr(&address).expect("a socket can be bound");
        Self::new(socket, format!("@{name}"), folder)
    }

    fn new(socket: UnixDatagram, name: String, folder: TempDir) -> Self {
        socket.set_read_timeout(Some(Duration::from_millis(50))).expect("a socket takes a timeout");
        Self { socket, name, folder, heard: RefCell::default() }
    }

    /// A watchdog that is told of it.
    fn of(&self, setup: Setup) -> Setup {
        setup.env("NOTIFY_SOCKET", &self.name)
    }

    fn listen(&self) -> bool {
        let mut bytes = [0; 4096];
        let Ok(length) = self.socket.recv(&mut bytes) else { return false };
        self.heard.borrow_mut().push(String::from_utf8_lossy(&bytes[..length]).into_owned());
        true
    }

    /// Waits for a message that has this text, after the first `after` messages, and returns it with its place.
    #[track_caller]
    fn wait(&self, text: &str, after: usize) -> (usize, String) {
        let end = Instant::now() + LIMIT;
        loop {
            let heard = self.heard.borrow();
            let found = heard.iter().enumerate().skip(after).find(|(_, message)| message.contains(text));
            if let Some((at, message)) = found {
                return (at + 1, message.clone());
            }
            assert!(Instant::now() < end, "no {text:?} in {:?}", heard.iter().skip(after).collect::<Vec<_>>());
            drop(heard);
            self.listen();
        }
    }

    /// All that has been said.
    fn all(&self) -> String {
        while self.listen() {}
        self.heard.borrow().concat()
    }

    fn file(&self, name: &str, text: &str) -> String {
        let path = self.folder.path().join(name);
        fs::write(&path, text).expect("the folder can be written to");
        path.display().to_string()
    }
}

fn servers(lines: &[&str]) -> String {
    format!("version: 1\nservers:\n{}", lines.iter().map(|line| format!("  {line}\n")).collect::<String>())
}

fn serving(manager: &Manager, text: &str) -> Session {
    let file = manager.file("servers.yaml", text);
    let setup = Setup::direct(WATCHDOG).several().options(["serve", "--no-control", "--config", &file]);
    manager.of(setup).start()
}

#[test]
fn a_sidecar_is_ready_before_its_client_speaks_and_tells_of_its_end() {
    let manager = Manager::at_path();
    let session = manager.of(setup().options(QUICK_STOP)).start();
    let (ready, _) = manager.wait("READY=1\n", 0);
    session.initialize();
    manager.wait("STATUS=1 server: 1 connected\n", ready);
    session.signal(Signal::SIGTERM);
    let (_, last) = manager.wait("STOPPING=1\n", ready);
    assert!(last.contains("EXTEND_TIMEOUT_USEC="), "{last}");
    session.ended(143);
    let all = manager.all();
    for once in ["READY=1", "STOPPING=1"] {
        assert_eq!(all.matches(once).count(), 1, "{all}");
    }
    assert!(!all.contains("MAINPID=") && !all.contains("WATCHDOG="), "{all}");
}

#[test]
fn a_client_that_leaves_ends_the_service_too() {
    let manager = Manager::at_path();
    let session = manager.of(setup()).start();
    session.initialize();
    session.finish();
    assert!(manager.all().ends_with("EXTEND_TIMEOUT_USEC=15000000\n"), "{}", manager.all());
}

#[test]
fn a_server_that_never_comes_up_does_not_hold_up_the_service() {
    let manager = Manager::abstractly();
    let text = servers(&[
        "absent: { command: /nowhere/at/all, restart: { delays: [0s, 1h] } }",
        "lazy: { command: \"true\", start: lazy }",
        "off: { command: \"true\", enabled: false }",
        &format!("well: {{ command: {FIXTURE} }}"),
    ]);
    let session = serving(&manager, &text);
    let (ready, _) = manager.wait("READY=1\n", 0);
    let (_, status) = manager.wait("1 connecting (attempt 2), 1 standby, 1 disabled", ready - 1);
    assert!(status.contains("STATUS=4 servers: 1 connected, "), "{status}");
    session.signal(Signal::SIGTERM);
    session.ended(143);
}

#[test]
fn a_loss_is_told_and_so_is_the_return() {
    let manager = Manager::at_path();
    let setup = setup().options(["--restart-delays", "1500ms", "--set", "restart.min_uptime=0s"]);
    let session = manager.of(setup).start();
    session.initialize();
    let (connected, _) = manager.wait("1 connected", 0);
    session.kill_server();
    let (lost, _) = manager.wait("1 reconnecting", connected);
    manager.wait("1 connected", lost);
    session.finish();
}

#[test]
fn a_reload_is_bracketed_and_its_refusal_is_told() {
    let manager = Manager::at_path();
    let one = format!("one: {{ command: {FIXTURE} }}");
    let session = serving(&manager, &servers(&[&one]));
    let (ready, _) = manager.wait("READY=1\n", 0);
    let monotonic = || Duration::from(clock_gettime(ClockId::CLOCK_MONOTONIC).expect("there is such a clock"));

    let before = monotonic();
    manager.file("servers.yaml", &servers(&[&one, &format!("two: {{ command: {FIXTURE} }}")]));
    session.signal(Signal::SIGHUP);
    let (begun, message) = manager.wait("RELOADING=1\n", ready);
    let stamp = message.lines().find_map(|line| line.strip_prefix("MONOTONIC_USEC=")).expect("a reload has its time");
    let stamp = Duration::from_micros(stamp.parse().expect("it is a number"));
    assert!(before - Duration::from_micros(1) < stamp && stamp <= monotonic(), "{before:?} {stamp:?}");
    let (over, message) = manager.wait("READY=1\n", begun);
    assert!(message.contains("STATUS=2 servers: "), "{message}");

    manager.file("servers.yaml", "version: 1\nservers: { one: { comand: x } }\n");
    session.signal(Signal::SIGHUP);
    let (begun, _) = manager.wait("RELOADING=1\n", over);
    let (over, message) = manager.wait("READY=1\n", begun);
    assert!(message.contains("the last reload was refused"), "{message}");

    manager.file("servers.yaml", &servers(&[&one]));
    session.signal(Signal::SIGHUP);
    let (_, message) = manager.wait("READY=1\n", over);
    assert!(!message.contains("refused"), "{message}");
    session.signal(Signal::SIGTERM);
    session.ended(143);
}

// -- signs of life ----------------------------------------------------------------------------------------------------

/// Below a shell that knows the number that the watchdog will have.
fn with_own_number(manager: &Manager, words: &[&str]) -> Setup {
    let script = "WATCHDOG_PID=$$ exec \"$0\" \"$@\"";
    let words = [&["-c", script, WATCHDOG], words].concat();
    manager.of(Setup::new("sh", FIXTURE).options(&words).options(QUICK_STOP)).env("WATCHDOG_USEC", "200000")
}

#[test]
fn signs_of_life_come_at_half_the_time_and_only_from_an_engine_that_works() {
    let manager = Manager::at_path();
    let session = with_own_number(&manager, &[]).start();
    let (mut at, _) = manager.wait("READY=1\n", 0);
    let begin = Instant::now();
    for _ in 0..5 {
        (at, _) = manager.wait("WATCHDOG=1\n", at);
    }
    // The first comes at once, and then one in 100 ms.
    assert!(begin.elapsed() >= Duration::from_millis(350), "{:?}", begin.elapsed());
    session.signal(Signal::SIGSTOP);
    poll_until("stop of the engine", || {
        children(std::process::id()).iter().any(|(pid, state, _)| *pid == session.pid() && *state == 'T')
    });
    while manager.listen() {}
    let before = manager.heard.borrow().len();
    let quiet_until = Instant::now() + Duration::from_millis(500);
    while Instant::now() < quiet_until {
        assert!(!manager.listen(), "a stopped engine gives no sign of life");
    }
    session.signal(Signal::SIGCONT);
    manager.wait("WATCHDOG=1\n", before);
    session.finish();
}

#[test]
fn below_an_init_the_engine_speaks_and_the_init_stays_the_main_process() {
    let manager = Manager::at_path();
    let session = with_own_number(&manager, &["--init"]).start();
    let (ready, _) = manager.wait("READY=1\n", 0);
    manager.wait("WATCHDOG=1\n", ready);
    session.initialize();
    session.finish();
    assert!(!manager.all().contains("MAINPID="), "{}", manager.all());
}

#[test]
fn signs_of_life_that_another_process_owes_are_not_given() {
    let manager = Manager::at_path();
    let owed = [("WATCHDOG_USEC", "20000"), ("WATCHDOG_PID", "1")];
    let session = owed.into_iter().fold(manager.of(setup()), |setup, (name, value)| setup.env(name, value)).start();
    session.initialize();
    manager.wait("1 connected", 0);
    session.send(tool_call(1, "sleep_ms", json!({ "ms": 200 })));
    session.answer(1);
    session.finish();
    assert!(!manager.all().contains("WATCHDOG="), "{}", manager.all());
}

// -- managers that are not there --------------------------------------------------------------------------------------

#[test]
fn a_manager_that_does_not_listen_is_warned_of_once_and_costs_nothing() {
    for (name, why) in [("/nowhere/at/all", "NOTIFY_SOCKET=/nowhere/at/all"), ("vsock:2:99", "neither a path nor")] {
        let session = setup().options(EAGER).env("NOTIFY_SOCKET", name).start();
        session.initialize();
        session.wait_stderr(why);
        session.kill_server();
        session.wait_life(2);
        session.send(tool_call(1, "life", json!({})));
        assert_eq!(session.answer(1).text(), "2");
        assert_eq!(session.stderr().matches("service manager").count(), 1);
        session.finish();
    }
}

// -- what is the watchdog's alone -------------------------------------------------------------------------------------

/// All processes below one, with their first argument.
fn below(pid: u32) -> Vec<u32> {
    let mut found = vec![pid];
    let mut at = 0;
    while let Some(pid) = found.get(at).copied() {
        found.extend(children(pid).into_iter().map(|(pid, ..)| pid));
        at += 1;
    }
    found.split_off(1)
}

#[test]
fn what_a_manager_said_and_handed_over_reaches_nobody_below() {
    const OWN: [&str; 8] = [
        "NOTIFY_SOCKET",
        "WATCHDOG_USEC",
        "WATCHDOG_PID",
        "LISTEN_FDS",
        "LISTEN_PID",
        "LISTEN_FDNAMES",
        "LISTEN_PIDFDID",
        "FDSTORE",
    ];
    let manager = Manager::at_path();
    let handed = manager.file("handed", "a socket, say");
    let dump = manager.folder.path().join("dump");
    let probe = manager.file("probe.sh", "{ env; ls -l /proc/self/fd; } >\"$1.new\"; mv \"$1.new\" \"$1\"\n");
    let chain = json!([
        { "type": "exec", "command": ["sh", &probe, dump.display().to_string()] },
        { "type": "plugin", "library": c_plugin("passes").display().to_string() },
    ]);
    // As a manager does that activates by sockets: descriptor 3, open over `exec`.
    let script = format!("exec 3<{handed} 9<{handed}; LISTEN_PID=$$ WATCHDOG_PID=$$ exec \"$0\" \"$@\"");
    let mut setup = manager.of(Setup::new("sh", FIXTURE).options(["-c", &script, WATCHDOG]));
    for name in ["LISTEN_FDS", "LISTEN_FDNAMES", "LISTEN_PIDFDID", "FDSTORE"] {
        setup = setup.env(name, "1");
    }
    let chain = format!("probe.chain={chain}");
    let setup = setup.env("WATCHDOG_USEC", "60000000").env("KEPT", "yes");
    let session = setup.options(["--set", &chain, "--set", "probe.mode=all", "--tool-timeout", "300ms"]).start();
    session.initialize();
    session.send(tool_call(1, "sleep_ms", json!({ "ms": 1500 })));
    poll_until("dump of the exec probe", || dump.exists());
    let probed = fs::read_to_string(&dump).expect("it is text");
    session.answer(1);
    let is_host =
        |pid: &u32| fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default().contains("probe-host");
    poll_until("probe host", || below(session.pid()).iter().any(is_host));

    assert!(probed.contains("KEPT=yes"), "the server's environment: {probed}");
    assert!(OWN.iter().all(|name| !probed.contains(&format!("{name}="))) && !probed.contains("/handed"), "{probed}");
    let processes = below(session.pid());
    assert!(processes.len() >= 4, "a server, a host, and a guard of each: {processes:?}");
    for pid in processes {
        let environment = fs::read_to_string(format!("/proc/{pid}/environ")).unwrap_or_default();
        let own =
            environment.split('\0').find(|variable| OWN.iter().any(|name| variable.starts_with(&format!("{name}="))));
        assert_eq!(own, None, "in process {pid}");
        let links = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        let mut targets = links.filter_map(|link| fs::read_link(link.path()).ok());
        assert!(!targets.any(|target| target.ends_with("handed")), "process {pid} has what was handed over");
    }
    session.finish();
}

// -- units ------------------------------------------------------------------------------------------------------------

/// What `systemd-analyze` says of a unit of the examples, with this binary in the place of an installed one; what it prints, and
/// whether it is content. `None` where there is no systemd.
fn analyze(words: &[&str], unit: &str, instance: &str, drop_in: Option<&str>) -> Option<(bool, String)> {
    let examples = root().join("examples/systemd");
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let text = fs::read_to_string(examples.join(unit)).expect("the unit is there");
    let program = text.lines().find_map(|line| line.strip_prefix("ExecStart=")?.split(' ').next());
    let text = text.replace(program.expect("a unit starts a program"), WATCHDOG);
    let copy = folder.path().join(instance);
    fs::write(&copy, text).expect("it can be written to");
    if let Some(drop_in) = drop_in {
        let folder = folder.path().join(format!("{instance}.d"));
        fs::create_dir(&folder).expect("a folder can be made");
        fs::copy(examples.join(drop_in), folder.join(drop_in)).expect("the drop-in is there");
    }
    let output = Command::new("systemd-analyze")
        .args(words)
        .arg(&copy)
        .env("XDG_RUNTIME_DIR", folder.path())
        .env("SYSTEMD_LOG_LEVEL", "warning")
        .output()
        .ok()?;
    Some((output.status.success(), [text_of(&output.stdout), text_of(&output.stderr)].concat()))
}

/// The version of systemd here.
#[expect(clippy::print_stderr, reason = "a test that did not run everywhere has to say so")]
fn systemd() -> Option<u32> {
    let output = Command::new("systemd-analyze").arg("--version").output().ok();
    let version = output.and_then(|output| text_of(&output.stdout).split_whitespace().nth(1)?.parse().ok());
    if version.is_none() {
        eprintln!("units not tested: there is no systemd-analyze here");
    }
    version
}

const UNITS: [(&str, &str, &str); 2] = [
    ("--system", "mcp-watchdog@.service", "mcp-watchdog@root.service"),
    ("--user", "user/mcp-watchdog.service", "mcp-watchdog.service"),
];

#[test]
fn systemd_finds_nothing_wrong_with_the_units() {
    let Some(version) = systemd() else { return };
    let newer = (version >= 254).then_some("systemd-254.conf");
    for (manager, unit, instance) in UNITS {
        for drop_in in [None, newer] {
            let words = ["verify", manager, "--recursive-errors=no", "--man=no"];
            let (content, said) = analyze(&words, unit, instance, drop_in).expect("it was there just now");
            assert!(content && said.trim().is_empty(), "{unit}, {drop_in:?}: {said}");
        }
    }
}

#[test]
fn systemd_calls_the_sandbox_good() {
    let Some(_) = systemd() else { return };
    let (_, unit, instance) = UNITS[0];
    let words = ["security", "--offline=yes", "--threshold=30", "--no-pager"];
    let (content, said) = analyze(&words, unit, instance, None).expect("it was there just now");
    assert!(content, "an exposure of more than 3.0: {said}");
}

/// What holds for a unit by the code, and not only by systemd's grammar.
#[test]
fn units_say_what_the_product_needs() {
    for (_, unit, _) in UNITS {
        let text = fs::read_to_string(root().join("examples/systemd").join(unit)).expect("the unit is there");
        for line in [
            "Type=notify",
            "ExecReload=/bin/kill -HUP $MAINPID",
            "KillMode=mixed",
            "SuccessExitStatus=143",
            "RestartPreventExitStatus=78",
            "OOMPolicy=continue",
            "Delegate=memory pids",
        ] {
            assert!(text.lines().any(|found| found == line), "{unit}: {line}");
        }
        for breaks in ["MemoryDenyWriteExecute=", "ProtectControlGroups=", "ProcSubset=", "PrivateNetwork="] {
            assert!(!text.lines().any(|found| found.starts_with(breaks)), "{unit}: {breaks}");
        }
    }
}
