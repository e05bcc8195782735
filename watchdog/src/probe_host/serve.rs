//! The main thread: reads what the engine asks.

use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;

use nix::libc;

use super::functions;
use super::instance::{self, Job};
use super::message::{LONGEST_ORDER, Order, from_body};
use super::table::Table;
use crate::guard::message::Frames;
use crate::guard::signals::die_of_faults;
use crate::stream::stdio;

/// The plugin's thread gets what a main thread usually has, in bytes: code that was not written for threads expects it.
const STACK: usize = 8 << 20;
/// How long `destroy` may take.
const DESTRUCTION: Duration = Duration::from_millis(300);

/// Serves until the engine closes its end, and ends the process then.
///
/// # Errors
/// When descriptor 0 is not a socket of an engine's, or there are no descriptors or threads to be had.
pub(super) fn run() -> io::Result<()> {
    nix::sys::socket::getsockopt(&io::stdin(), nix::sys::socket::sockopt::SockType)?;
    die_of_faults();
    name_process();
    offer_to_oom_killer();
    // Out of reach of a plugin that reads stdin; and what it prints goes where its complaints go.
    let (socket, _) = stdio::detach()?;
    let table = functions::serve(Table::new(UnixStream::from(socket)));
    let (jobs, waiting) = channel();
    let (done, ended) = channel::<()>();
    thread::Builder::new().name("plugin".into()).stack_size(STACK).spawn(move || {
        instance::run(table, &waiting);
        drop(done);
    })?;
    read_orders(table, &jobs);
    table.end();
    drop(jobs);
    _ = ended.recv_timeout(DESTRUCTION);
    leave()
}

/// Hands on orders until the engine has gone, or says what no engine says.
fn read_orders(table: &Table, jobs: &Sender<Job>) {
    let mut frames = Frames::new(LONGEST_ORDER);
    let mut piece = vec![0; 64 * 1024];
    loop {
        match frames.next() {
            Ok(Some(body)) => match from_body(&body) {
                Some(order) => take(order, table, jobs),
                None => return,
            },
            Ok(None) => match (&mut table.socket()).read(&mut piece) {
                Ok(0) => return,
                Ok(length) => frames.push(piece.get(..length).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return,
            },
            Err(_) => return,
        }
    }
}

fn take(order: Order, table: &Table, jobs: &Sender<Job>) {
    let job = match order {
        Order::Reply { call, code, json } => return table.answer(call, code, json),
        Order::Load { library, sha256 } => Job::Load { library, sha256 },
        Order::Create { config, remaining_ms } => Job::Create { config, time: Duration::from_millis(remaining_ms) },
        Order::Check { check, remaining_ms, context } => {
            Job::Check { check, context, time: Duration::from_millis(remaining_ms) }
        }
    };
    // The thread ends only when this one lets go of it.
    _ = jobs.send(job);
}

/// Ends the process without exit handlers: the plugin may have threads that run still, and what they use would go away below
/// them.
pub(super) fn leave() -> ! {
    // SAFETY: it takes an integer.
    unsafe { libc::_exit(0) }
}

/// A plugin that eats the memory of the machine is ended before anything that is worth more.
#[cfg(target_os = "linux")]
fn offer_to_oom_killer() {
    // Where it cannot be had, the kernel decides as ever.
    _ = std::fs::write("/proc/self/oom_score_adj", "1000");
}

/// There is no such offer.
#[cfg(not(target_os = "linux"))]
const fn offer_to_oom_killer() {}

/// What `/proc/self/exe` leaves in `top` is `exe`.
#[cfg(target_os = "linux")]
fn name_process() {
    _ = nix::sys::prctl::set_name(c"watchdog-probe");
}

/// There is no such call.
#[cfg(not(target_os = "linux"))]
const fn name_process() {}
