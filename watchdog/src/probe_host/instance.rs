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
use super::table::Table;

/// What the thread is to do.
pub(super) enum Job {
    Load { library: PathBuf, sha256: Option<String> },
    Create { config: Box<RawValue>, time: Duration },
    Check { check: u64, time: Duration, context: Box<RawValue> },
}

/// Works until there is no more to come, then destroys the instance.
pub(super) fn run(table: &Table, jobs: &Receiver<Job>) {
    let mut loaded = None;
    let mut instance = None;
    for job in jobs {
        match (job, &loaded, &instance) {
            (Job::Load { library, sha256 }, None, _) => match load::load(&library, sha256.as_deref()) {
                Ok(library) => {
                    table.send(&Report::Loaded(library.descriptor.clone()));
                    loaded = Some(library);
                }
                Err(why) => table.send(&Report::Refused(why)),
            },
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
        print_out();
    }
    if let (Some(Loaded { plugin, .. }), Some(instance)) = (loaded, instance)
        && let Some(destroy) = plugin.destroy
    {
        // SAFETY: the plugin's own function and instance, on the thread that made it; it is not used again.
        unsafe { destroy(instance) };
        print_out();
    }
}

fn create(table: &Table, library: &Loaded, config: &RawValue, time: Duration) -> Result<*mut c_void, String> {
    let name = &library.descriptor.name;
    let create = library.plugin.create.ok_or_else(|| format!("{name} has no `create`"))?;
    let diagnosis = handle(table.begin(None, time));
    // SAFETY: a function of the type that the header gives it; all that it gets is readable while it runs.
    let instance = unsafe { create(&raw const HOST, Str::borrow(config.get()), diagnosis) };
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
    let Some(function) = library.plugin.check else { return (probe_api::abi::verdict::UNSUPPORTED, None) };
    let running = handle(table.begin(Some(check), time));
    // SAFETY: as for `create`; the instance is the one that it made, on this thread.
    let code = unsafe { function(instance, &raw const HOST, running, Str::borrow(context.get())) };
    (code, table.end())
}

/// What the plugin printed through C goes to the log now: to a pipe, C writes nothing until its buffer is full.
fn print_out() {
    // SAFETY: null stands for all streams.
    unsafe { libc::fflush(std::ptr::null_mut()) };
}
