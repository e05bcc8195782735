//! A plugin that does what its configuration says, most of which no plugin should do.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::panic::resume_unwind;
use std::path::Path;
use std::process::{Command, abort, exit};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use probe_api::serde::Deserialize;
use probe_api::serde_json::{Value, json};
use probe_api::{ConfigError, Context, Probe, ProbeKind, Verdict, async_trait, declare_probe};

/// One of the things that it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(crate = "probe_api::serde", rename_all = "snake_case")]
pub enum Deed {
    /// Passes.
    Pass,
    /// Is busy with `text`.
    Busy,
    /// Fails because of `text`.
    Fail,
    /// Cannot tell because of `text`.
    Inconclusive,
    /// Has nothing to ask.
    Unsupported,
    /// Busy with how often this instance was checked.
    Count,
    /// Refuses its configuration because of `text`.
    Refuse,
    PanicInNew,
    AbortInNew,
    PanicInCheck,
    /// Panics in every second check, from the first on.
    PanicInTurns,
    PanicInDrop,
    /// Panics with a payload that panics when it is dropped.
    PanicInPayload,
    /// Panics with a message that panics when it is written, which is an abort.
    PanicInPanic,
    /// The check never ends, without the processor; it asks with a `ping` before that.
    NeverReturn,
    /// The same, with the processor.
    Spin,
    /// The constructor never ends.
    NeverCreated,
    /// The constructor adds a line to the file `text`, and waits until there is one beside it that is called `go`. Then it is
    /// [`Count`](Self::Count).
    CreatedLate,
    /// The check ends so many `ms` after its time.
    Late,
    /// A reason of several lines, with control characters.
    Garbage,
    /// A reason and log of 16 MiB.
    HugeDetail,
    Abort,
    Exit,
    StackOverflow,
    /// Three processes, in sessions of their own, that would live for an hour; busy with their numbers.
    SpawnChildren,
    /// The same, and exits.
    SpawnAndExit,
    /// Writes `text` to stdout and stderr, whole lines and a part of one.
    Print,
    /// Reads stdin to its end.
    ReadStdin,
    /// Closes descriptors 0 to 1023, then passes.
    CloseAll,
    /// Starts a thread that prints for ever, and passes.
    LeakThread,
    /// Busy with the outcome of `tools/call` of the tool `text`.
    CallToolsCall,
    /// Busy with the outcome of the method `text`.
    Call,
    /// Passes if `count` calls of `ping` were answered.
    CallMany,
    /// Busy with the outcome of a call whose parameters are 16 MiB.
    HugeCall,
}

/// The link's `config:`.
#[derive(Debug, Deserialize)]
#[serde(crate = "probe_api::serde", deny_unknown_fields)]
pub struct Config {
    #[serde(rename = "do")]
    deed: Deed,
    #[serde(default)]
    text: String,
    #[serde(default)]
    ms: u64,
    #[serde(default)]
    count: u64,
}

/// The probe.
#[derive(Debug)]
pub struct Hostile {
    config: Config,
    checks: AtomicU64,
}

const HUGE: usize = 16 << 20;

impl ProbeKind for Hostile {
    const NAME: &'static str = "hostile";
    type Config = Config;
    const CONFIG_SCHEMA: &'static str = r#"{"type":"object","required":["do"]}"#;

    fn new(config: Config) -> Result<Self, ConfigError> {
        match config.deed {
            Deed::Refuse => return Err(ConfigError(config.text)),
            Deed::PanicInNew => panic!("in new"),
            Deed::AbortInNew => abort(),
            Deed::NeverCreated => never(),
            Deed::CreatedLate => created_late(Path::new(&config.text)),
            _ => {}
        }
        Ok(Self { config, checks: AtomicU64::new(0) })
    }
}

impl Drop for Hostile {
    fn drop(&mut self) {
        assert!(self.config.deed != Deed::PanicInDrop, "in drop");
    }
}

struct Boom;

impl Drop for Boom {
    fn drop(&mut self) {
        panic!("in the drop of a payload");
    }
}

impl std::fmt::Display for Boom {
    fn fmt(&self, _f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        panic!("in a message");
    }
}

