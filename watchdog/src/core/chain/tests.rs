use std::time::Duration;

use proptest::prelude::*;

use super::*;

const ANY: ChainPolicy = ChainPolicy { mode: ChainMode::Any, confirmations: 1 };
const ALL: ChainPolicy = ChainPolicy { mode: ChainMode::All, confirmations: 1 };

fn links() -> Vec<Link> {
    let link = |name: &str, skippable| Link { name: name.to_owned(), skippable };
    vec![link("ping", true), link("tools_list", false)]
}

fn chain(policy: ChainPolicy) -> Chain {
    Chain::new(policy, links(), &Latches::default())
}

fn silence() -> (Verdict, Heard) {
    (Verdict::Fail("no answer".into()), Heard::Silence)
}

/// Runs the chain on these verdicts, one for each link that becomes due.
fn run(mut chain: Chain, verdicts: impl IntoIterator<Item = (Verdict, Heard)>) -> Chain {
    for (verdict, heard) in verdicts {
        let link = chain.next_link().expect("a link is due");
        chain.record(link, verdict, heard);
    }
    chain
}

fn outcome(policy: ChainPolicy, verdicts: impl IntoIterator<Item = (Verdict, Heard)>) -> Outcome {
    let chain = run(chain(policy), verdicts);
    assert_eq!(chain.next_link(), None, "the chain has ended");
    chain.finish(&Evidence::default())
}

fn unsupported() -> (Verdict, Heard) {
    (Verdict::Unsupported, Heard::Nothing)
}

fn inconclusive() -> (Verdict, Heard) {
    (Verdict::Inconclusive("hm".into()), Heard::Nothing)
}

fn pass() -> (Verdict, Heard) {
    (Verdict::Pass, Heard::Answer)
}

#[test]
fn any_first_pass_is_life_and_ends_the_chain() {
    assert_eq!(outcome(ANY, [pass()]), Outcome::Alive);
    assert_eq!(outcome(ANY, [silence(), pass()]), Outcome::Alive);
    assert_eq!(outcome(ANY, [(Verdict::Pass, Heard::Unknown)]), Outcome::Alive);
    let busy = (Verdict::Busy("indexing".into()), Heard::Answer);
    assert_eq!(outcome(ANY, [silence(), busy]), Outcome::Busy("tools_list: indexing".into()));
}

#[test]
fn any_silence_of_all_links_is_death_with_all_reasons() {
    let dead = Outcome::Dead("ping: no answer; tools_list: no answer".into());
    assert_eq!(outcome(ANY, [silence(), silence()]), dead);
}

#[test]
fn any_one_failure_is_enough_where_nothing_passes() {
    assert_eq!(outcome(ANY, [unsupported(), silence()]), Outcome::Dead("tools_list: no answer".into()));
    assert_eq!(outcome(ANY, [silence(), inconclusive()]), Outcome::Dead("ping: no answer".into()));
}

#[test]
fn links_that_cannot_tell_decide_nothing() {
    let reason = "no link could tell (ping: not supported here; tools_list: hm)";
    for policy in [ANY, ALL] {
        assert_eq!(outcome(policy, [unsupported(), inconclusive()]), Outcome::Undecided(reason.into()));
    }
}

#[test]
fn a_reply_is_life_also_where_the_probe_could_not_read_it() {
    let replied = (Verdict::Inconclusive("odd".into()), Heard::Answer);
    assert_eq!(outcome(ANY, [silence(), replied]), Outcome::Alive);
    let refused = (Verdict::Unsupported, Heard::Unknown);
    assert_eq!(outcome(ANY, [silence(), refused]), Outcome::Alive);
}

#[test]
fn all_ends_at_the_first_failure_and_needs_one_pass() {
    assert_eq!(outcome(ALL, [silence()]), Outcome::Dead("ping: no answer".into()));
    assert_eq!(outcome(ALL, [pass(), silence()]), Outcome::Dead("tools_list: no answer".into()));
    assert_eq!(outcome(ALL, [pass(), pass()]), Outcome::Alive);
    assert_eq!(outcome(ALL, [unsupported(), pass()]), Outcome::Alive);
    let busy = (Verdict::Busy("indexing".into()), Heard::Answer);
    assert_eq!(outcome(ALL, [busy, pass()]), Outcome::Busy("ping: indexing".into()));
}

