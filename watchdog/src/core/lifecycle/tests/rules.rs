//! Rules that span several cells of the table.

use super::*;
use crate::core::lifecycle::{HELD_APART, SHORTEST_HELD};

#[test]
fn s183_the_budget_continues_across_cycles_until_permanent_failure() {
    let mut machine = Machine::connected(|server| server.restart.max_attempts = Some(3));
    for attempt in 1..=3 {
        // The handshake succeeds, and the server dies before it is stable.
        machine.dies();
        if attempt > 1 {
            machine.ring();
        }
        assert!(machine.spawned(), "attempt {attempt}");
        assert_eq!(machine.life.attempts().0, attempt);
        machine.ok();
        machine.wait(3);
    }
    machine.on(Event::Lost(machine.generation()));
    assert!(machine.failed_for_good());
    assert!(machine.told(Notice::Failed) && machine.did(Action::Exhausted));
    assert!(!machine.did(Action::RejectHeld(Rejection::PermanentlyFailed)), "no attempt was made for those who wait");
    assert_eq!(machine.life.next_attempt(), None, "no timer");
}

/// The processor and the log would be full of attempts that nobody asked for.
#[test]
fn no_delay_without_end_keeps_attempts_a_little_apart() {
    let some = Duration::from_millis(50);
    for (interval, apart) in [(secs(3), HELD_APART), (some, some), (Duration::ZERO, SHORTEST_HELD)] {
        for delays in [
            Delays::Schedule(vec![Duration::ZERO]),
            Delays::Schedule(vec![secs(0), Duration::from_nanos(1)]),
            Delays::Exponential { initial: Duration::ZERO, multiplier: 2.0, max: secs(60) },
        ] {
            let written = if let Delays::Schedule(delays) = &delays { delays.len() } else { 1 };
            let mut machine = Machine::connected(|server| {
                server.restart.delays = delays.clone();
                server.restart.min_attempt_interval = interval;
            });
            machine.dies();
            assert!(machine.spawned(), "the first one is made at once: {delays:?}");
            for _ in 1..written {
                machine.attempt_fails();
                machine.ring();
                assert!(machine.spawned());
            }
            for _ in 0..100 {
                let last = machine.now;
                machine.attempt_fails();
                assert_eq!(machine.life.next_attempt(), Some(last + apart), "{delays:?}");
                let told = |action: &Action| matches!(action, Action::Notice(Notice::Reconnecting { delay, .. }) if *delay == apart);
                assert!(machine.actions.iter().any(told), "{:?}", machine.actions);
                machine.ring();
                assert!(machine.spawned());
            }
            machine.wait(3);
            machine.attempt_fails();
            assert!(machine.spawned() || written > 1, "one that took so long is followed at once: {delays:?}");
        }
    }
}

/// Each success begins a new row, whose first delay is none.
#[test]
fn a_server_that_ends_when_it_has_connected_is_not_started_without_a_pause() {
    let (none, some) = (Duration::ZERO, Duration::from_millis(50));
    for (uptime, interval, apart) in
        [(none, secs(3), HELD_APART), (some, secs(3), HELD_APART), (none, none, SHORTEST_HELD)]
    {
        let mut machine = Machine::connected(|server| {
            server.restart.min_uptime = uptime;
            server.restart.min_attempt_interval = interval;
        });
        for _ in 0..100 {
            let last = machine.now;
            machine.now += uptime;
            if let Some(&Action::Arm(token, at)) = machine.actions.first() {
                assert_eq!(at, machine.now);
                machine.on(Event::Timer(token));
            }
            machine.dies();
            assert_eq!(machine.life.next_attempt(), Some(last + apart), "{uptime:?}, {interval:?}");
            machine.ring();
            assert!(machine.spawned());
            machine.ok();
        }
    }
    let mut stable = Machine::connected(|server| server.restart.min_uptime = HELD_APART);
    stable.dies();
    assert!(stable.spawned(), "one that is forgotten later grows");
}

