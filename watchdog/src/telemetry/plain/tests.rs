use proptest::prelude::*;

use super::*;

#[test]
fn escape_sequences_go_and_words_stay() {
    for (strange, plain) in [
        ("plain", "plain"),
        ("", ""),
        ("\u{1b}[31mred\u{1b}[0m text", "red text"),
        ("\u{1b}[38;5;196;1mbold\u{1b}[K", "bold"),
        ("\u{1b}]0;title\u{7}after", "after"),
        ("\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\", "link"),
        ("\u{1b}P1;2qdata\u{1b}\\after", "after"),
        ("\u{1b}(Bascii \u{1b}cafter \u{1b}7 saved", "ascii after  saved"),
        ("\u{9b}31mC1", "31mC1"),
        ("10%\r20%\r30%", "10% 20% 30%"),
        ("a\tb", "a b"),
        ("  both ends \r", "both ends"),
        ("bell\u{7} back\u{8} null\0 delete\u{7f}", "bell back null delete"),
        ("evil \u{202e}txt.exe\u{202c}", "evil txt.exe"),
        ("two\u{2028}lines", "twolines"),
        ("\u{1b}", ""),
        ("\u{1b}[", ""),
        ("\u{1b}[12", ""),
        ("grüße 猫", "grüße 猫"),
    ] {
        assert_eq!(text(strange, 100), plain, "{strange:?}");
    }
}

#[test]
fn long_text_is_cut_at_a_character() {
    assert_eq!(text("猫猫猫", 3), "猫猫猫");
    assert_eq!(text("猫猫猫猫", 3), "猫猫猫…");
    assert_eq!(text("ab cdef", 3), "ab…");
    assert_eq!(text("abc   ", 3), "abc…", "what is missing may be spaces");
}

#[test]
fn escaping_loses_nothing() {
    let mut to = String::new();
    escaped(&mut to, "a\nb\u{1b}[31m c\u{202e}d é").unwrap();
    assert_eq!(to, r"a\nb\u{1b}[31m c\u{202e}d é");
}

proptest! {
    #[test]
    fn nothing_harmful_is_left(strange in "(\\PC|[\u{0}-\u{1f}\u{7f}-\u{9f}\u{2028}\u{202e}]|\u{1b}[\\[\\]P(]){0,60}", most in 0_usize..50) {
        let plain = text(&strange, most);
        prop_assert!(!plain.contains(is_harmful), "{:?}", plain);
        prop_assert!(plain.chars().count() <= most + 1);
        prop_assert_eq!(text(&plain, most + 1), plain.clone(), "doing it again changes nothing");
        let mut to = String::new();
        escaped(&mut to, &strange).unwrap();
        prop_assert!(!to.contains(is_harmful));
    }
}
