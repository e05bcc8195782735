use proptest::prelude::*;

use super::*;

/// The same, byte by byte.
fn reference(bytes: &[u8]) -> Step {
    let (mut depth, mut curly, mut in_string, mut escaped) = (0, 0, false, false);
    for (at, &byte) in bytes.iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'\\' => return Step::Broken,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'{' | b'[' => {
                depth += 1;
                curly += i32::from(byte == b'{');
            }
            b'}' | b']' => {
                depth -= 1;
                curly -= i32::from(byte == b'}');
                if depth == 0 {
                    return if curly == 0 { Step::Ended(at + 1) } else { Step::Broken };
                }
            }
            _ => {}
        }
    }
    Step::Open
}

fn in_pieces(bytes: &[u8], cuts: &[usize]) -> Step {
    let mut skip = Skip::default();
    fed(bytes, cuts, |bytes, from| skip.feed(bytes, from))
}

/// Feeds in pieces of these lengths, and the rest.
fn fed(bytes: &[u8], cuts: &[usize], mut feed: impl FnMut(&[u8], usize) -> Step) -> Step {
    let mut done = 0;
    for length in cuts.iter().copied().chain([bytes.len()]) {
        let end = bytes.len().min(done + length);
        match feed(&bytes[..end], done) {
            Step::Open => done = end,
            step => return step,
        }
    }
    Step::Open
}

/// Whether the same is found of a value that is there as a whole, behind so many bytes of something else.
fn at_once(value: &[u8], before: usize, expected: Step) -> bool {
    let text = [&vec![b'"'; before], value].concat();
    let expected = match expected {
        Step::Ended(end) => Some(before + end),
        Step::Open | Step::Broken => None,
    };
    end(&text, before) == expected && long_end(&text, before) == expected
}

/// Text that is rich in what matters. Backslashes are rare outside of strings, where they end the walk.
fn soup() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        4 => prop::sample::select(vec!["{", "}", "[", "]", ",", ":", "1", " "]).prop_map(str::to_owned),
        4 => r#""([a\[\]{} é]|\\\\|\\"|\\n){0,12}""#.prop_map(|text| text),
        1 => (0_usize..200, 0_usize..6).prop_map(|(text, slashes)| {
            format!("\"{}{}\"", "x".repeat(text), r"\\".repeat(slashes))
        }),
        1 => (0_usize..90, 0_usize..6).prop_map(|(text, slashes)| {
            format!("{{\"{}{}\"}}", "x".repeat(text), r#"\""#.repeat(slashes))
        }),
        1 => prop::collection::vec((0_usize..70, 0_usize..4), 0..12).prop_map(|parts| format!("\"{}\"", escaped(&parts))),
        1 => Just("\\".to_owned()),
        1 => Just("\"".to_owned()),
    ];
    prop::collection::vec(piece, 0..60).prop_map(|pieces| format!("[{}", pieces.concat()).into_bytes())
}

/// Text that carries code: quotes with a backslash before them, and backslashes in pairs.
fn escaped(parts: &[(usize, usize)]) -> String {
    parts.iter().map(|&(text, pairs)| format!("{}{}\\\"", "x".repeat(text), r"\\".repeat(pairs))).collect()
}