#[test]
fn delays_of_none_that_are_written_one_by_one_are_taken_as_written() {
    let mut machine =
        Machine::connected(|server| server.restart.delays = Delays::Schedule([0, 0, 0].map(secs).to_vec()));
    machine.dies();
    for _ in 0..2 {
        machine.attempt_fails();
        assert!(machine.spawned());
    }
    machine.attempt_fails();
    assert!(!machine.spawned(), "held");
}

#[test]
fn s208_min_uptime_forgets_the_row_of_attempts() {
    let mut machine = Machine::connected(|server| server.restart.max_attempts = Some(2));
    for _ in 0..10 {
        machine.dies();
        assert!(machine.spawned(), "the first delay of a row is none");
        machine.ok();
        let Some(&Action::Arm(token, at)) = machine.actions.first() else { panic!("{:?}", machine.actions) };
        assert_eq!(at, machine.now + secs(10));
        machine.now = at;
        machine.on(Event::Timer(token));
        assert_eq!(machine.life.attempts().0, 0);
    }
}

#[test]
fn without_min_uptime_a_success_forgets_the_row_at_once() {
    let mut machine = Machine::connected(|server| server.restart.min_uptime = Duration::ZERO);
    machine.wait(1);
    machine.dies();
    assert!(machine.spawned(), "long after the last one");
    machine.ok();
    assert_eq!(machine.life.attempts().0, 0);
    assert!(!machine.actions.iter().any(|action| matches!(action, Action::Arm(..))));
}

#[test]
fn the_first_connection_is_no_restart() {
    let mut machine = Machine::started(|server| server.restart.max_attempts = Some(3));
    machine.attempt_fails();
    machine.attempt_fails();
    machine.ring();
    machine.ok();
    assert!(machine.told(Notice::Connected { attempts: 3 }));
    assert_eq!(machine.life.attempts().0, 0);
    machine.dies();
    machine.ok();
    assert!(machine.told(Notice::Reconnected { attempts: 1 }));
    assert_eq!(machine.life.attempts().0, 1, "this one has to prove itself");
}

#[test]
fn s259_one_attempt_at_a_time() {
    let mut machine = Machine::connected(|_| ());
    machine.on(Event::Lost(Generation(1)));
    for event in [Event::Request, Event::ForceRetry, Event::Wake, Event::Start, Event::Configure(false)] {
        machine.on(event);
        assert!(!machine.spawned(), "{event:?} while the old tree is not gone");
    }
    machine.gone();
    assert!(machine.did(Action::Spawn(Generation(2))));
    for event in [Event::Request, Event::ForceRetry, Event::Wake, Event::Start, Event::Configure(false)] {
        machine.on(event);
        assert!(!machine.spawned(), "{event:?} while an attempt runs");
    }
}

#[test]
fn s196_news_of_an_old_generation_changes_nothing() {
    let mut machine = Machine::connected(|_| ());
    machine.dies();
    machine.ok();
    let old = Generation(1);
    let stale = [
        Event::AttemptOk(old),
        Event::AttemptFailed(old),
        Event::Lost(old),
        Event::TransportError(old),
        Event::ToolTimeout(old),
        Event::ProbePassed(old),
        Event::ProbeFailed(old),
        Event::Health(old, false),
        Event::TornDown(old, false),
        Event::Timer(Token(99)),
    ];
    for (count, event) in (1..).zip(stale) {
        let before = machine.life.state().clone();
        machine.on(event);
        assert_eq!(machine.actions, [Action::Notice(Notice::Stale)], "{event:?}");
        assert_eq!(*machine.life.state(), before, "{event:?}");
        assert_eq!(machine.life.counts(), (count, 0), "{event:?}");
    }
}

#[test]
fn s9_a_request_pulls_a_scheduled_attempt_forward_but_not_closer_than_the_interval() {
    let mut machine = Machine::connected(|_| ());
    machine.dies();
    machine.attempt_fails();
    let attempted = machine.life.last_attempt().expect("there was an attempt");
    assert_eq!(machine.life.next_attempt(), Some(attempted + secs(4)));

    assert_eq!(machine.on(Event::Request), Some(Admission::Hold));
    assert!(!machine.spawned(), "the last attempt was just now");
    assert_eq!(machine.life.next_attempt(), Some(attempted + secs(1)), "min_attempt_interval");
    machine.on(Event::Request);
    assert_eq!(machine.actions, [], "a second caller joins");

    machine.ring();
    assert!(machine.spawned());
    machine.attempt_fails();
    machine.wait(3);
    machine.on(Event::Request);
    assert!(machine.spawned(), "the interval has passed long ago");
}

