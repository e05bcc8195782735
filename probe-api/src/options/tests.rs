use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn parse(text: &str) -> Result<Duration, String> {
    text.parse::<Span>().map(|span| span.0).map_err(|error| error.0)
}

fn size(text: &str) -> Result<u64, String> {
    text.parse::<Size>().map(|size| size.0).map_err(|error| error.0)
}

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
        "1 0", "nan", "+1s", "off",
    ] {
        let error = parse(text).expect_err(text);
        assert!(error.contains("is not a duration (write 500ms, 30s, 2m, 1h30m, or a number of seconds)"), "{error}");
    }
    assert_eq!(parse("-5s").unwrap_err(), "a duration cannot be negative, as \"-5s\" is");
    assert_eq!(parse("3651d").unwrap_err(), "\"3651d\" is longer than ten years");
    assert!(parse("99999999999999999999999999999999999999999999h").unwrap_err().ends_with("is longer than ten years"));
}

#[test]
fn durations_are_written_as_they_are_spoken() {
    let written = |nanos| Span(Duration::from_nanos(nanos)).to_string();
    for (nanos, text) in [
        (0, "0s"),
        (7, "7ns"),
        (1_500, "1.5us"),
        (500_000_000, "500ms"),
        (2_500_000_000, "2.5s"),
        (3_050_000_000, "3.05s"),
        (60_000_000_000, "1m"),
        (5_400_000_000_000, "1h30m"),
        (86_400_000_000_001, "1d1ns"),
    ] {
        assert_eq!(written(nanos), text);
    }
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
        assert_eq!(size(text), Ok(bytes), "{text}");
    }
    for text in ["", "-1", "1.5MiB", "MiB", "1 TiB", "1e3", "99999999999999999999", "18446744073709551615KiB"] {
        let error = size(text).expect_err(text);
        assert!(error.contains("is not a size (write 64KiB, 1MiB, 2GiB, or a number of bytes)"), "{error}");
    }
    let written = |bytes| Size(bytes).to_string();
    assert_eq!([written(512 << 20), written(1536), written(0), written(3 << 30)], ["512MiB", "1536B", "0B", "3GiB"]);
}

#[test]
fn numbers_mean_the_same_as_their_text() {
    let span = |value: Value| serde_json::from_value::<Span>(value).map_err(|error| error.to_string());
    assert_eq!(span(json!(30)), Ok(Span(Duration::from_secs(30))));
    assert_eq!(span(json!(2.5)), Ok(Span(Duration::from_millis(2500))));
    assert_eq!(span(json!("2m")), Ok(Span(Duration::from_secs(120))));
    assert_eq!(span(json!(-1)).unwrap_err(), "a duration cannot be negative, as \"-1\" is");
    assert_eq!(span(json!(1e300)).unwrap_err().split('…').next_back(), Some(" is longer than ten years"));
    assert!(span(json!(true)).unwrap_err().contains("expected a duration"));
    let size = |value: Value| serde_json::from_value::<Size>(value).map_err(|error| error.to_string());
    assert_eq!(size(json!(4096)), Ok(Size(4096)));
    assert_eq!(size(json!("4KiB")), Ok(Size(4096)));
    assert!(size(json!(1.5)).unwrap_err().contains("is not a size"));
    assert!(size(json!([])).unwrap_err().contains("expected a size"));
}

#[test]
fn a_long_value_is_cut_in_a_message() {
    let error = parse(&"x".repeat(5000)).unwrap_err();
    assert!(error.len() < 200, "{error}");
    assert_eq!([excerpt("añb", 3), excerpt("añb", 2), excerpt("\n", 1)], ["\"añb\"", "\"añ\"…", "\"\\n\""]);
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(seconds in 0_u64..315_360_000, nanos in 0_u32..1_000_000_000, bytes in any::<u64>()) {
        for duration in [Duration::new(seconds, nanos), Duration::new(0, nanos), Duration::from_secs(seconds)] {
            prop_assert_eq!(parse(&Span(duration).to_string()), Ok(duration));
        }
        for bytes in [bytes, bytes << 20] {
            prop_assert_eq!(size(&Size(bytes).to_string()), Ok(bytes));
        }
    }

    #[test]
    fn whole_seconds_need_no_unit(seconds in 0_u64..315_360_000) {
        prop_assert_eq!(parse(&seconds.to_string()), Ok(Duration::from_secs(seconds)));
    }

    #[test]
    fn no_text_is_a_panic(text in "\\PC{0,20}") {
        let _ = parse(&text);
        let _ = size(&text);
    }

    #[test]
    fn nearly_durations_are_no_panic(text in "[0-9.]{0,40}[smhdun ]{0,3}[0-9.]{0,5}(ms|s|m|h)?") {
        let _ = parse(&text);
    }
}
