use super::*;
use crate::book::What;
use crate::machine::Machine;
use crate::message::Call;
use crate::report;
use crate::session::{Attempt, Flight};
use crate::target::COPY;

const EFFORT: Effort = Effort {
    rounds: 3,
    share: 1000,
    idle: Duration::ZERO,
    longest: Duration::from_secs(1),
    patience: Duration::from_secs(5),
};

#[test]
fn every_row_has_its_turn_each_round_and_leads_in_one() {
    let rounds: Vec<_> = (0..10).map(|round| order(5, round)).collect();
    for order in &rounds {
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, [0, 1, 2, 3, 4]);
    }
    assert!((0..5).all(|row| rounds.iter().any(|order| order[0] == row)));
}

/// A server in one line of sed. It opens the session as it should, and then does this with calls, whose id is `\1` and
/// whose text is `\2`.
fn server(name: &str, with_calls: &str) -> Target {
    let opening = r#"s/.*"initialize".*/{"id":1,"result":{}}/p"#;
    let call = r#"/"tools.call"/{s/.*"id":\([0-9]*\).*"s":"\(.*\)"}}}$/"#;
    let script = format!("{opening};{call}{with_calls}}}");
    let command = ["sed", "--unbuffered", "--quiet", &script].map(Into::into).into();
    Target { name: name.to_owned(), command, recovers: true }
}

const ANSWERS: &str = r#"{"id":\1,"result":{"content":[{"text":"\2"}]}}/p"#;

fn servers() -> Vec<Target> {
    vec![
        server("good", ANSWERS),
        server("ends", &format!("{ANSWERS};q")),
        server("lies", r#"{"id":\1,"result":{"content":[{"text":"nothing"}]}}/p"#),
        server("hangs", "&/"),
        Target { name: "absent".to_owned(), command: vec!["/nowhere/at/all".into()], recovers: false },
        Target { name: "mute".to_owned(), command: vec!["true".into()], recovers: false },
        server("last", ANSWERS),
    ]
}

/// What the table of a book says of a row, and the lines that say why some have failed.
fn shown(book: &Book, targets: &[Target]) -> (Vec<String>, String) {
    let text = report::text(book, &[], &Machine::look("/nowhere/at/all".as_ref(), 1), targets);
    let cells = targets.iter().map(|target| {
        let row = text.lines().find(|line| line.starts_with(&format!("| {} ", target.name))).unwrap();
        row.split('|').nth(2).unwrap().trim().to_owned()
    });
    let why = text.lines().filter(|line| line.starts_with("* ")).collect::<Vec<_>>().join("\n");
    (cells.collect(), why)
}

#[test]
fn who_fails_is_shown_as_such_and_all_others_are_measured() {
    let (targets, mut book) = (servers(), Book::default());
    let mut field = Field::of(&targets, EFFORT);
    field.open("Calls", &mut book);
    let mut call = Call::of_length(100);
    for round in 0..EFFORT.rounds {
        field.round("Calls", round, &mut book, |target, session, book| {
            let took = session.round_trip(&mut call)?;
            let what = What { table: "Calls", name: "time", unit: "", reference: COPY };
            book.note(what, &target.name, round, micros(took));
            Ok(())
        });
    }
    let (cells, why) = shown(&book, &targets);
    assert_eq!(cells[1..6], ["failed"; 5], "{why}");
    for good in [&cells[0], &cells[6]] {
        assert!(good.parse::<f64>().is_ok_and(|time| time > 0.0), "{good}");
    }
    assert_eq!(why.lines().count(), 5, "{why}");
    assert!(why.contains("* lies failed (Calls): not the answer that is due: {\"id\":1000000,"), "{why}");
    assert!(why.contains("* hangs failed (Calls): stuck: ended after 5s"), "{why}");
    assert!(why.contains("* absent failed (Calls): no session: "), "{why}");

    // With the next table, whoever had a session gets another one.
    field.open("More calls", &mut book);
    let again = |name| field.rows.iter().any(|row| row.target.name == name && matches!(row.session, State::Open(_)));
    assert_eq!(["good", "ends", "absent"].map(again), [true, true, false]);
    assert!(book.has_failed("More calls", "absent") && !book.has_failed("More calls", "ends"));
    field.close();
}

#[test]
fn no_area_ends_with_a_row_that_fails() {
    let targets: Vec<_> = servers().into_iter().filter(|target| target.name != "hangs").collect();
    for area in [Area::Start, Area::Recovery, Area::Throughput] {
        let mut book = Book::default();
        area.measure(&targets, EFFORT, &mut book);
        let failed = |name: &str| book.failures.iter().any(|failure| failure.target == name);
        assert!(failed("absent") == (area != Area::Recovery), "{area:?}");
        assert!(failed("lies") == (area != Area::Start), "{area:?}");
        assert!(
            failed("good") == (area == Area::Recovery),
            "{area:?}: it is no server that can be killed, and comes again"
        );
    }
}

#[test]
fn a_call_is_refused_by_either_kind_of_error() {
    for error in [r#""error":{"code":-32000}"#, r#""result":{"isError":true}"#] {
        let target = server("refuses", &format!(r#"{{"id":\1,{error}}}/p"#));
        let mut session = Session::open(&target, EFFORT.patience).unwrap();
        let attempt = session.watched(EFFORT.patience, |session| session.attempt(&mut Call::of_length(100)));
        assert_eq!(attempt.unwrap(), Attempt::Refused, "{error}");
        session.close();
    }
}

#[test]
fn answers_out_of_order_and_notifications_among_them_are_no_failure() {
    // It holds back a call, tells something, and then answers the next call before the one that it has held back.
    let odd = r#"{"id":\1,"result":{"content":[{"text":"\2"}]}}/;h;n;s/.*"id":\([0-9]*\).*"s":"\(.*\)"}}}$/{"method":"hello"}\n"#;
    let target = server("odd", &format!("{odd}{ANSWERS};g;p"));
    let mut session = Session::open(&target, EFFORT.patience).unwrap();
    let mut call = Call::of_length(100);
    let flight = Flight { calls: 10, window: 2, longest: EFFORT.patience };
    let (calls, _) = session.watched(EFFORT.patience, |session| session.pipelined(&mut call, flight)).unwrap();
    assert_eq!(calls, 10);
    session.close();
}

#[test]
fn who_is_slow_makes_fewer_calls() {
    let target =
        server("slow", &format!("&/;e sleep 0.05\ns/.*\"id\":\\([0-9]*\\).*\"s\":\"\\(.*\\)\"}}}}}}$/{ANSWERS}"));
    let mut session = Session::open(&target, EFFORT.patience).unwrap();
    let mut call = Call::of_length(100);
    let flight = Flight { calls: 1000, window: 2, longest: Duration::from_millis(300) };
    let (calls, _) = session.watched(EFFORT.patience, |session| session.pipelined(&mut call, flight)).unwrap();
    assert!((2..20).contains(&calls), "{calls} calls");
    session.close();
}