#[test]
fn s213_a_request_makes_one_attempt_after_permanent_failure() {
    let mut machine = Machine::connected(|server| server.restart.max_attempts = Some(1));
    machine.dies();
    machine.attempt_fails();
    assert!(machine.failed_for_good());
    machine.wait(60);
    for _ in 0..3 {
        assert_eq!(machine.on(Event::Request), Some(Admission::Hold));
        assert!(machine.spawned());
        assert_eq!(machine.on(Event::Request), Some(Admission::Hold), "it joins");
        assert!(!machine.spawned());
        machine.attempt_fails();
        assert!(machine.did(Action::RejectHeld(Rejection::PermanentlyFailed)));
        assert!(machine.failed_for_good() && machine.life.live().is_none() && machine.life.next_attempt().is_none());
        machine.wait(2);
    }
    machine.on(Event::Request);
    machine.ok();
    assert!(machine.told(Notice::Reconnected { attempts: 5 }));
}

#[test]
fn a_request_right_after_permanent_failure_waits_for_the_interval() {
    let mut machine = Machine::connected(|server| server.restart.max_attempts = Some(1));
    machine.dies();
    machine.attempt_fails();
    assert_eq!(machine.on(Event::Request), Some(Admission::Hold));
    assert!(!machine.spawned());
    machine.ring();
    assert!(machine.spawned() && machine.failed_for_good());
}

#[test]
fn what_a_request_meets_while_the_server_is_down_is_configurable() {
    let down = |on_call| {
        let mut machine = Machine::connected(|server| {
            server.restart.on_call = on_call;
            server.restart.max_attempts = Some(2);
        });
        machine.dies();
        machine.attempt_fails();
        machine.wait(3);
        machine
    };
    let mut wait = down(OnCall::Wait);
    assert_eq!(wait.on(Event::Request), Some(Admission::Hold));
    assert!(!wait.spawned(), "it waits for the attempt that is scheduled");
    let mut error = down(OnCall::Error);
    assert_eq!(error.on(Event::Request), Some(Admission::Reject(Rejection::Down)));
    for machine in [&mut wait, &mut error] {
        machine.ring();
        machine.attempt_fails();
        assert!(machine.failed_for_good());
        assert_eq!(machine.on(Event::Request), Some(Admission::Reject(Rejection::PermanentlyFailed)));
    }
    let mut first = Machine::started(|server| server.restart.on_call = OnCall::Error);
    first.attempt_fails();
    first.attempt_fails();
    assert_eq!(first.on(Event::Request), Some(Admission::Hold), "before the first connection everything waits");
}

#[test]
fn s205_disable_is_idempotent() {
    let mut machine = Machine::connected(|_| ());
    machine.on(Event::Disable);
    assert!(machine.did(Action::Tear(Generation(1))) && machine.told(Notice::Disabled));
    assert!(machine.told(Notice::Disconnected { intentional: true, reason: Reason::Disabled }));
    machine.on(Event::Disable);
    assert_eq!(machine.actions, [Action::RejectHeld(Rejection::Disabled)]);
    machine.on(Event::TornDown(Generation(1), true));
    assert_eq!(*machine.life.state(), State::Disabled);
    machine.on(Event::Disable);
    assert_eq!(machine.actions, []);
}

#[test]
fn s206_force_retry_of_a_disabled_server_is_refused() {
    let mut machine = Machine::connected(|_| ());
    machine.on(Event::Disable);
    let refused = Some(Admission::Reject(Rejection::Disabled));
    assert_eq!(machine.on(Event::ForceRetry), refused, "while it is being switched off");
    machine.gone();
    assert_eq!(machine.on(Event::ForceRetry), refused);
    assert_eq!(*machine.life.state(), State::Disabled, "it is not enabled by the way");
}

