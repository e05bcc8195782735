use proptest::prelude::*;

use super::*;

/// What `show` writes.
fn shown(colour: bool, show: impl FnOnce(&mut Screen<'_>) -> io::Result<()>) -> String {
    let mut out = Vec::new();
    show(&mut Screen::new(&mut out, colour)).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn lines_have_columns() {
    let text = shown(false, |screen| {
        let start = screen.start;
        screen.scene("It dies")?;
        screen.line(start + Duration::from_millis(1234), Who::Demo, "kills it")?;
        screen.scene("It comes back")?;
        screen.line(start + Duration::from_millis(12_005), Who::Watchdog, "reconnected")?;
        screen.good("as it should be")
    });
    let expected = "
1. It dies
   1.23s  demo       kills it

2. It comes back
  12.01s  watchdog   reconnected
                ok   as it should be
";
    assert_eq!(text, expected);
}

#[test]
fn time_does_not_run_backwards() {
    let text = shown(false, |screen| {
        let start = screen.start;
        screen.line(start + Duration::from_millis(20), Who::Client, "a")?;
        screen.line(start + Duration::from_millis(10), Who::Watchdog, "b")
    });
    assert_eq!(text, "   0.02s  client     a\n   0.02s  watchdog   b\n");
}

#[test]
fn long_texts_go_on_in_their_column() {
    let text = shown(false, |screen| screen.good(&"word ".repeat(20)));
    let expected =
        format!("                ok   {}\n{}{}\n", ["word"; 16].join(" "), " ".repeat(INDENT), ["word"; 4].join(" "));
    assert_eq!(text, expected);
}

#[test]
fn colours_only_where_they_are_wanted() {
    let show = |screen: &mut Screen<'_>| {
        screen.line(screen.start, Who::Watchdog, "a")?;
        screen.line(screen.start, Who::Client, "b")
    };
    assert_eq!(shown(false, show), "   0.00s  watchdog   a\n   0.00s  client     b\n");
    assert_eq!(shown(true, show), "\u{1b}[2m   0.00s  watchdog   a\u{1b}[0m\n   0.00s  client     b\n");
}

#[test]
fn what_others_say_cannot_steer_the_terminal() {
    let text = shown(false, |screen| screen.line(screen.start, Who::Server, "a\u{1b}[2Jb\r\u{7}c"));
    assert_eq!(text, "   0.00s  server     a[2Jbc\n");
}

#[test]
fn a_failure_shows_the_log() {
    let text = shown(false, |screen| screen.bad("it did not come back", &["a line".into(), "another\r".into()]));
    assert_eq!(text, "\nerror: it did not come back\n\nThe end of the watchdog's log:\n  a line\n  another\n");
    assert_eq!(shown(false, |screen| screen.bad("why", &[])), "\nerror: why\n");
}

#[test]
fn a_long_command_can_be_typed() {
    let short = shown(false, |screen| screen.command("mcp-watchdog -- server"));
    assert_eq!(short, "  mcp-watchdog -- server\n");
    let words = ["--set a=b"; 25].join(" ");
    let long = shown(false, |screen| screen.command(&words));
    assert!(long.lines().count() > 2 && long.lines().all(|line| line.len() <= WIDTH), "{long}");
    let joined = long.replace("\\\n", "");
    assert_eq!(joined.split_whitespace().collect::<Vec<_>>().join(" "), words);
}

#[test]
fn spans() {
    for (milliseconds, text) in [(0, "0ms"), (38, "38ms"), (999, "999ms"), (1000, "1.00s"), (2074, "2.07s")] {
        assert_eq!(span(Duration::from_millis(milliseconds)), text);
    }
}

proptest! {
    #[test]
    fn pieces_keep_every_word_and_the_width(words in prop::collection::vec("[a-zé]{1,12}", 0..30), width in 12_usize..40) {
        let pieces = pieces(&words.join(" "), width);
        prop_assert!(!pieces.is_empty());
        prop_assert!(pieces.iter().all(|piece| piece.chars().count() <= width));
        prop_assert_eq!(pieces.join(" "), words.join(" "));
    }

    #[test]
    fn pieces_never_lose_a_character(text in "\\PC{0,80}", width in 1_usize..20) {
        let pieces = pieces(&text, width);
        prop_assert!(pieces.iter().all(|piece| piece.chars().count() <= width));
        let characters = |text: &str| text.chars().filter(|c| *c != ' ').collect::<String>();
        prop_assert_eq!(characters(&pieces.concat()), characters(&text));
    }
}
