//! The plugin's thread: everything that is not a call back runs here, one after the other.

use std::ffi::c_void;
use std::path::PathBuf;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use nix::libc;
use probe_api::abi::Str;
use serde_json::value::RawValue;

use super::functions::{HOST, handle};
use super::load::{self, Loaded};
use super::message::Report;
use super::serve;
use super::table::Table;

/// What the thread is to do.
pub(super) enum Job {
    Load { library: PathBuf, sha256: Option<String> },
    Create { config: Box<RawValue>, time: Duration },
    Check { check: u64, time: Duration, context: Box<RawValue> },
}

/// Works until there is no more to come, then destroys the instance.
pub(super) fn run(table: &Table, jobs: &Receiver<Job>) {
    let mut loaded: Option<Loaded> = None;
    let mut instance = None;
    print_by_lines();
    for job in jobs {
        match (job, &loaded, &instance) {
            (Job::Load { library, sha256 }, None, _) => {
                let library = load::load(&library, sha256.as_deref());
                end_copies(table);
                match library {
                    Ok(library) => {
                        table.send(&Report::Loaded(library.descriptor.clone()));
                        loaded = Some(library);
                    }
                    Err(why) => table.send(&Report::Refused(why)),
                }
            }
            (Job::Create { config, time }, Some(library), None) => match create(table, library, &config, time) {
                Ok(made) => {
                    instance = Some(made);
                    table.send(&Report::Created);
                }
                Err(why) => table.send(&Report::Refused(why)),
            },
            (Job::Check { check, time, context }, Some(library), Some(instance)) => {
                let (code, detail) = self::check(table, library, *instance, check, &context, time);
                table.send(&Report::Verdict { check, code, detail });
            }
            // Not the order of any engine; what is not answered is killed in the end.
            _ => {}
        }
    }
    if let (Some(Loaded { functions, .. }), Some(instance)) = (loaded, instance)
        && let Some(destroy) = functions.destroy
    {
        // SAFETY: the plugin's own function and instance, on the thread that made it; it is not used again.
        unsafe { destroy(instance) };
        end_copies(table);
    }
}

fn create(table: &Table, library: &Loaded, config: &RawValue, time: Duration) -> Result<*mut c_void, String> {
    let name = &library.descriptor.name;
    let diagnosis = handle(table.begin(None, time));
    // SAFETY: a function of the type that the header gives it; all that it gets is readable while it runs.
    let instance = unsafe { (library.functions.create)(&raw const HOST, Str::borrow(config.get()), diagnosis) };
    end_copies(table);
    let detail = table.end().filter(|detail| !detail.trim().is_empty());
    if instance.is_null() {
        let why = detail.unwrap_or_else(|| "it does not say why".to_owned());
        return Err(format!("{name} refuses its `config:`: {why}"));
    }
    Ok(instance)
}

fn check(
    table: &Table,
    library: &Loaded,
    instance: *mut c_void,
    check: u64,
    context: &RawValue,
    time: Duration,
) -> (i32, Option<String>) {
    let running = handle(table.begin(Some(check), time));
    // SAFETY: as for `create`; the instance is the one that it made, on this thread.
    let code = unsafe { (library.functions.check)(instance, &raw const HOST, running, Str::borrow(context.get())) };
    end_copies(table);
    (code, table.end())
}

/// Ends a process that the plugin has forked and that came back from it: what follows is for the first one alone. Of the locks of
/// the first one it may hold some for ever, so it touches nothing.
fn end_copies(table: &Table) {
    if !table.is_ours() {
        serve::leave();
    }
}

/// What the plugin prints through C goes to the log line by line: to a pipe, C writes nothing until its buffer is full. To write
/// it out later is no way, since a thread of the plugin may hold a stream's lock for ever.
fn print_by_lines() {
    unsafe extern "C" {
        #[cfg_attr(target_vendor = "apple", link_name = "__stdoutp")]
        static stdout: *mut libc::FILE;
    }
    // SAFETY: C's own stream, which is there before `main`; no code of the plugin runs yet.
    unsafe { libc::setvbuf(stdout, std::ptr::null_mut(), libc::_IOLBF, 0) };
}
