use super::*;

fn at(line: usize, column: usize) -> Place {
    Place { line, column }
}

#[test]
fn the_caret_stands_under_the_place() {
    let shown = excerpt("a: 1\nbb: [x, soon]\n", at(2, 9), Guard::Secrets(&[])).unwrap();
    assert_eq!(shown, "  2 | bb: [x, soon]\n    |         ^");
}

#[test]
fn nothing_is_shown_from_a_secret_on() {
    let secret = Secret { place: at(1, 13), one_line: true };
    let shown = excerpt("{env: {TOK: hunter2}, bad: 1}", at(1, 23), Guard::Secrets(&[secret])).unwrap();
    assert_eq!(shown, "  1 | {env: {TOK: ***\n    |                ^");
}

#[test]
fn a_secret_of_an_earlier_line_may_still_go_on() {
    let text = "{env: {T: \"one\n  two\"}, bad: 1}";
    let secret = Secret { place: at(1, 11), one_line: false };
    let shown = excerpt(text, at(2, 10), Guard::Secrets(&[secret])).unwrap();
    assert_eq!(shown.lines().next(), Some("  2 |   ****** bad: 1}"));
}

#[test]
fn an_unknown_key_is_shown_without_its_value() {
    let shown = excerpt("{a: 1, envv: {T: x}}", at(1, 8), Guard::Key(&[])).unwrap();
    assert_eq!(shown.lines().next(), Some("  1 | {a: 1, envv: ***"));
}

#[test]
fn of_a_text_that_was_not_understood_keys_are_shown() {
    for (line, shown) in [
        ("   TOKEN: \"x", "   TOKEN: ***"),
        ("  env:", "  env:"),
        ("  continued secret", "  ***"),
        ("{\"env\": {\"T\": \"x\"", "***"),
    ] {
        let text = format!("env: 1\n{line}\n");
        let excerpt = excerpt(&text, at(2, 1), Guard::Unparsed).unwrap();
        assert_eq!(excerpt.lines().next(), Some(format!("  2 | {shown}").as_str()));
    }
    let shown = excerpt("a: [1\nb: 2\n", at(2, 1), Guard::Unparsed).unwrap();
    assert_eq!(shown.lines().next(), Some("  2 | b: 2"), "without any secrets the line is shown");
}

#[test]
fn long_lines_are_cut_and_control_characters_are_not_printed() {
    let line = format!("{}\u{1b}[31mX{}", "a".repeat(400), "b".repeat(400));
    let shown = excerpt(&line, at(1, 406), Guard::Secrets(&[])).unwrap();
    let (text, caret) = shown.split_once('\n').unwrap();
    assert!(text.len() < 120 && !text.contains('\u{1b}'));
    assert_eq!(text.chars().nth(caret.chars().count() - 1), Some('X'));
}

#[test]
fn a_place_outside_of_the_text_is_no_panic() {
    assert_eq!(excerpt("a", at(5, 1), Guard::Unparsed), None);
    assert_eq!(excerpt("a", at(0, 0), Guard::Unparsed), None);
    assert!(excerpt("a", at(1, 99), Guard::Key(&[])).is_some());
}
