use super::*;

/// A book in which requests 1 and 2 were asked, after these lines.
fn book(lines: &[&str]) -> Book {
    let mut book = Book { answers: BTreeMap::from([(1, vec![]), (2, vec![])]), ..Book::default() };
    for line in lines {
        book.take(Heard::Message(Instant::now(), line.as_bytes().to_vec()));
    }
    book
}

#[test]
fn answers_find_their_requests() {
    let book = book(&[
        r#"{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"5"}]}}"#,
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-31000,"message":"gone"}}"#,
    ]);
    assert!(book.strange.is_empty());
    assert_eq!(book.answers[&2][0].text(), Some("5"));
    assert!(book.answers[&2][0].error().is_none());
    let failed = &book.answers[&1][0];
    assert_eq!(failed.error().unwrap()["code"], -31000);
    assert_eq!((failed.result(), failed.text()), (None, None));
}

#[test]
fn a_second_answer_is_kept() {
    let answer = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
    assert_eq!(book(&[answer, answer]).answers[&1].len(), 2);
}

#[test]
fn everything_else_is_strange() {
    let lines = [
        r#"{"jsonrpc":"2.0","id":3,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":"1","result":{}}"#,
        r#"{"jsonrpc":"2.0","id":1}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
        "[mcp] demo: a stray line",
        "",
    ];
    let book = book(&lines);
    assert_eq!(book.strange, lines);
    assert!(book.answers.values().all(Vec::is_empty));
}

#[test]
fn requests_are_counted_with_their_answers() {
    let answer = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
    let counts = |lines: &[&str]| {
        let book = book(lines);
        (book.sent(), book.answered_once())
    };
    assert_eq!(counts(&[]), (2, 0));
    assert_eq!(counts(&[answer]), (2, 1));
    assert_eq!(counts(&[answer, answer]), (2, 0));
    assert_eq!(book(&[]).ask(), 3);
    assert_eq!(Book::default().ask(), 1);
}

#[test]
fn the_log_is_read_in_order() {
    let mut book = book(&[]);
    for text in ["one", "two", "three"] {
        let line = format!("T INFO [mcp] demo: {text} event={text} generation=1");
        book.take(Heard::log(Instant::now(), line.into_bytes()));
    }
    assert_eq!(book.find_in_log(|line| line.is("two")).unwrap().text, "two");
    assert_eq!(book.find_in_log(|line| line.is("one")), None);
    assert_eq!(book.log.len(), 1);
    book.forget_log();
    assert_eq!(book.find_in_log(|line| line.is("three")), None);
    assert_eq!(book.tail().len(), 3);
}

#[test]
fn the_log_keeps_its_last_lines() {
    let mut book = book(&[]);
    for number in 0..LOG_TAIL + 5 {
        book.take(Heard::log(Instant::now(), format!("line {number}").into_bytes()));
    }
    assert_eq!(book.tail.len(), LOG_TAIL);
    assert_eq!(book.tail()[0], "line 5");
    assert_eq!(book.log.len(), LOG_TAIL + 5);
}
