//! `mcp-watchdog completions SHELL`

use std::io::{self, Write};

use clap::{CommandFactory, ValueEnum};
use clap_complete::{Shell, generate};
use clap_mangen::Man;

use crate::exit::Exit;

const PROGRAM: &str = "mcp-watchdog";

/// What was typed.
#[derive(Debug, Clone, Copy, clap::Args)]
pub struct Completions {
    /// For which shell; or man, for the manual page
    #[arg(value_name = "SHELL")]
    form: Form,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Form {
    Bash,
    Zsh,
    Fish,
    Elvish,
    Powershell,
    Man,
}

impl Completions {
    /// Writes the completions of a shell, or the manual page.
    ///
    /// # Errors
    /// When `out` cannot be written.
    pub fn run(self, out: &mut dyn Write) -> io::Result<Exit> {
        let shell = match self.form {
            Form::Bash => Shell::Bash,
            Form::Zsh => Shell::Zsh,
            Form::Fish => Shell::Fish,
            Form::Elvish => Shell::Elvish,
            Form::Powershell => Shell::PowerShell,
            Form::Man => return manual(out).map(|()| Exit::Done),
        };
        // The generator takes a failed write for a bug, and a reader may well go away.
        let mut script = Vec::new();
        generate(shell, &mut super::Arguments::command(), PROGRAM, &mut script);
        out.write_all(&script)?;
        Ok(Exit::Done)
    }
}

/// One page for all: what there is to say of a subcommand is short.
fn manual(out: &mut dyn Write) -> io::Result<()> {
    let mut command = super::Arguments::command();
    command.build();
    let page = Man::new(command.clone()).manual("User Commands");
    page.render_title(out)?;
    for section in [Man::render_name_section, Man::render_synopsis_section, Man::render_options_section] {
        part(&page, section, &[], out)?;
    }
    writeln!(out, ".SH SUBCOMMANDS")?;
    for subcommand in command.get_subcommands().filter(|subcommand| !subcommand.is_hide_set()) {
        let page = Man::new(subcommand.clone());
        let heading = format!(".SS {}", subcommand.get_name());
        part(&page, Man::render_synopsis_section, &[(".SH SYNOPSIS", &heading)], out)?;
        part(&page, Man::render_description_section, &[(".SH DESCRIPTION", ".PP")], out)?;
        part(&page, Man::render_options_section, &[(".SH OPTIONS", ".PP")], out)?;
    }
    // Its lines are set already.
    part(&page, Man::render_extra_section, &[(".SH EXTRA", ".SH NOTES\n.nf")], out)?;
    writeln!(out, ".fi")
}

type Section = fn(&Man, &mut dyn Write) -> io::Result<()>;

/// A section with other headings, and without the preamble, which stands at the head of the page already.
fn part(page: &Man, section: Section, headings: &[(&str, &str)], out: &mut dyn Write) -> io::Result<()> {
    let mut text = Vec::new();
    section(page, &mut text)?;
    for line in String::from_utf8_lossy(&text).lines() {
        if [".ie ", ".el "].iter().any(|preamble| line.starts_with(preamble)) {
            continue;
        }
        let heading = headings.iter().find(|(heading, _)| line == *heading);
        writeln!(out, "{}", heading.map_or(line, |(_, instead)| instead))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
