use proptest::prelude::*;

use super::*;

#[test]
fn forms_that_are_durations() {
    for (text, nanos) in [
        ("0", 0_u64),
        ("0s", 0),
        ("30", 30_000_000_000),
        ("2.5", 2_500_000_000),
        ("0.001", 1_000_000),
        ("500ms", 500_000_000),
        ("30s", 30_000_000_000),
        ("1.5s", 1_500_000_000),
        ("2m", 120_000_000_000),
        ("1h30m", 5_400_000_000_000),
        ("1h 30m", 5_400_000_000_000),
        ("1d", 86_400_000_000_000),
        (" 10s ", 10_000_000_000),
        ("3us", 3_000),
        ("7ns", 7),
        ("0.0000000019", 1),
    ] {
        assert_eq!(parse(text), Ok(Duration::from_nanos(nanos)), "{text}");
    }
}

#[test]
fn forms_that_are_not() {
    for text in [
        "", " ", "soon", "s", "1x", "1h30", "30m1h", "1s1s", "1.s", "1..5s", "1.5.2", ".5", "1e3", "0x10", "１s",
        "1 0", "nan", "+1s",
    ] {
        let error = parse(text).expect_err(text);
        assert!(error.contains("is not a duration (write 500ms, 30s, 2m, 1h30m, or a number of seconds)"), "{error}");
    }
    assert_eq!(parse("-5s").unwrap_err(), "a duration cannot be negative, as \"-5s\" is");
    assert_eq!(parse("3651d").unwrap_err(), "\"3651d\" is longer than ten years");
    assert!(parse("99999999999999999999999999999999999999999999h").unwrap_err().ends_with("is longer than ten years"));
}

#[test]
fn off_is_a_word_only_where_a_key_says_so() {
    assert!(parse("off").is_err());
    for text in ["off", "never", "0s", "0"] {
        assert_eq!(OrOff::from_text(text), Ok(OrOff(None)), "{text}");
    }
    assert_eq!(OrOff::from_text("90"), Ok(OrOff(Some(Duration::from_secs(90)))));
    assert_eq!(
        OrOff::from_text("of").unwrap_err(),
        "\"of\" is not a duration (write 500ms, 30s, 2m, 1h30m, or a number of seconds, or `off`)"
    );
    assert_eq!(Above::from_text("0s").unwrap_err(), "must be longer than zero, not \"0s\"");
}

#[test]
fn sizes() {
    for (text, bytes) in [
        ("0", 0),
        ("1024", 1024),
        ("12B", 12),
        ("64KiB", 65_536),
        ("1MiB", 1_048_576),
        ("1 mib", 1_048_576),
        ("64MiB", 67_108_864),
        ("2GiB", 2_147_483_648),
        ("1kB", 1000),
    ] {
        assert_eq!(Size::from_text(text), Ok(Size(bytes)), "{text}");
    }
    for text in ["", "-1", "1.5MiB", "MiB", "1 TiB", "1e3", "99999999999999999999", "18446744073709551615KiB"] {
        assert!(Size::from_text(text).unwrap_err().contains("is not a size"), "{text}");
    }
    assert_eq!(LineLimit::from_text("1023").unwrap_err(), "must be at least 1KiB, not \"1023\"");
    assert_eq!(LineLimit::from_text("1KiB"), Ok(LineLimit(1024)));
}

#[test]
fn a_long_value_is_cut_in_a_message() {
    let error = parse(&"x".repeat(5000)).unwrap_err();
    assert!(error.len() < 200, "{error}");
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(seconds in 0_u64..315_360_000, nanos in 0_u32..1_000_000_000) {
        let duration = Duration::new(seconds, nanos);
        prop_assert_eq!(parse(&format(duration)), Ok(duration));
    }

    #[test]
    fn whole_seconds_need_no_unit(seconds in 0_u64..315_360_000) {
        prop_assert_eq!(parse(&seconds.to_string()), Ok(Duration::from_secs(seconds)));
    }

    #[test]
    fn no_text_is_a_panic(text in "\\PC{0,20}") {
        let _ = parse(&text);
        let _ = Size::from_text(&text);
    }

    #[test]
    fn nearly_durations_are_no_panic(text in "[0-9.]{0,40}[smhdun ]{0,3}[0-9.]{0,5}(ms|s|m|h)?") {
        let _ = parse(&text);
    }
}