#[test]
fn enable_while_disabling_is_a_restart_after_the_teardown() {
    let mut machine = Machine::connected(|_| ());
    machine.on(Event::Disable);
    machine.on(Event::Start);
    assert!(!machine.spawned());
    assert_eq!(machine.on(Event::Request), Some(Admission::Hold), "it will be there");
    machine.on(Event::TornDown(Generation(1), true));
    assert!(machine.did(Action::Spawn(Generation(2))));
    machine.ok();
    assert!(machine.told(Notice::Connected { attempts: 1 }), "a new enable-period");

    machine.on(Event::Disable);
    machine.on(Event::Start);
    machine.on(Event::Disable);
    machine.on(Event::TornDown(Generation(2), true));
    assert_eq!(*machine.life.state(), State::Disabled, "the last word counts");
}

#[test]
fn a_lazy_server_starts_with_the_first_request() {
    let mut machine = Machine::started(|server| server.start = Start::Lazy);
    assert!(!machine.spawned());
    assert_eq!(machine.on(Event::Request), Some(Admission::Hold));
    assert!(machine.did(Action::Spawn(Generation(1))));
    machine.ok();
    machine.dies();
    assert!(machine.spawned(), "once it was wanted it is kept");
}

#[test]
fn s36_waking_up_resets_the_row_and_attempts_at_once() {
    let mut machine = Machine::connected(|_| ());
    machine.dies();
    for _ in 0..3 {
        machine.attempt_fails();
        if machine.life.next_attempt().is_some() {
            machine.ring();
        }
    }
    machine.attempt_fails();
    machine.on(Event::Wake);
    assert!(machine.spawned());
    assert_eq!(machine.life.attempts().0, 1);
}

#[test]
fn s78_waking_up_connected_looks_once_and_gives_calls_their_time_again() {
    let mut machine = Machine::connected(|_| ());
    machine.on(Event::Wake);
    assert_eq!(machine.actions, [Action::RearmOverdue, Action::CheckNow]);
    assert!(machine.life.is_connected());
}

#[test]
fn a_changed_configuration_replaces_the_process_only_if_it_must() {
    let mut machine = Machine::connected(|_| ());
    machine.on(Event::Configure(false));
    assert_eq!(machine.actions, []);
    machine.on(Event::Configure(true));
    assert!(machine.did(Action::Tear(Generation(1))));
    assert!(machine.did(Action::FailInFlight(Loss::Disconnected(Reason::Config))));
    machine.gone();
    assert!(machine.did(Action::Spawn(Generation(2))));

    // The attempt that runs has the old configuration.
    machine.on(Event::Configure(true));
    assert!(machine.did(Action::Tear(Generation(2))));
    assert!(machine.did(Action::FailInFlight(Loss::Disconnected(Reason::Config))));
    machine.gone();
    assert!(machine.did(Action::Spawn(Generation(3))));
}

#[test]
fn a_changed_configuration_is_a_new_budget() {
    let mut server = server();
    server.restart.max_attempts = Some(1);
    let mut machine = Machine::connected(|server| server.restart.max_attempts = Some(1));
    machine.dies();
    machine.attempt_fails();
    assert!(machine.failed_for_good());
    machine.life.set_policy(Policy::new(&server));
    machine.on(Event::Configure(true));
    assert!(machine.spawned());
    assert_eq!(machine.life.attempts(), (1, Some(1)));
    assert!(matches!(machine.life.state(), State::Reconnecting { reason: Reason::Config, .. }));
}

#[test]
fn s201_close_failures_are_counted_apart_from_the_budget() {
    let mut machine = Machine::connected(|server| server.restart.max_attempts = Some(2));
    machine.on(Event::Lost(Generation(1)));
    machine.on(Event::TornDown(Generation(1), false));
    assert!(machine.told(Notice::CloseFailed) && machine.spawned(), "the restart goes on");
    assert_eq!((machine.life.counts(), machine.life.attempts().0), ((0, 1), 1));
    machine.on(Event::Disable);
    machine.on(Event::TornDown(Generation(2), false));
    assert_eq!(*machine.life.state(), State::Disabled, "s194: disable always ends in Disabled");
    assert_eq!(machine.life.counts(), (0, 2));
}

