use super::*;

fn expanded(text: &str) -> Result<String, String> {
    let lookup = |name: &str| match name {
        "A" => Some(OsStr::new("alpha")),
        "EMPTY" => Some(OsStr::new("")),
        "_B1" => Some(OsStr::new("${A}")),
        _ => None,
    };
    expand(text, lookup).map(|text| text.into_string().unwrap())
}

#[test]
fn references() {
    for (text, expected) in [
        ("", ""),
        ("plain $A $ {A} }", "plain $A $ {A} }"),
        ("${A}", "alpha"),
        ("<${A}${A}>", "<alphaalpha>"),
        ("${A:-x}", "alpha"),
        ("${NO:-x}", "x"),
        ("${NO:-}", ""),
        ("${NO:-a:-b $ {}", "a:-b $ {"),
        ("${EMPTY}", ""),
        ("${EMPTY:-x}", "x"),
        ("${_B1}", "${A}"),
        ("$${A}", "${A}"),
        ("$$${A}", "$${A}"),
        ("ä${A}ß", "äalphaß"),
    ] {
        assert_eq!(expanded(text).as_deref(), Ok(expected), "{text}");
    }
}

#[test]
fn references_that_cannot_be() {
    assert_eq!(expanded("${NO}").unwrap_err(), "the variable `NO` is not set, and has no default (`${NO:-default}`)");
    assert_eq!(expanded("a${A").unwrap_err(), "`${` without `}` (write `$${` for the two characters)");
    for text in ["${}", "${1A}", "${input:token}", "${A-x}", "${ A }", "${:-x}"] {
        let error = expanded(text).unwrap_err();
        assert!(error.starts_with("`${…}` without a variable's name"), "{text}: {error}");
    }
}

#[cfg(unix)]
#[test]
fn values_need_not_be_text() {
    use std::os::unix::ffi::OsStrExt;
    let value = expand("x${A}", |_| Some(OsStr::from_bytes(b"\xff"))).unwrap();
    assert_eq!(value.as_bytes(), b"x\xff");
}
