//! A whole day of one server and its client, in seconds: the real driver, core and chain task over scripted processes, a client
//! on a socket, an operator, and paused time. A seed decides everything, so that what it shows can be seen again.
//!
//! What has to hold is checked where it happens: by the processes ([`server`]), by the client ([`client`]), and at the end.

use std::time::Duration;

use tokio::runtime::Builder;
use tokio::task::LocalSet;

use super::{Stage, stage};
use crate::config::Server;
use crate::core::testing::{secs, server as usual};
use crate::event_loop::Watcher;
#[cfg(target_os = "linux")]
use crate::event_loop::reactor::{Reactor, nested};
use crate::exit::Exit;

mod client;
mod operator;
mod server;
mod world;

use world::{Shared, World};

const DAY: Duration = secs(24 * 60 * 60);
/// After the client has closed its end, the watchdog has ended by then: what is in flight may be drained, and a process may need
/// its whole ladder.
const LAST: Duration = secs(60);

/// How the server is supervised: as usual, with a check every two minutes and delays that are spread by chance. `plans`: it is
/// replaced when it is old, and stopped when nobody needs it.
fn config(plans: bool) -> Server {
    let mut server = usual();
    server.health.interval = Some(secs(120));
    server.health.jitter = 0.1;
    server.restart.jitter = 0.2;
    server.limits.max_lifetime = plans.then(|| secs(900));
    server.idle_stop = plans.then(|| secs(400));
    server
}

/// What a simulation has seen.
struct Seen {
    /// Everything that was said and that happened, line by line.
    log: String,
    counts: world::Counts,
}

/// What watches the client's socket, and runs the driver.
#[derive(Clone, Copy)]
enum Under {
    /// As in `serve`.
    Runtime,
    /// As in a sidecar: what has been quiet is not asked again.
    #[cfg(target_os = "linux")]
    Reactor,
}

fn simulate(seed: u64, length: Duration, under: Under) -> Seen {
    // The driver takes its seeds from here.
    fastrand::seed(seed);
    let runtime = Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    LocalSet::new().block_on(&runtime, live(seed, length, under))
}

async fn live(seed: u64, length: Duration, under: Under) -> Seen {
    // Every other seed, so that many days show both.
    let plans = !seed.is_multiple_of(2);
    let world: Shared = World::new(seed, plans);
    #[cfg(target_os = "linux")]
    let reactor = Reactor::new().unwrap();
    let watcher = match under {
        Under::Runtime => Watcher::Runtime,
        #[cfg(target_os = "linux")]
        Under::Reactor => Watcher::Reactor(reactor.registrar()),
    };
    let processes = server::Processes::new(world.clone());
    let Stage { driver, handle, client, events } = stage(Box::new(processes), config(plans), watcher);
    let driving = match under {
        Under::Runtime => tokio::task::spawn_local(driver.run()),
        #[cfg(target_os = "linux")]
        Under::Reactor => tokio::task::spawn_local(nested::run(reactor, driver.run())),
    };
    let operating = tokio::task::spawn_local(operator::operate(world.clone(), handle, length));
    client::live(world.clone(), client, length, LAST).await;
    let exit = tokio::time::timeout(LAST, driving).await.expect("the watchdog ends").unwrap();
    operating.abort();
    assert_eq!(exit, Exit::Done);
    let mut world = world.lock().unwrap();
    world.check_end();
    let mut log = std::mem::take(&mut world.log);
    for record in events.recent(usize::MAX, |_| true) {
        log.push_str(&format!("{} {}\n", record.event.name(), record.event.data()));
    }
    Seen { log, counts: world.counts.clone() }
}

/// The first line in which two logs differ.
fn difference(one: &str, other: &str) -> Option<String> {
    let differs = one.lines().zip(other.lines()).find(|(one, other)| one != other);
    let longer = || (one.len() != other.len()).then(|| "one is longer".to_owned());
    differs.map(|(one, other)| format!("{one}\n{other}")).or_else(longer)
}

fn a_day_keeps_every_promise(under: Under) {
    let Seen { log, counts } = simulate(1, DAY, under);
    println!("a day: {} lines, {counts:?}", log.lines().count());
    // A day in which little happens would show little.
    assert!(counts.requests > 3000 && counts.processes > 20 && counts.deaths > 10, "{counts:?}");
    assert!(counts.hangs > 3 && counts.slow > 20 && counts.commands > 5 && counts.suspensions > 0, "{counts:?}");
    assert!(counts.planned > 3, "{counts:?}");
}

#[test]
fn a_day_in_a_runtime_keeps_every_promise() {
    a_day_keeps_every_promise(Under::Runtime);
}

#[cfg(target_os = "linux")]
#[test]
fn a_day_in_a_reactor_keeps_every_promise() {
    a_day_keeps_every_promise(Under::Reactor);
}

#[test]
fn a_seed_says_everything() {
    let hours = secs(6 * 60 * 60);
    let (one, other) = (simulate(2, hours, Under::Runtime), simulate(2, hours, Under::Runtime));
    assert_eq!(difference(&one.log, &other.log), None);
    let third = simulate(3, hours, Under::Runtime);
    assert!(difference(&one.log, &third.log).is_some(), "another seed is another day");
}

/// Nobody can tell which one it is. (On other days they see what is due in one moment, as behind a sleep of the machine, in
/// another order.)
#[cfg(target_os = "linux")]
#[test]
fn a_reactor_sees_the_same_day_as_a_runtime() {
    let hours = secs(6 * 60 * 60);
    for seed in [4, 5] {
        let (one, other) = (simulate(seed, hours, Under::Runtime), simulate(seed, hours, Under::Reactor));
        assert_eq!(difference(&one.log, &other.log), None);
    }
}

/// Many days, each of them twice: `SIMULATION_DAYS=100 cargo test --release -p mcp-watchdog --lib many_days -- --ignored --nocapture`,
/// from the seed in `SIMULATION_SEED` on.
#[test]
#[ignore = "as long as is asked for"]
fn many_days_keep_every_promise() {
    let number = |name: &str, usual| std::env::var(name).map_or(usual, |text| text.parse().expect(name));
    let first = number("SIMULATION_SEED", 1);
    let mut all = world::Counts::default();
    for seed in first..first + number("SIMULATION_DAYS", 10) {
        println!("day {seed}");
        all.add(&simulate(seed, DAY, Under::Runtime).counts);
        #[cfg(target_os = "linux")]
        all.add(&simulate(seed, DAY, Under::Reactor).counts);
    }
    println!("{all:?}");
}
