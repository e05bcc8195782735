use super::*;

#[test]
fn off_is_a_word_only_where_a_key_says_so() {
    assert!(Duration::from_text("off").is_err());
    for text in ["off", "never", "0s", "0"] {
        assert_eq!(OrOff::from_text(text), Ok(OrOff(None)), "{text}");
    }
    assert_eq!(OrOff::from_text("90"), Ok(OrOff(Some(Duration::from_secs(90)))));
    assert_eq!(
        OrOff::from_text("of").unwrap_err(),
        "\"of\" is not a duration (write 500ms, 30s, 2m, 1h30m, or a number of seconds, or `off`)"
    );
    assert_eq!(Above::from_text("0s").unwrap_err(), "must be longer than zero, not \"0s\"");
    assert_eq!(Above::from_text("1h30m"), Ok(Above(Duration::from_secs(5400))));
}

#[test]
fn sizes() {
    assert_eq!(Size::from_text("64MiB"), Ok(Size(67_108_864)));
    assert!(Size::from_text("1.5MiB").unwrap_err().contains("is not a size"));
    assert_eq!(LineLimit::from_text("1023").unwrap_err(), "must be at least 1KiB, not \"1023\"");
    assert_eq!(LineLimit::from_text("1KiB"), Ok(LineLimit(1024)));
}