#[test]
fn s58_degraded_is_told_once_per_episode() {
    let mut machine = Machine::connected(|_| ());
    let one = Generation(1);
    for failures in 1..=5 {
        machine.on(Event::Health(one, false));
        assert_eq!(machine.told(Notice::Degraded { failures }), failures == 3, "failure {failures}");
        assert!(machine.life.is_connected(), "s40: a warning only");
    }
    machine.on(Event::Health(one, true));
    assert!(machine.told(Notice::Restored));
    machine.on(Event::Health(one, true));
    assert_eq!(machine.actions, [], "restored is told once too");
    for _ in 0..3 {
        machine.on(Event::Health(one, false));
    }
    assert!(machine.told(Notice::Degraded { failures: 3 }), "another episode");
}

#[test]
fn s181_unhealthy_restarts_only_after_the_threshold_and_only_where_asked() {
    let mut machine = Machine::connected(|server| server.health.on_unhealthy = OnUnhealthy::Restart);
    let one = Generation(1);
    machine.on(Event::Health(one, false));
    machine.on(Event::Health(one, false));
    assert!(machine.life.is_connected());
    machine.on(Event::Health(one, false));
    assert!(machine.did(Action::Tear(one)));
    assert!(matches!(machine.life.state(), State::Reconnecting { reason: Reason::Health, .. }));
}

#[test]
fn what_a_failed_probe_chain_means_is_configurable() {
    let overdue = |on_failure, on_unhealthy| {
        let mut machine = Machine::connected(|server| {
            server.probe.on_failure = on_failure;
            server.health.on_unhealthy = on_unhealthy;
            server.health.threshold = 1;
        });
        machine.on(Event::ToolTimeout(Generation(1)));
        machine
    };
    let failed = Event::ProbeFailed(Generation(1));
    let mut restart = overdue(OnProbeFailure::Restart, OnUnhealthy::Warn);
    assert!(restart.did(Action::StartProbe) && restart.life.is_connected(), "s248: a suspicion kills nothing");
    restart.on(failed);
    assert!(restart.did(Action::Tear(Generation(1))));

    let mut warn = overdue(OnProbeFailure::Warn, OnUnhealthy::Restart);
    warn.on(failed);
    assert!(warn.life.is_connected() && warn.told(Notice::Degraded { failures: 1 }) && warn.did(Action::RearmOverdue));

    let mut count = overdue(OnProbeFailure::Count, OnUnhealthy::Restart);
    count.on(failed);
    assert!(count.did(Action::Tear(Generation(1))), "it was the failure that reached the threshold");

    let close = overdue(OnProbeFailure::Close, OnUnhealthy::Warn);
    assert!(close.did(Action::Tear(Generation(1))) && !close.did(Action::StartProbe), "no probe");
}

#[test]
fn s258_a_planned_end_makes_the_exit_that_follows_stale() {
    let mut machine = Machine::connected(|_| ());
    machine.on(Event::ForceRetry);
    assert!(machine.told(Notice::Disconnected { intentional: true, reason: Reason::Force }));
    machine.on(Event::Lost(Generation(1)));
    assert_eq!(machine.actions, [Action::Notice(Notice::Stale)]);
    machine.gone();
    assert!(machine.did(Action::Spawn(Generation(2))));
}

#[test]
fn s235_force_retry_resets_the_count_and_takes_no_delay() {
    let mut machine = Machine::connected(|server| server.restart.delays = Delays::Schedule(vec![secs(30)]));
    machine.dies();
    machine.ring();
    machine.ok();
    machine.on(Event::ForceRetry);
    assert_eq!(machine.life.attempts().0, 0);
    assert!(!machine.actions.iter().any(|action| matches!(action, Action::Arm(..))), "no delay");
    machine.gone();
    assert!(machine.spawned());
}

