use super::*;

#[test]
fn scalars_keep_their_spelling() {
    let node = parse(
        "{a: 1.10, b: 0o17, c: 'true', d: true, e: 007, f: -3, g: ~, h: 1e3, i: \"x\\ty\", j: 99999999999999999999}",
        0,
    )
    .unwrap();
    let text = |name: &str| match &node.get(name).unwrap().value {
        Value::Scalar(scalar) => scalar.text.clone(),
        _ => panic!("{name} is no scalar"),
    };
    assert_eq!(
        ["a", "b", "c", "d", "e", "f", "h", "i", "j"].map(text),
        ["1.10", "0o17", "true", "true", "007", "-3", "1e3", "x\ty", "99999999999999999999"]
    );
    assert!(node.get("g").is_none(), "null is as good as absent");
}

#[test]
fn spelling_follows_anchors_and_keys_that_are_numbers() {
    let node = parse("base: &b {p: 8080, q: [1, 2.0]}\nuse: *b\n8: x\n", 0).unwrap();
    assert_eq!(node.at("use.p").and_then(Node::scalar), Some("8080"));
    assert_eq!(node.get("8").and_then(Node::scalar), Some("x"));
}

#[test]
fn syntax_errors_have_a_place_and_say_it_once() {
    let error = parse("a: [1, 2\nb: 3\n", 0).err().unwrap();
    assert_eq!(error.place.map(|at| at.line), Some(2));
    assert!(!error.message.contains("at line 2 column"), "{}", error.message);
    let error = parse("a: 1\n---\nb: 2\n", 0).err().unwrap();
    assert_eq!(error.message, "holds more than one YAML document");
    let error = parse("a: !x 1\n", 0).err().unwrap();
    assert!(error.message.ends_with("a tag (`!…`) is not understood here"), "{}", error.message);
}

#[test]
fn nothing_is_null() {
    for text in ["", " \n", "# only a comment\n", "~"] {
        assert!(parse(text, 0).unwrap().is_null(), "{text:?}");
    }
}

#[test]
fn hostile_input_is_an_error_and_no_crash() {
    for text in ["[".repeat(5_000), "{a: ".repeat(2_000), "\u{0}".to_owned(), "? [a]\n: b".to_owned()] {
        assert!(parse(&text, 0).is_err());
    }
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
    for level in 1..12 {
        bomb.push_str(&format!("a{level}: &a{level} [{}]\n", vec![format!("*a{}", level - 1); 9].join(", ")));
    }
    assert!(parse(&bomb, 0).is_err());
}

#[test]
fn what_is_missing_at_the_end_is_missing_behind_the_last_thing_there() {
    for (text, line) in [("{a: \"x\"# no end", 1), ("{a: 1", 1), ("{a: 1,\n b: 2\n\n", 2), ("a: [é\n# no end\n", 2)] {
        let place = parse(text, 0).err().unwrap().place.unwrap();
        let length = text.lines().nth(line - 1).unwrap().chars().count();
        assert_eq!(place.line, line, "{text:?}");
        assert!((1..=length + 1).contains(&place.column), "{place:?} of {text:?}");
    }
}

#[test]
fn a_text_that_costs_more_than_it_holds_is_refused_at_once() {
    for open in ["[", "{a: "] {
        let error = parse(&format!("version: 1\nx: {}", open.repeat(500_000)), 0).err().expect("it is too deep");
        assert_eq!(error.message, "more than 500 brackets are open here");
        let column = 4 + 500 * open.len();
        assert_eq!(error.place.map(|place| (place.line, place.column)), Some((2, column)));
    }
    assert!(parse(&format!("x: [{}]", vec!["[]"; 2000].join(", ")), 0).is_ok(), "closed ones do not count");
    let keys = (0..500).map(|at| format!("k{at}: 1")).collect::<Vec<_>>().join(", ");
    let users = "- {<<: *b}\n".repeat(300);
    let error = parse(&format!("x: &b {{{keys}}}\ny:\n{users}"), 0).err().expect("150,000 values");
    assert!(error.message.contains("more than 100000 values"), "{}", error.message);
}