#[test]
fn a_failure_has_to_be_confirmed_in_a_row() {
    let twice = ChainPolicy { confirmations: 2, ..ANY };
    let half = run(chain(twice), [silence(), silence()]);
    assert_eq!((half.next_link(), half.links_left()), (Some(LinkIndex(0)), 2));
    let unfinished = Outcome::Undecided("the chain was ended before it was done".into());
    assert_eq!(half.finish(&Evidence::default()), unfinished);
    assert!(matches!(outcome(twice, [silence(), silence(), silence(), silence()]), Outcome::Dead(_)));
    assert_eq!(outcome(twice, [silence(), silence(), silence(), pass()]), Outcome::Alive);
    assert!(matches!(outcome(twice, [silence(), silence(), unsupported(), unsupported()]), Outcome::Undecided(_)));
    let never = ChainPolicy { confirmations: 0, ..ANY };
    assert!(matches!(outcome(never, [silence(), silence()]), Outcome::Dead(_)), "zero counts as one");
}

#[test]
fn signs_of_life_rebut_silence() {
    let chain = run(chain(ANY), [silence(), silence()]);
    let window = Duration::from_secs(1);
    let idle = Evidence { window, ..Evidence::default() };
    assert!(matches!(chain.finish(&idle), Outcome::Dead(_)));
    for evidence in [
        Evidence { bytes_seen: true, ..idle },
        Evidence { progress: true, ..idle },
        Evidence { serial_call_in_flight: true, ..idle },
        Evidence { cpu_used: Duration::from_millis(50), ..idle },
        Evidence { waits_for_client: true, ..idle },
    ] {
        assert!(matches!(chain.finish(&evidence), Outcome::Busy(_)), "{evidence:?}");
    }
}

#[test]
fn processor_time_proves_work_from_a_twentieth_and_two_ticks_on() {
    let chain = run(chain(ANY), [silence(), silence()]);
    let outcome = |cpu, window| {
        let (cpu_used, window) = (Duration::from_millis(cpu), Duration::from_millis(window));
        chain.finish(&Evidence { cpu_used, window, ..Evidence::default() })
    };
    assert!(matches!(outcome(49, 1000), Outcome::Dead(_)));
    assert!(matches!(outcome(50, 1000), Outcome::Busy(_)));
    assert!(matches!(outcome(19, 100), Outcome::Dead(_)), "below two ticks nothing is known");
    assert!(matches!(outcome(20, 100), Outcome::Busy(_)));
    assert!(matches!(outcome(0, 0), Outcome::Dead(_)));
}

#[test]
fn a_failure_that_is_more_than_silence_stands() {
    let life = Evidence { bytes_seen: true, progress: true, serial_call_in_flight: true, ..Evidence::default() };
    for heard in [Heard::Answer, Heard::Nothing] {
        let judged = (Verdict::Fail("no tools left".into()), heard);
        let chain = run(chain(ANY), [silence(), judged]);
        assert!(matches!(chain.finish(&life), Outcome::Dead(_)), "{heard:?}");
    }
}

#[test]
fn a_stale_verdict_changes_nothing() {
    let mut chain = chain(ANY);
    chain.record(LinkIndex(1), Verdict::Pass, Heard::Answer);
    chain.record(LinkIndex(7), Verdict::Pass, Heard::Answer);
    assert_eq!((chain.next_link(), chain.any_reply()), (Some(LinkIndex(0)), false));
    let mut chain = run(chain, [pass()]);
    chain.record(LinkIndex(0), Verdict::Fail("late".into()), Heard::Nothing);
    assert_eq!(chain.finish(&Evidence::default()), Outcome::Alive);
}

#[test]
fn a_chain_without_links_decides_nothing() {
    let chain = Chain::new(ANY, Vec::new(), &Latches::default());
    assert_eq!((chain.next_link(), chain.links_left()), (None, 0));
    assert!(matches!(chain.finish(&Evidence::default()), Outcome::Undecided(_)));
}

/// The links that a chain with these latches runs, when every one of them is silent.
fn order(latches: &Latches) -> Vec<usize> {
    let mut chain = Chain::new(ANY, links(), latches);
    let mut order = Vec::new();
    while let Some(link) = chain.next_link() {
        order.push(link.0);
        chain.record(link, Verdict::Fail("no answer".into()), Heard::Silence);
    }
    order
}

#[test]
fn a_ping_that_is_ignored_is_not_sent_again() {
    let mut latches = Latches::default();
    latches.learn(&run(chain(ANY), [silence(), pass()]));
    assert_eq!(order(&latches), [1]);
    let again = Chain::new(ANY, links(), &latches);
    latches.learn(&run(again, [pass()]));
    assert_eq!(order(&latches), [1], "it is remembered");
}

#[test]
fn silence_everywhere_teaches_nothing() {
    let mut latches = Latches::default();
    latches.learn(&run(chain(ANY), [silence(), silence()]));
    assert_eq!(order(&latches), [0, 1]);
}

#[test]
fn a_ping_that_is_unknown_is_asked_last() {
    let mut latches = Latches::default();
    latches.learn(&run(chain(ANY), [(Verdict::Pass, Heard::Unknown)]));
    assert_eq!(order(&latches), [1, 0]);
}