#[async_trait]
impl Probe for Hostile {
    async fn check(&mut self, cx: &dyn Context) -> Verdict {
        let text = self.config.text.clone();
        let number = self.checks.fetch_add(1, Ordering::Relaxed) + 1;
        match self.config.deed {
            Deed::Pass
            | Deed::Refuse
            | Deed::PanicInNew
            | Deed::AbortInNew
            | Deed::PanicInDrop
            | Deed::NeverCreated => Verdict::Pass,
            Deed::Busy => Verdict::Busy(text),
            Deed::Fail => Verdict::Fail(text),
            Deed::Inconclusive => Verdict::Inconclusive(text),
            Deed::Unsupported => Verdict::Unsupported,
            Deed::Count | Deed::CreatedLate => Verdict::Busy(number.to_string()),
            Deed::PanicInCheck => panic!("in check"),
            Deed::PanicInTurns if number % 2 == 1 => panic!("in check {number}"),
            Deed::PanicInTurns => Verdict::Pass,
            Deed::PanicInPayload => resume_unwind(Box::new(Boom)),
            Deed::PanicInPanic => panic!("{}", Boom),
            Deed::NeverReturn => {
                call(cx, "ping", Value::Null).await;
                never()
            }
            Deed::Spin => {
                call(cx, "ping", Value::Null).await;
                spin()
            }
            Deed::Late => {
                thread::sleep(cx.remaining() + Duration::from_millis(self.config.ms));
                Verdict::Pass
            }
            Deed::Garbage => Verdict::Busy("one\r\ntwo\n\n\u{1b}[31mred\u{0}\u{85}\u{2028}end\n".to_owned()),
            Deed::HugeDetail => Verdict::Busy("\u{e4}".repeat(HUGE / 2)),
            Deed::Abort => abort(),
            Deed::Exit => leave(),
            Deed::StackOverflow => Verdict::Busy(overflow(1).to_string()),
            Deed::SpawnChildren => Verdict::Busy(children()),
            Deed::SpawnAndExit => {
                children();
                leave()
            }
            Deed::Print => print(&text),
            Deed::ReadStdin => {
                let read = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
                Verdict::Busy(format!("{read:?}"))
            }
            Deed::CloseAll => close_all(),
            Deed::LeakThread => {
                thread::spawn(|| {
                    loop {
                        print("from a thread");
                        thread::sleep(Duration::from_millis(10));
                    }
                });
                Verdict::Pass
            }
            Deed::CallToolsCall => call(cx, "tools/call", json!({ "name": text, "arguments": {} })).await,
            Deed::Call => call(cx, &text, Value::Null).await,
            Deed::CallMany => {
                for at in 0..self.config.count {
                    if let Err(error) = cx.call("ping", Value::Null, cx.remaining()).await {
                        return Verdict::Inconclusive(format!("{at}: {error}"));
                    }
                }
                Verdict::Pass
            }
            Deed::HugeCall => call(cx, "ping", json!({ "text": "x".repeat(HUGE) })).await,
        }
    }
}

/// How a call ended, as a verdict that shows it and condemns nobody.
async fn call(cx: &dyn Context, method: &str, params: Value) -> Verdict {
    Verdict::Busy(match cx.call(method, params, cx.remaining()).await {
        Ok(reply) => format!("{reply:?}"),
        Err(error) => format!("{error:?}"),
    })
}

fn never() -> ! {
    loop {
        thread::park();
    }
}

fn created_late(file: &Path) {
    let lines = OpenOptions::new().create(true).append(true).open(file);
    lines.and_then(|mut lines| lines.write_all(b"created\n")).expect("the test's folder is writable");
    while !file.with_file_name("go").exists() {
        thread::sleep(Duration::from_millis(2));
    }
}

fn spin() -> ! {
    loop {
        std::hint::spin_loop();
    }
}

#[expect(clippy::exit, reason = "what a plugin must not do")]
fn leave() -> ! {
    exit(0)
}

#[expect(unconditional_recursion, reason = "what a plugin must not do")]
fn overflow(depth: u64) -> u64 {
    let frame = std::hint::black_box([depth; 512]);
    overflow(depth + 1) + frame[0]
}

/// In sessions of their own, so that no signal to a group of processes finds them.
fn children() -> String {
    let start = |_| Command::new("setsid").args(["sleep", "3600"]).spawn().map(|child| child.id().to_string());
    let started: Result<Vec<_>, _> = (0..3).map(start).collect();
    started.map_or_else(|error| error.to_string(), |numbers| numbers.join(" "))
}

fn print(text: &str) -> Verdict {
    let (mut stdout, mut stderr) = (std::io::stdout(), std::io::stderr());
    let written = writeln!(stdout, "{text} on stdout\nand a part")
        .and_then(|()| write!(stdout, "of a line"))
        .and_then(|()| stdout.flush())
        .and_then(|()| writeln!(stderr, "{text} on stderr"));
    written.map_or_else(|error| Verdict::Fail(error.to_string()), |()| Verdict::Pass)
}

#[expect(unsafe_code, reason = "what a plugin must not do")]
fn close_all() -> Verdict {
    // SAFETY: it is declared as in <unistd.h>. That the descriptors belong to others is the point.
    unsafe extern "C" {
        safe fn close(number: i32) -> i32;
    }
    for number in 0..1024 {
        close(number);
    }
    Verdict::Pass
}

declare_probe!(Hostile);
