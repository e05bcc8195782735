//! A page of a list result: where its items are, and whether another page follows.

use std::borrow::Cow;

use super::Span;
use super::head::text_at;
use super::read::Reader;

/// What was found of a page. Offsets are those of the result's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The items, as they stand there.
    pub items: Vec<Span>,
    /// Where one more item would stand.
    pub end: usize,
    /// Whether the list ends here: there is no `nextCursor`.
    pub is_last: bool,
}

/// Reads a result of a list request whose items are in `member`; `None` where there is no such array. Of duplicate keys the
/// last one counts.
#[must_use]
pub fn page(result: &[u8], member: &str) -> Option<Page> {
    let (mut array, mut cursor) = (None, None);
    let mut reader = Reader::new(result);
    let mut more = reader.enter(b'{', b'}')?;
    while more {
        let name = reader.name()?;
        if name.is("nextCursor") {
            cursor = reader.value_if(|first| first != b'n')?;
        } else if name.is(member) {
            let mut items = Vec::new();
            array = match reader.peek() {
                Some(b'[') => Some((reader.spanned(|reader| reader.array(|item| items.push(item)))?, items)),
                _ => reader.skip_value().map(|()| None)?,
            };
        } else {
            reader.skip_value()?;
        }
        more = reader.goes_on(b'}')?;
    }
    reader.end()?;
    let (span, items) = array?;
    let end = items.last().map_or(span.start + 1, |item| item.end);
    Some(Page { items, end, is_last: cursor.is_none() })
}

/// The `name` of an item, where it is a string.
#[must_use]
pub fn name(item: &[u8]) -> Option<Cow<'_, str>> {
    let mut found = None;
    let mut reader = Reader::new(item);
    let mut more = reader.enter(b'{', b'}')?;
    while more {
        let name = reader.name()?;
        if name.is("name") {
            found = Some(reader.value()?);
        } else {
            reader.skip_value()?;
        }
        more = reader.goes_on(b'}')?;
    }
    text_at(item, found.as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(result: &str) -> Option<(Vec<&str>, usize, bool)> {
        let page = page(result.as_bytes(), "tools")?;
        Some((page.items.iter().map(|span| &result[span.clone()]).collect(), page.end, page.is_last))
    }

    #[test]
    fn items_are_found_where_they_stand() {
        assert_eq!(read(r#"{ "a" : [1], "tools" : [ {"x":"]"} , 2 ] }"#), Some((vec![r#"{"x":"]"}"#, "2"], 38, true)));
        assert_eq!(read(r#"{"tools":[ ]}"#), Some((vec![], 10, true)));
        assert_eq!(read(r#"{"tools":[],"tools":[1]}"#), Some((vec!["1"], 22, true)), "the last one counts");
    }

    #[test]
    fn a_cursor_says_that_there_is_more() {
        assert_eq!(read(r#"{"nextCursor":"","tools":[]}"#).map(|page| page.2), Some(false));
        assert_eq!(read(r#"{"nextCursor":null,"tools":[]}"#).map(|page| page.2), Some(true));
        assert_eq!(read(r#"{"tools":[{"nextCursor":"x"}]}"#).map(|page| page.2), Some(true), "not the page's");
    }

    #[test]
    fn what_is_no_list_is_none() {
        for result in ["{}", r#"{"tools":{}}"#, r#"{"tools":null}"#, "[]", r#"{"tools":[1"#, r#"{"tools":[]} x"#] {
            assert_eq!(read(result), None, "{result}");
        }
        assert_eq!(read(r#"{"tools":[1],"tools":3}"#), None, "the last one counts");
    }

    #[test]
    fn names_are_read_as_they_are_meant() {
        assert_eq!(name(br#"{"x":{"name":"no"},"name":"a\u0062"}"#).as_deref(), Some("ab"));
        assert_eq!(name(br#"{"name":1}"#), None);
        assert_eq!(name(b"1"), None);
    }
}