proptest! {
    #[test]
    fn the_end_of_a_string_is_found_behind_any_escapes(
        parts in prop::collection::vec((0_usize..200, 0_usize..4), 0..12),
        behind in 0_usize..100,
        cuts in prop::collection::vec(0_usize..90, 0..40),
    ) {
        let text = escaped(&parts);
        let line = format!("{text}\"{}", r#"\""#.repeat(behind));
        for cuts in [&[][..], &cuts, &vec![1; line.len()]] {
            let mut skip = SkipText::default();
            prop_assert_eq!(fed(line.as_bytes(), cuts, |bytes, from| skip.feed(bytes, from)), Step::Ended(text.len() + 1));
            let mut skip = SkipText::default();
            prop_assert_eq!(fed(text.as_bytes(), cuts, |bytes, from| skip.feed(bytes, from)), Step::Open);
        }
    }

    #[test]
    fn agrees_with_the_byte_by_byte_walk(bytes in soup(), before in 0_usize..200) {
        let expected = reference(&bytes);
        prop_assert_eq!(in_pieces(&bytes, &[]), expected);
        prop_assert_eq!(in_pieces(&bytes, &vec![1; bytes.len()]), expected);
        prop_assert!(at_once(&bytes, before, expected));
    }

    #[test]
    fn short_values_at_the_end_of_a_line_are_no_others(
        text in r#"[\[{][\[\]{}"\\a,]{0,62}"#,
        before in 0_usize..200,
    ) {
        prop_assert!(at_once(text.as_bytes(), before, reference(text.as_bytes())));
    }

    #[test]
    fn agrees_on_well_formed_text_in_any_pieces(
        text in "(\\{(\"([a\\[\\]{}]|\\\\\\\\|\\\\\"){0,80}\"|\\[(1|\\{\\}|\\[\\])*\\]){0,9}\\}){0,9}",
        cuts in prop::collection::vec(0_usize..90, 0..40),
    ) {
        let bytes = format!("[{text}]x").into_bytes();
        prop_assert_eq!(reference(&bytes), Step::Ended(bytes.len() - 1));
        prop_assert_eq!(in_pieces(&bytes, &cuts), Step::Ended(bytes.len() - 1));
        let ones = vec![1; bytes.len()];
        prop_assert_eq!(in_pieces(&bytes, &ones), Step::Ended(bytes.len() - 1));
    }

    #[test]
    fn cuts_do_not_matter_for_an_unended_value(
        text in r#"\[("([a\[]|\\\\|\\"){0,90}",)*"([a\[]|\\\\|\\"){0,200}"#,
        cuts in prop::collection::vec(0_usize..90, 0..40),
    ) {
        prop_assert_eq!(in_pieces(text.as_bytes(), &cuts), Step::Open);
    }
}

#[test]
fn what_opens_as_one_kind_does_not_end_as_the_other() {
    for (text, expected) in [
        ("[}", Step::Broken),
        ("{]", Step::Broken),
        ("[[1,{}]}", Step::Broken),
        ("[{}]}", Step::Ended(4)),
        // Brackets that cross are not looked for.
        ("[{]}", Step::Ended(4)),
    ] {
        assert_eq!(in_pieces(text.as_bytes(), &[]), expected, "{text}");
        assert_eq!(in_pieces(text.as_bytes(), &[1, 1, 1]), expected, "{text}");
    }
}

#[test]
fn depth_needs_no_recursion() {
    for depth in [1, 63, 64, 65, 127, 128, 129, 1_000_000] {
        let mut text = "[{".repeat(depth) + &"}]".repeat(depth);
        assert_eq!(in_pieces(text.as_bytes(), &[]), Step::Ended(4 * depth));
        text.pop();
        assert_eq!(in_pieces(text.as_bytes(), &[]), Step::Open);
        text.push('}');
        assert_eq!(in_pieces(text.as_bytes(), &[]), Step::Broken);
    }
}

#[test]
fn runs_of_backslashes_of_any_length_and_place_are_counted() {
    for before in 0..140 {
        for run in 0..6 {
            let text = format!("[\"{}{}\"]\"]", "x".repeat(before), "\\".repeat(run));
            let expected = if run % 2 == 0 { text.len() - 2 } else { text.len() };
            assert_eq!(in_pieces(text.as_bytes(), &[]), Step::Ended(expected), "{before} {run}");
            for cut in 0..text.len() {
                assert_eq!(in_pieces(text.as_bytes(), &[cut]), Step::Ended(expected), "{before} {run} {cut}");
            }
        }
    }
}
