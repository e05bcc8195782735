use probe_api::Trigger;
use serde_json::json;

use super::*;

fn judged(codes: Codes, ending: Ending) -> [Verdict; 2] {
    [judge(codes, ending, "disk full"), judge(codes, ending, "")]
}

#[test]
fn simple_codes_are_the_kubelets() {
    let simple = |ending| judged(Codes::Simple, ending);
    let fail = |texts: [&str; 2]| texts.map(|text| Verdict::Fail(text.to_owned()));
    assert_eq!(simple(Ending::Code(0)), [Verdict::Pass, Verdict::Pass]);
    assert_eq!(simple(Ending::Code(1)), fail(["exit code 1: disk full", "exit code 1"]));
    assert_eq!(simple(Ending::Code(255)), fail(["exit code 255: disk full", "exit code 255"]));
    assert_eq!(simple(Ending::Signal(11)), fail(["was killed by SIGSEGV: disk full", "was killed by SIGSEGV"]));
}

#[test]
fn nagios_codes_tell_what_is_not_known_from_what_is_bad() {
    let nagios = |ending| judge(Codes::Nagios, ending, "x");
    assert_eq!(nagios(Ending::Code(0)), Verdict::Pass);
    assert_eq!(nagios(Ending::Code(1)), Verdict::Busy("exit code 1: x".to_owned()));
    assert_eq!(nagios(Ending::Code(2)), Verdict::Fail("exit code 2: x".to_owned()));
    assert_eq!(nagios(Ending::Code(3)), Verdict::Inconclusive("exit code 3: x".to_owned()));
    assert_eq!(nagios(Ending::Code(127)), Verdict::Inconclusive("exit code 127: x".to_owned()));
    assert_eq!(nagios(Ending::Signal(9)), Verdict::Inconclusive("was killed by SIGKILL: x".to_owned()));
}

#[test]
fn the_context_is_one_bounded_line() {
    let mut snapshot = Snapshot::new("two\nlines", 3, Trigger::ToolTimeout);
    snapshot.process.pids = (0..100_000).collect();
    let text = context(&snapshot);
    assert!(text.len() < 64 * 1024 && !text.contains('\n'));
    let value: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        (&value["server"], &value["generation"], &value["trigger"]),
        (&json!("two\nlines"), &json!(3), &json!("tool_timeout"))
    );
    assert_eq!(value["process"]["pids"].as_array().map(Vec::len), Some(MOST_PIDS));
}

#[test]
fn a_limit_is_told_in_whole_milliseconds() {
    let told = |micros| Span(in_millis(Duration::from_micros(micros))).to_string();
    assert_eq!([told(2_999_950), told(3_000_000), told(250_000), told(1)], ["3s", "3s", "250ms", "1ms"]);
}