#[test]
fn a_ping_that_is_answered_late_is_slow_and_not_ignored() {
    let mut latches = Latches::default();
    latches.heard_late(LinkIndex(0));
    latches.learn(&run(chain(ANY), [silence(), pass()]));
    assert_eq!(order(&latches), [0, 1], "its late answer came first");
    let mut latches = Latches::default();
    latches.learn(&run(chain(ANY), [silence(), pass()]));
    latches.heard_late(LinkIndex(0));
    assert_eq!(order(&latches), [0, 1], "its late answer came afterwards");
}

#[test]
fn only_skippable_links_are_latched_and_never_the_only_one() {
    let mut latches = Latches::default();
    let reversed: Vec<_> = links().into_iter().rev().collect();
    latches.learn(&run(Chain::new(ANY, reversed, &latches), [silence(), pass()]));
    assert_eq!(order(&latches), [0, 1], "tools_list is always asked");
    let alone = Chain::new(ANY, links()[..1].to_vec(), &latches);
    latches.learn(&run(alone, [(Verdict::Pass, Heard::Unknown)]));
    assert_eq!(order(&latches), [0, 1]);
}

#[test]
fn latches_of_another_chain_do_no_harm() {
    let mut latches = Latches::default();
    latches.learn(&run(chain(ANY), [silence(), pass()]));
    let alone = Chain::new(ANY, links()[..1].to_vec(), &latches);
    assert_eq!(alone.next_link(), Some(LinkIndex(0)), "the only link runs in any case");
}

fn verdict() -> impl Strategy<Value = (Verdict, Heard)> {
    let heard = prop_oneof![Just(Heard::Nothing), Just(Heard::Silence), Just(Heard::Unknown), Just(Heard::Answer)];
    let verdict = prop_oneof![
        Just(Verdict::Pass),
        Just(Verdict::Busy("b".into())),
        Just(Verdict::Fail("f".into())),
        Just(Verdict::Inconclusive("i".into())),
        Just(Verdict::Unsupported),
    ];
    (verdict, heard)
}

fn evidence() -> impl Strategy<Value = Evidence> {
    (prop::array::uniform5(any::<bool>()), 0..2000_u64, 0..2000_u64).prop_map(
        |([bytes_seen, progress, serial, may, waits], cpu, window)| Evidence {
            bytes_seen,
            progress,
            cpu_used: Duration::from_millis(cpu),
            window: Duration::from_millis(window),
            serial_call_in_flight: serial,
            may_be_in_line: may,
            waits_for_client: waits,
        },
    )
}

proptest! {
    #[test]
    fn a_chain_ends_and_never_condemns_without_cause(
        verdicts in prop::collection::vec(verdict(), 0..40),
        all in any::<bool>(),
        confirmations in 0..4_u32,
        skippable in prop::collection::vec(any::<bool>(), 0..5),
        evidence in evidence(),
    ) {
        let mode = if all { ChainMode::All } else { ChainMode::Any };
        let links: Vec<_> = skippable.iter().map(|&skippable| Link { name: "l".into(), skippable }).collect();
        let most = links.len() * confirmations.max(1) as usize;
        let mut chain = Chain::new(ChainPolicy { mode, confirmations }, links, &Latches::default());
        let mut used = Vec::new();
        for (verdict, heard) in verdicts {
            let Some(link) = chain.next_link() else { break };
            chain.record(link, verdict.clone(), heard);
            used.push((verdict, heard));
        }
        prop_assert!(used.len() <= most, "{} links ran", used.len());
        let failures: Vec<_> = used.iter().filter(|(v, _)| matches!(v, Verdict::Fail(_))).collect();
        let passes = used.iter().any(|(v, _)| matches!(v, Verdict::Pass | Verdict::Busy(_)));
        match chain.finish(&evidence) {
            Outcome::Dead(_) => {
                prop_assert!(failures.len() >= confirmations.max(1) as usize);
                prop_assert!(all || !passes);
                prop_assert!(failures.iter().any(|(_, heard)| *heard != Heard::Silence)
                    || evidence.rebuts_silence().is_none());
            }
            Outcome::Alive => prop_assert!(passes || used.iter().any(|(_, heard)| heard.is_reply())),
            Outcome::Busy(_) => prop_assert!(passes || !failures.is_empty()),
            Outcome::Undecided(_) => prop_assert!(all || !passes),
        }
        let mut latches = Latches::default();
        latches.learn(&chain);
        let mut order = latches.order(skippable.len());
        order.sort();
        order.dedup();
        prop_assert_eq!(order.is_empty(), skippable.is_empty(), "some link always runs");
        prop_assert!(skippable.iter().enumerate().all(|(n, s)| *s || order.contains(&LinkIndex(n))));
    }
}
