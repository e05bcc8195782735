//! Every cell of the state table of lifecycle.md, section 3, as text.
//!
//! The table is compared with `table.txt`, so that a change of any cell is seen in review. After an intended change write
//! it again with `UPDATE_TABLE=1 cargo test -p mcp-watchdog --lib lifecycle`.

use std::fmt::Write as _;

use super::*;

/// A state and how it is reached.
type Column = (&'static str, fn() -> Machine);

/// The columns: each state, in each form that makes a difference, and how it is reached.
const STATES: [Column; 21] = [
    ("Disabled", || Machine::new(|server| server.enabled = false)),
    ("Connecting, attempting", || started()),
    ("Connecting, waiting", waiting_for_the_first),
    ("Connecting, clearing", || {
        let mut machine = started();
        machine.on(Event::AttemptFailed(Generation(1)));
        machine
    }),
    ("Connected", || Machine::connected(policy)),
    ("Connected, not yet stable", || {
        let mut machine = Machine::connected(policy);
        machine.dies();
        machine.ok();
        machine
    }),
    ("Connected, probing", || {
        let mut machine = Machine::connected(policy);
        machine.on(Event::ToolTimeout(Generation(1)));
        machine
    }),
    ("Connected, one failure before degraded", || {
        let mut machine = Machine::connected(policy);
        machine.on(Event::Health(Generation(1), false));
        machine
    }),
    ("Connected, degraded", || {
        let mut machine = Machine::connected(policy);
        machine.on(Event::Health(Generation(1), false));
        machine.on(Event::Health(Generation(1), false));
        machine
    }),
    ("Reconnecting, attempting", || {
        let mut machine = Machine::connected(policy);
        machine.dies();
        machine
    }),
    ("Reconnecting, waiting", || {
        let mut machine = Machine::connected(policy);
        machine.dies();
        machine.attempt_fails();
        machine.wait(2);
        machine
    }),
    ("Reconnecting, clearing", || {
        let mut machine = Machine::connected(policy);
        machine.on(Event::Lost(Generation(1)));
        machine
    }),
    ("Reconnecting, as planned", || {
        let mut machine = Machine::connected(policy);
        machine.on(Event::Replace(Reason::MaxLifetime));
        machine.gone();
        machine
    }),
    ("Disabling to Disabled", || {
        let mut machine = Machine::connected(policy);
        machine.on(Event::Disable);
        machine
    }),
    ("Disabling to Restart", || {
        let mut machine = Machine::connected(policy);
        machine.on(Event::Disable);
        machine.on(Event::Start);
        machine
    }),
    ("Disabling to Removed", || {
        let mut machine = Machine::connected(policy);
        machine.on(Event::Remove);
        machine
    }),
    ("Disabling to Standby", || {
        let mut machine = Machine::connected(policy);
        machine.on(Event::Idle);
        machine
    }),
    ("Disconnected, stopped when idle", || {
        let mut machine = Machine::connected(policy);
        machine.on(Event::Idle);
        machine.gone();
        machine
    }),
    ("Disconnected, lazy", || Machine::started(|server| server.start = Start::Lazy)),
    ("Disconnected, removed", || {
        let mut machine = Machine::connected(policy);
        machine.on(Event::Remove);
        machine.gone();
        machine
    }),
    ("PermanentlyFailed", failed),
];

/// The same for the attempt that a request causes in `PermanentlyFailed`.
const TRIALS: [Column; 3] = [
    ("PermanentlyFailed, trial attempting", || {
        let mut machine = failed();
        machine.on(Event::Request);
        machine
    }),
    ("PermanentlyFailed, trial waiting", || {
        let mut machine = failed();
        machine.now = machine.life.last_attempt().expect("there were attempts");
        machine.on(Event::Request);
        machine
    }),
    ("PermanentlyFailed, trial clearing", || {
        let mut machine = failed();
        machine.on(Event::Request);
        machine.on(Event::AttemptFailed(machine.generation()));
        machine.wait(2);
        machine.on(Event::Request);
        machine
    }),
];

fn policy(server: &mut Server) {
    server.restart.max_attempts = Some(3);
    server.health.threshold = 2;
}

fn started() -> Machine {
    Machine::started(policy)
}

fn waiting_for_the_first() -> Machine {
    let mut machine = started();
    machine.attempt_fails();
    machine.attempt_fails();
    machine.wait(2);
    machine
}

fn failed() -> Machine {
    let mut machine = waiting_for_the_first();
    machine.ring();
    machine.attempt_fails();
    machine.wait(2);
    machine
}

/// The rows. An event of a generation or timer is that of the current one where there is one, else of the latest.
fn events(machine: &Machine) -> Vec<(&'static str, Event)> {
    let life = &machine.life;
    let generation = life.live().unwrap_or_else(|| life.generation());
    let dying = life.dying().unwrap_or_else(|| life.generation());
    let token = match (life.state(), life.phase()) {
        (State::Connected(runtime), _) => runtime.uptime,
        (_, Some(Phase::Waiting { token, .. })) => Some(token),
        _ => None,
    };
    let token = token.unwrap_or(Token(0));
    vec![
        ("E1 start", Event::Start),
        ("E2 attempt ok", Event::AttemptOk(generation)),
        ("E3 attempt failed", Event::AttemptFailed(generation)),
        ("E4 lost", Event::Lost(generation)),
        ("E4 lost, an older one", Event::Lost(Generation(0))),
        ("E5 tool timeout", Event::ToolTimeout(generation)),
        ("E6 probe passed", Event::ProbePassed(generation)),
        ("E7 probe failed", Event::ProbeFailed(generation)),
        ("E8 timer", Event::Timer(token)),
        ("E8 timer, an older one", Event::Timer(Token(u64::MAX))),
        ("E9 request", Event::Request),
        ("E10 force retry", Event::ForceRetry),
        ("E11 disable", Event::Disable),
        ("E12 remove", Event::Remove),
        ("E13 torn down", Event::TornDown(dying, true)),
        ("E13 torn down, not clean", Event::TornDown(dying, false)),
        ("E14 health ok", Event::Health(generation, true)),
        ("E14 health failed", Event::Health(generation, false)),
        ("E15 transport error", Event::TransportError(generation)),
        ("E16 cancel", Event::Cancel),
        ("E17 configure", Event::Configure(false)),
        ("E17 configure, replace", Event::Configure(true)),
        ("E18 wake", Event::Wake),
        ("E19 replace, too large", Event::Replace(Reason::MemoryLimit)),
        ("E19 replace, other files", Event::Replace(Reason::FilesChanged)),
        ("E20 idle", Event::Idle),
    ]
}

/// One state's rows: event, the answer where there is one, the new state and what is done.
fn block(title: &str, make: fn() -> Machine) -> String {
    let mut text = format!("## {title}: {}\n\n", state_text(&make()));
    for (name, event) in events(&make()) {
        let mut machine = make();
        let before = state_text(&machine);
        let answer = machine.on(event);
        let after = state_text(&machine);
        let after = if after == before { "(stays)".to_owned() } else { after };
        let answer = answer.map(|answer| format!("{answer:?}: ")).unwrap_or_default();
        let actions: Vec<_> = machine.actions.iter().map(|action| action_text(*action)).collect();
        let actions = if actions.is_empty() { "nothing".to_owned() } else { actions.join(", ") };
        writeln!(text, "{name:<26}{answer}{after} | {actions}").expect("writing to a String cannot fail");
    }
    text + "\n"
}

/// A state in short, with generations and what is left of its times.
fn state_text(machine: &Machine) -> String {
    let life = &machine.life;
    let dying = life.dying().map(|generation| format!(" while g{generation} dies")).unwrap_or_default();
    let state = match life.state() {
        State::Disabled => "Disabled".to_owned(),
        State::Connecting(phase) => format!("Connecting({})", phase_text(machine, *phase)),
        State::Connected(runtime) => {
            let mut text = format!("Connected(g{}", life.generation());
            if runtime.probing {
                text.push_str(", probing");
            }
            if runtime.failures > 0 {
                write!(text, ", failures {}", runtime.failures).expect("writing to a String cannot fail");
            }
            if runtime.degraded {
                text.push_str(", degraded");
            }
            if runtime.uptime.is_some() {
                text.push_str(", not stable");
            }
            text + ")"
        }
        State::Reconnecting { reason, phase } => {
            format!("Reconnecting({}, {})", reason.name(), phase_text(machine, *phase))
        }
        State::Disabling(target) => format!("Disabling({target:?})"),
        State::Disconnected { removed } => format!("Disconnected{}", if *removed { "(removed)" } else { "" }),
        State::PermanentlyFailed { trial: None } => "PermanentlyFailed".to_owned(),
        State::PermanentlyFailed { trial: Some(phase) } => {
            format!("PermanentlyFailed(trial {})", phase_text(machine, *phase))
        }
    };
    format!("{state}{dying}, attempts {}", life.attempts().0)
}

fn phase_text(machine: &Machine, phase: Phase) -> String {
    match phase {
        Phase::Clearing => "clearing".to_owned(),
        Phase::Attempting => format!("attempting g{}", machine.life.generation()),
        Phase::Waiting { token, at } => format!("waiting t{} {:?}", token.0, at - machine.now),
    }
}

fn action_text(action: Action) -> String {
    match action {
        Action::Spawn(generation) => format!("SPAWN g{generation}"),
        Action::Tear(generation) => format!("TEAR g{generation}"),
        Action::Arm(token, _) => format!("ARM t{}", token.0),
        Action::Disarm(token) => format!("DISARM t{}", token.0),
        Action::FailInFlight(loss) => format!("FAIL {loss:?}"),
        Action::SettleOverdue(restarted) => {
            format!("SETTLE {}", if restarted { "restarted" } else { "restart failed" })
        }
        Action::RejectHeld(rejection) => format!("REJECT {rejection:?}"),
        Action::FlushHeld => "FLUSH".to_owned(),
        Action::Publish => "PUBLISH".to_owned(),
        Action::StartProbe => "PROBE".to_owned(),
        Action::CheckNow => "CHECK".to_owned(),
        Action::StartHealth => "health on".to_owned(),
        Action::StopHealth => "health off".to_owned(),
        Action::RearmOverdue => "REARM".to_owned(),
        Action::Notice(notice) => format!("tell {}", format!("{notice:?}").replace('"', "")),
        Action::Exhausted => "EXHAUSTED".to_owned(),
        Action::Gone => "GONE".to_owned(),
    }
}

#[test]
fn s83_every_cell_of_the_state_table() {
    let intro = "Every event in every state. The policy: delays 0 s, 4 s, 8 s; three attempts; a threshold of two.\n\
                 Columns: event, the answer to a request or a refusal, the new state | what is done, in order.\n\n";
    let blocks: String = STATES.iter().chain(&TRIALS).map(|(title, make)| block(title, *make)).collect();
    let found = format!("{intro}{blocks}").trim_end().to_owned() + "\n";
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/core/lifecycle/tests/table.txt");
    if std::env::var_os("UPDATE_TABLE").is_some() {
        return std::fs::write(path, &found).expect("the table can be written");
    }
    let golden = include_str!("table.txt");
    for (line, (golden, found)) in golden.lines().zip(found.lines()).enumerate() {
        assert_eq!(golden, found, "line {} of table.txt; UPDATE_TABLE=1 writes it again", line + 1);
    }
    assert_eq!(golden.lines().count(), found.lines().count(), "table.txt has another length");
}

/// The columns are what their titles say.
#[test]
fn the_states_of_the_table_are_all_there_are() {
    let mut names: Vec<&str> = STATES
        .iter()
        .chain(&TRIALS)
        .map(|(title, make)| {
            let name = make().life.state_name();
            assert!(title.starts_with(name), "{title} is {name}");
            name
        })
        .collect();
    names.dedup();
    assert_eq!(
        names,
        ["Disabled", "Connecting", "Connected", "Reconnecting", "Disabling", "Disconnected", "PermanentlyFailed"]
    );
}
