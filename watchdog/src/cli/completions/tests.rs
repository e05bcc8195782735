use super::*;

fn written(form: Form) -> String {
    let mut out = Vec::new();
    assert_eq!(Completions { form }.run(&mut out).unwrap(), Exit::Done);
    String::from_utf8(out).unwrap()
}

#[test]
fn every_shell_learns_of_every_option_and_subcommand() {
    for form in Form::value_variants().iter().filter(|form| !matches!(form, Form::Man)) {
        let script = written(*form);
        for word in ["tool-timeout", "check-config", "dry-run", "print-schema"] {
            assert!(script.contains(word), "{form:?} does not know {word}");
        }
    }
}

#[test]
fn the_manual_is_one_page() {
    let page = written(Form::Man);
    let headings: Vec<_> = page.lines().filter(|line| line.starts_with(".SH ")).collect();
    assert_eq!(headings[..4], [".SH NAME", ".SH SYNOPSIS", ".SH OPTIONS", ".SH SERVER"]);
    assert_eq!(headings[headings.len() - 2..], [".SH SUBCOMMANDS", ".SH NOTES"]);
    let command = crate::cli::Arguments::command();
    for name in command.get_subcommands().map(clap::Command::get_name).filter(|name| *name != "help") {
        assert_eq!(page.matches(&format!("\n.SS {name}\n")).count(), 1, "{name}");
    }
    assert_eq!(page.matches("\n.TH mcp-watchdog 1 ").count(), 1);
    assert!(page.ends_with(".fi\n"), "{page}");
}

#[test]
fn a_reader_that_goes_away_is_no_panic() {
    struct Gone;
    impl Write for Gone {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    for form in Form::value_variants() {
        assert_eq!(Completions { form: *form }.run(&mut Gone).unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }
}
