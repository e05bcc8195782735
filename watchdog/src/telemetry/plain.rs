//! Strange text made harmless for people's terminals, for logs and for errors.

use std::fmt::{self, Write};

const ESCAPE: char = '\u{1b}';

/// `text` on one line without control characters, escape sequences and characters that reorder a line, at most `most`
/// characters of it, with `…` for what is missing. Tabs and returns become spaces; spaces at the ends go.
#[must_use]
pub fn text(text: &str, most: usize) -> String {
    let mut plain = String::new();
    let mut count = 0;
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let shown = match character {
            ESCAPE => {
                skip_sequence(&mut characters);
                continue;
            }
            '\t' | '\r' | '\n' => ' ',
            character if is_harmful(character) => continue,
            character => character,
        };
        if count == most {
            plain.truncate(plain.trim_end().len());
            plain.push('…');
            return plain;
        }
        if !(plain.is_empty() && shown == ' ') {
            plain.push(shown);
            count += 1;
        }
    }
    plain.truncate(plain.trim_end().len());
    plain
}

/// Writes `text` so that it stays on one line and does nothing to a terminal, with nothing lost: what is not harmless is
/// escaped as in a Rust literal.
///
/// # Errors
/// What `to` says.
pub fn escaped(to: &mut impl Write, text: &str) -> fmt::Result {
    let mut rest = text;
    while let Some((at, character)) = rest.char_indices().find(|(_, character)| is_harmful(*character)) {
        to.write_str(&rest[..at])?;
        write!(to, "{}", character.escape_default())?;
        rest = &rest[at + character.len_utf8()..];
    }
    to.write_str(rest)
}

/// Control characters, line separators, and what changes the direction of text.
pub(super) fn is_harmful(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Skips what follows an ESC: `[` up to a final byte, a string (`]`, `P`, `X`, `^`, `_`) up to BEL or ESC `\`, or one
/// character after any intermediates (ECMA-48, section 5).
fn skip_sequence(characters: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    match characters.peek() {
        Some('[') => {
            characters.next();
            // Parameters and intermediates; anything else ends the sequence, and is part of it if it is a final byte.
            while characters.next_if(|character| (' '..='?').contains(character)).is_some() {}
            characters.next_if(|character| ('@'..='~').contains(character));
        }
        Some(']' | 'P' | 'X' | '^' | '_') => {
            while let Some(character) = characters.next() {
                if character == '\u{7}' || (character == ESCAPE && characters.next_if_eq(&'\\').is_some()) {
                    return;
                }
            }
        }
        _ => {
            while characters.next_if(|character| (' '..='/').contains(character)).is_some() {}
            characters.next_if(|character| ('0'..='~').contains(character));
        }
    }
}

#[cfg(test)]
mod tests;
