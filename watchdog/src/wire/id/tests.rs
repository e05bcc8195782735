use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::wire::samples;

fn key(raw: &str) -> IdKey {
    Id::parse(raw.as_bytes()).expect("an id").key
}

#[test]
fn ids_are_compared_by_value() {
    assert_eq!(key("1"), key("1.0"));
    assert_eq!(key("1"), key("1e0"));
    assert_eq!(key("0"), key("-0.0"));
    assert_eq!(key(r#""a""#), key(r#""\u0061""#));
    assert_eq!(key("1.50"), key("15e-1"));
    assert_ne!(key("1"), key(r#""1""#));
    assert_ne!(key("9007199254740993"), key("9007199254740992"));
    assert_ne!(key("123456789012345678901234567890"), key("123456789012345678901234567891"));
    assert_eq!(key("9007199254740993"), IdKey::Int(9_007_199_254_740_993));
}

#[test]
fn ids_are_returned_as_spelled() {
    for raw in [
        "0",
        "-1",
        "1.0",
        "1e2",
        "-0",
        "1.50",
        "9223372036854775808",
        "\"\"",
        r#""a""#,
        r#""\u0061""#,
        r#""\/""#,
        r#""\ud800""#,
        r#""é\n""#,
        r#""\u00E9""#,
        "\"\u{7f}\"",
        r#""\x""#,
    ] {
        let id = Id::parse(raw.as_bytes()).expect(raw);
        assert_eq!(&*id.raw(), raw.as_bytes());
        assert_eq!(id.to_string(), raw);
    }
    let invalid = b"\"\xff\"";
    assert_eq!(&*Id::parse(invalid).expect("an id").raw(), invalid);
}

#[test]
fn canonical_spellings_need_no_copy_and_equal_ids_that_were_made() {
    assert_eq!(Id::parse(b"7"), Some(Id::from_int(7)));
    assert_eq!(Id::parse(br#""w/1""#), Some(Id::text("w/1")));
    assert_eq!(Id::parse(br#""a\"\\b""#), Some(Id::text("a\"\\b")));
    assert_eq!(Id::text("a\"\n").raw().as_ref(), br#""a\"\n""#);
    assert_ne!(Id::parse(b"7.0"), Some(Id::from_int(7)));
}

#[test]
fn what_is_no_id_is_none() {
    for raw in
        ["", "null", "true", "{}", "[]", "\"a", "a", "\"a\"b\"", "1 ", " 1", "01", "-", "NaN", "\"", "1\"", "/", ":"]
    {
        assert_eq!(Id::parse(raw.as_bytes()), None, "{raw}");
    }
}

#[test]
fn strings_that_are_not_text_collide_with_none_that_is() {
    let replacement = key("\"\u{fffd}\"");
    let lone = key(r#""\ud800""#);
    assert_ne!(lone, replacement);
    assert_ne!(lone, key(r#""\udfff""#));
    assert_eq!(lone, key(r#""\uD800""#));
    assert_ne!(lone, key(r#""\\ud800""#));
    assert_ne!(Id::parse(b"\"\xff\"").expect("an id").key, replacement);
}

#[test]
fn aliases_cross_between_numbers_and_strings() {
    assert_eq!(key("1").alias(), Some(key(r#""1""#)));
    assert_eq!(key(r#""-7""#).alias(), Some(key("-7")));
    for raw in [r#""01""#, r#""+1""#, r#""-0""#, r#""""#, r#""a""#, r#""1.0""#, "1.5", r#""\ud800""#] {
        assert_eq!(key(raw).alias(), None, "{raw}");
    }
}

#[test]
fn the_ends_of_the_range_of_small_integers() {
    for value in [i64::MIN, i64::MAX, 999_999_999_999_999_999, -999_999_999_999_999_999, 10_i64.pow(18), 0, -1] {
        assert_eq!(Id::parse(value.to_string().as_bytes()), Some(Id::from_int(value)));
    }
}

/// Decimal spellings of a few values, so that equal ones are met often.
fn number() -> impl Strategy<Value = String> {
    let plain = prop::sample::select(vec![
        "0",
        "-0",
        "0.0",
        "1",
        "1.0",
        "10e-1",
        "0.1e1",
        "-1",
        "-1.00",
        "2.5",
        "25e-1",
        "0.25E+1",
        "2.50",
        "100",
        "1e2",
        "1E+2",
        "9007199254740993",
        "9007199254740992",
    ]);
    prop_oneof![
        plain.prop_map(str::to_owned),
        any::<i64>().prop_map(|value| value.to_string()),
        "-?(0|[1-9][0-9]{0,3})(\\.[0-9]{1,3})?([eE][+-]?[0-9])?"
    ]
}

/// The value of a decimal as a fraction of integers: `value * 10^scale`, reduced.
fn exact(text: &str) -> (i128, i32) {
    let lower = text.to_ascii_lowercase();
    let (mantissa, exponent) = lower.split_once('e').unwrap_or((&lower, "0"));
    let (integer, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let mut value: i128 = format!("{integer}{fraction}").parse().expect("digits");
    let mut scale: i32 = exponent.parse::<i32>().expect("digits") - i32::try_from(fraction.len()).expect("short");
    if value == 0 {
        return (0, 0);
    }
    while value % 10 == 0 {
        value /= 10;
        scale += 1;
    }
    (value, scale)
}

fn string() -> impl Strategy<Value = String> {
    prop_oneof![
        r#""(a|\\u0061|\\n|\\u000a|\\/|/|\\ud83d\\ude00|😀){0,3}""#,
        any::<String>().prop_map(|text| serde_json::to_string(&text).expect("a string")),
    ]
}

proptest! {
    #[test]
    fn numbers_are_equal_exactly_when_their_values_are(a in number(), b in number()) {
        prop_assert_eq!(key(&a) == key(&b), exact(&a) == exact(&b), "{} {}", a, b);
        if let (Ok(Value::Number(a_value)), IdKey::Int(value)) = (serde_json::from_str(&a), key(&a)) {
            prop_assert!(a_value.as_i64().is_none_or(|expected| expected == value));
        }
    }

    #[test]
    fn strings_are_equal_exactly_when_serde_reads_the_same(a in string(), b in string()) {
        let read = |raw: &str| serde_json::from_str::<String>(raw).expect("a string");
        prop_assert_eq!(key(&a), IdKey::Text(read(&a).into()));
        prop_assert_eq!(key(&a) == key(&b), read(&a) == read(&b));
    }

    #[test]
    fn whatever_parses_keeps_its_spelling(bytes in prop_oneof![
        prop::collection::vec(any::<u8>(), 0..12),
        prop::collection::vec(prop::sample::select(&b"\"\\u0d8eE+-.1\xff/"[..]), 0..12)
            .prop_map(|mut bytes| { bytes.insert(0, b'"'); bytes.push(b'"'); bytes }),
    ]) {
        if let Some(id) = Id::parse(&bytes) {
            prop_assert_eq!(&*id.raw(), &bytes[..]);
            prop_assert_eq!(Id::parse(&id.raw()), Some(id));
        }
    }

    #[test]
    fn made_ids_are_read_back(text in any::<String>(), value in any::<i64>()) {
        prop_assert_eq!(Id::parse(&Id::text(&text).raw()), Some(Id::text(&text)));
        prop_assert_eq!(Id::parse(&Id::from_int(value).raw()), Some(Id::from_int(value)));
        let int = IdKey::Int(value);
        prop_assert_eq!(int.alias().and_then(|text| text.alias()), Some(int));
    }
}

fn at(raw: &str, before: &str, behind: &str) -> Option<Id> {
    Id::at(format!("{before}{raw}{behind}").as_bytes(), &(before.len()..before.len() + raw.len()))
}

#[test]
fn in_a_line_an_id_is_what_it_is_alone() {
    let numbers = (1..=10)
        .flat_map(|digits| [10_u64.pow(digits) - 1, 10_u64.pow(digits - 1), 1_234_567_890 % 10_u64.pow(digits)]);
    for raw in numbers
        .map(|number| number.to_string())
        .chain(["01", "-1", "0", "-0", "1.0", "1e3", "", "null"].map(String::from))
    {
        for behind in ["", "}", ",\"method\":\"x\"}", "1234567890"] {
            assert_eq!(at(&raw, "{\"id\":", behind), Id::parse(raw.as_bytes()), "{raw} before {behind}");
        }
    }
    assert_eq!(Id::at(b"12", &(1..5)), None);
}

proptest! {
    #[test]
    fn in_a_line_any_id_is_what_it_is_alone(raw in samples::id(), behind in "[,}0-9a]{0,9}") {
        prop_assert_eq!(at(&raw, "{", &behind), Id::parse(raw.as_bytes()));
    }
}
