//! The messages: calls of a tool that gives its text back.

use std::io::{self, IoSlice, Write};

use serde_json::{Value, json};

/// The first id of a call. All ids of a session have as many digits, so that all its calls have one length.
pub(crate) const FIRST_ID: u64 = 1_000_000;
/// The id of the opening request.
pub(crate) const OPENING_ID: u64 = 1;
/// What texts are made of: code, as tools carry it, escaped for JSON.
const SNIPPET: &str = r#"if let Some(line) = lines.next() {\n    print(\"{line}\");\n}\n"#;

pub(crate) const CALL: [&str; 3] =
    [r#"{"jsonrpc":"2.0","id":"#, r#","method":"tools/call","params":{"name":"echo","arguments":{"s":""#, r#""}}}"#];
pub(crate) const ANSWER: [&str; 3] =
    [r#"{"jsonrpc":"2.0","id":"#, r#","result":{"content":[{"type":"text","text":""#, r#""}]}}"#];

/// A call of one length, which is sent again and again under ever new ids.
pub(crate) struct Call {
    line: Vec<u8>,
    text: std::ops::Range<usize>,
}

impl Call {
    /// A call whose line has so many bytes, its line end included.
    pub(crate) fn of_length(length: usize) -> Self {
        let bare = CALL.map(str::len).iter().sum::<usize>() + FIRST_ID.to_string().len() + 1;
        let text = text_of(length.saturating_sub(bare));
        let mut line = format!("{}{FIRST_ID}{}", CALL[0], CALL[1]).into_bytes();
        let start = line.len();
        line.extend_from_slice(text.as_bytes());
        let text = start..line.len();
        line.extend_from_slice(CALL[2].as_bytes());
        line.push(b'\n');
        Self { line, text }
    }

    /// The line, under this id.
    pub(crate) fn under(&mut self, id: u64) -> &[u8] {
        let digits = id.to_string();
        let start = CALL[0].len();
        self.line[start..start + digits.len()].copy_from_slice(digits.as_bytes());
        &self.line
    }

    /// Whether the line answers the call of this id with this call's own text.
    pub(crate) fn is_answered_by(&self, line: &[u8], id: u64) -> bool {
        let text = &self.line[self.text.clone()];
        match take(line, ANSWER) {
            Some((digits, found)) => digits == id.to_string().as_bytes() && found == text,
            None => serde_json::from_slice::<Value>(line).is_ok_and(|line| {
                let spelled = line["result"]["content"][0]["text"].to_string();
                line["id"] == id && spelled.as_bytes()[1..spelled.len() - 1] == *text
            }),
        }
    }
}

/// So many bytes of text; never half an escape.
fn text_of(length: usize) -> String {
    let mut text = SNIPPET.repeat(length / SNIPPET.len());
    text.extend(std::iter::repeat_n('x', length - text.len()));
    text
}

/// The id and the text of a line that is spelled as these parts say.
pub(crate) fn take<'a>(line: &'a [u8], parts: [&str; 3]) -> Option<(&'a [u8], &'a [u8])> {
    let rest = line.strip_prefix(parts[0].as_bytes())?;
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (id, rest) = rest.split_at(digits);
    Some((id, rest.strip_prefix(parts[1].as_bytes())?.strip_suffix(parts[2].as_bytes())?))
}

/// The opening of a client, with its line end.
pub(crate) fn opening() -> String {
    let client = json!({"name": "mcp-watchdog-bench", "version": env!("CARGO_PKG_VERSION")});
    let params = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
    format!("{}\n", json!({"jsonrpc": "2.0", "id": OPENING_ID, "method": "initialize", "params": params}))
}

/// What a client says once the opening is answered.
pub(crate) const INITIALIZED: &[u8] = b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";

/// Writes all of it, with one system call where that is possible.
///
/// # Errors
/// What the write says.
pub(crate) fn write_all(sink: &mut impl Write, mut parts: &mut [IoSlice<'_>]) -> io::Result<()> {
    while !parts.is_empty() {
        let written = sink.write_vectored(parts)?;
        if written == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        IoSlice::advance_slices(&mut parts, written);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_has_the_length_that_was_asked_for_and_is_json() {
        for length in [100, 1024, 65_536] {
            let mut call = Call::of_length(length);
            let line = call.under(FIRST_ID + 7).to_vec();
            assert_eq!(line.len(), length);
            let call: Value = serde_json::from_slice(&line).unwrap();
            assert_eq!(call["id"], FIRST_ID + 7);
        }
    }

    #[test]
    fn an_answer_is_known_in_every_spelling_and_no_other_is() {
        let call = Call::of_length(300);
        let text = String::from_utf8(call.line[call.text.clone()].to_vec()).unwrap();
        let ours = format!("{}{FIRST_ID}{}{text}{}", ANSWER[0], ANSWER[1], ANSWER[2]);
        let theirs = format!(r#"{{"result": {{"content": [{{"text": "{text}"}}]}}, "id": {FIRST_ID}}}"#);
        for line in [&ours, &theirs] {
            assert!(call.is_answered_by(line.as_bytes(), FIRST_ID), "{line}");
            assert!(!call.is_answered_by(line.as_bytes(), FIRST_ID + 1), "{line}");
            let other = line.replace("lines", "limes");
            assert!(!call.is_answered_by(other.as_bytes(), FIRST_ID), "{other}");
        }
    }
}