#[test]
fn s220_states_have_names_in_the_vocabulary_of_document_003() {
    let mut machine = Machine::new(|server| server.restart.max_attempts = Some(2));
    assert_eq!((machine.life.state_name(), machine.life.status()), ("Disconnected", "disconnected"));
    machine.on(Event::Start);
    assert_eq!((machine.life.state_name(), machine.life.status()), ("Connecting", "connecting"));
    machine.attempt_fails();
    assert_eq!((machine.life.state_name(), machine.life.status()), ("Connecting", "retrying"));
    machine.ok();
    assert_eq!((machine.life.state_name(), machine.life.status()), ("Connected", "connected"));
    machine.dies();
    assert_eq!((machine.life.state_name(), machine.life.status()), ("Reconnecting", "retrying"));
    machine.attempt_fails();
    machine.ring();
    machine.attempt_fails();
    assert_eq!((machine.life.state_name(), machine.life.status()), ("PermanentlyFailed", "failed"));
    machine.on(Event::Disable);
    assert_eq!((machine.life.state_name(), machine.life.status()), ("Disabled", "disconnected"));
}

/// The client of a served slot leaves, and its process ends.
fn next_client(machine: &mut Machine) {
    machine.on(Event::Remove);
    if let Some(dying) = machine.life.dying() {
        machine.on(Event::TornDown(dying, true));
    }
    machine.life = machine.life.successor(true, 0);
    machine.on(Event::Start);
}

#[test]
fn clients_that_come_and_go_cause_no_more_attempts_than_requests_may() {
    let mut machine = Machine::connected(|server| server.restart.min_attempt_interval = secs(1));
    let first = machine.generation();
    next_client(&mut machine);
    assert!(!machine.spawned(), "too soon after the last attempt");
    next_client(&mut machine);
    assert!(!machine.spawned());
    assert_eq!(machine.generation(), first);
    machine.ring();
    assert!(machine.spawned());
    machine.ok();
    machine.wait(60);
    next_client(&mut machine);
    assert!(machine.spawned(), "at once where the last attempt is long ago");
}

#[test]
fn a_budget_that_is_used_up_is_not_given_back_by_a_client_that_leaves() {
    let mut machine = Machine::started(|server| server.restart.max_attempts = Some(1));
    machine.attempt_fails();
    assert!(machine.failed_for_good());
    next_client(&mut machine);
    assert!(machine.failed_for_good() && !machine.spawned());
    machine.on(Event::Request);
    machine.wait(5);
    machine.on(Event::ForceRetry);
    assert!(machine.life.live().is_some(), "an operator may still have it tried");
}

#[test]
fn a_lazy_server_waits_for_a_request_of_each_client() {
    let mut machine = Machine::started(|server| server.start = Start::Lazy);
    machine.on(Event::Request);
    machine.ok();
    machine.wait(60);
    next_client(&mut machine);
    assert!(!machine.spawned());
    machine.on(Event::Request);
    assert!(machine.spawned());
}

/// The process tree of the live generation is gone, after an end that was wanted.
fn planned(machine: &mut Machine, reason: Reason) {
    machine.on(Event::Replace(reason));
    assert!(machine.told(Notice::Disconnected { intentional: true, reason }), "{:?}", machine.actions);
    machine.gone();
}

#[test]
fn a_planned_replacement_has_no_delay_and_costs_no_attempt() {
    for reason in [Reason::MaxLifetime, Reason::MemoryLimit, Reason::FilesChanged] {
        let mut machine = Machine::connected(|server| server.restart.max_attempts = Some(1));
        for _ in 0..5 {
            planned(&mut machine, reason);
            assert!(machine.spawned(), "at once");
            machine.ok();
            assert!(machine.told(Notice::Reconnected { attempts: 1 }));
            assert_eq!(machine.life.attempts().0, 0);
        }
        planned(&mut machine, reason);
        machine.attempt_fails();
        assert!(!machine.failed_for_good() && machine.spawned(), "the budget of one is still there");
        assert!(matches!(machine.life.state(), State::Reconnecting { reason: Reason::StartFailure, .. }));
        machine.attempt_fails();
        assert!(machine.failed_for_good(), "and is used up now");
    }
}

#[test]
fn other_files_are_a_reason_to_try_again_and_other_plans_are_not() {
    let crash_loop = || {
        let mut machine = Machine::connected(|server| server.restart.max_attempts = Some(3));
        machine.dies();
        machine.attempt_fails();
        machine
    };
    let failed = || {
        let mut machine = crash_loop();
        machine.ring();
        machine.attempt_fails();
        machine.ring();
        machine.attempt_fails();
        assert!(machine.failed_for_good());
        machine
    };
    for mut machine in [crash_loop(), failed()] {
        machine.on(Event::Replace(Reason::MemoryLimit));
        assert!(machine.actions.is_empty());
        machine.on(Event::Replace(Reason::FilesChanged));
        assert!(machine.spawned());
        assert_eq!(machine.life.attempts().0, 1, "a new row");
    }
    let mut disabled = Machine::new(|server| server.enabled = false);
    disabled.on(Event::Replace(Reason::FilesChanged));
    assert!(disabled.actions.is_empty());
}

#[test]
fn an_attempt_with_old_files_makes_room_for_one_with_new_ones() {
    let mut machine = Machine::started(|server| server.restart.max_attempts = Some(1));
    for _ in 0..5 {
        machine.on(Event::Replace(Reason::FilesChanged));
        assert!(machine.did(Action::Tear(machine.generation())) && !machine.spawned());
        machine.gone();
        assert!(machine.spawned());
    }
    machine.ok();
}

#[test]
fn an_idle_server_is_stopped_and_started_by_the_next_request() {
    let mut machine = Machine::connected(|server| server.restart.max_attempts = Some(1));
    for _ in 0..5 {
        machine.on(Event::Idle);
        assert!(machine.life.is_standby() && machine.did(Action::StopHealth));
        assert_eq!((machine.life.state_name(), machine.life.status()), ("Disabling", "disconnected"));
        machine.gone();
        assert!(!machine.spawned() && machine.life.is_standby());
        assert_eq!(*machine.life.state(), State::Disconnected { removed: false });
        machine.wait(1000);
        for event in [Event::Wake, Event::Configure(true), Event::Replace(Reason::FilesChanged), Event::Idle] {
            machine.on(event);
            assert!(machine.actions.is_empty(), "{event:?}");
        }
        assert_eq!(machine.on(Event::Request), Some(Admission::Hold));
        assert!(machine.spawned() && !machine.life.is_standby());
        machine.ok();
        assert!(machine.told(Notice::Connected { attempts: 1 }));
    }
}

#[test]
fn a_request_during_the_stop_waits_for_the_next_process() {
    let mut machine = Machine::connected(|_| ());
    machine.on(Event::Idle);
    assert_eq!(machine.on(Event::Request), Some(Admission::Hold));
    assert!(!machine.spawned() && !machine.life.is_standby());
    machine.gone();
    assert!(machine.spawned());
}

#[test]
fn what_stands_by_can_be_switched_off_and_removed() {
    let mut machine = Machine::connected(|_| ());
    machine.on(Event::Idle);
    machine.on(Event::Disable);
    assert!(machine.told(Notice::Disabled) && !machine.life.is_standby());
    machine.gone();
    assert_eq!(*machine.life.state(), State::Disabled);
    let mut machine = Machine::connected(|_| ());
    machine.on(Event::Idle);
    machine.gone();
    machine.on(Event::Remove);
    assert_eq!(*machine.life.state(), State::Disconnected { removed: true });
    let mut next = machine.life.successor(true, 1);
    let mut actions = Vec::new();
    next.on(machine.now, Event::Start, &mut actions);
    assert!(next.is_standby() && actions.is_empty(), "the next client's server stays as it is: {actions:?}");
}

#[test]
fn a_server_stands_by_from_its_start_on_and_not_before() {
    let lazy = |server: &mut Server| server.start = Start::Lazy;
    assert!(!Machine::new(lazy).life.is_standby());
    assert!(Machine::started(lazy).life.is_standby());
    assert!(!Machine::new(|_| ()).life.is_standby() && !Machine::started(|_| ()).life.is_standby());
}
