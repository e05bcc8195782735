use super::*;

fn tools(names: &[&str], next: Option<&str>) -> String {
    let list: Vec<_> = names.iter().map(|name| serde_json::json!({"name": name})).collect();
    let mut page = serde_json::json!({"tools": list});
    if let Some(next) = next {
        page["nextCursor"] = next.into();
    }
    page.to_string()
}

#[test]
fn a_list_in_another_order_is_the_same_list() {
    let mut catalog = Catalog::new(false);
    catalog.learn(Generation(1), ListKind::Tools, None, tools(&["a", "b"], None).as_bytes());
    assert_eq!(
        catalog.refreshed(Generation(2), ListKind::Tools, tools(&["b", "a"], None).as_bytes()),
        Refreshed::Done(false)
    );
    assert_eq!(
        catalog.refreshed(Generation(2), ListKind::Tools, tools(&["b", "c"], None).as_bytes()),
        Refreshed::Done(true)
    );
    assert_eq!(
        catalog.refreshed(Generation(2), ListKind::Tools, tools(&["b", "c"], None).as_bytes()),
        Refreshed::Done(false)
    );
}

#[test]
fn a_list_that_is_spelled_otherwise_is_the_same_list() {
    let changed = |before: &str, after: &str| {
        let mut catalog = Catalog::new(false);
        let list = |items: &str| format!(r#"{{"tools":[{items}],"x":1}}"#);
        catalog.learn(Generation(1), ListKind::Tools, None, list(before).as_bytes());
        catalog.refreshed(Generation(2), ListKind::Tools, list(after).as_bytes()) == Refreshed::Done(true)
    };
    assert!(!changed(r#"{"name":"a","x":"\u0062"},{"name":"b"}"#, r#"{"name":"b"}, { "x":"b", "name":"a" }"#));
    assert!(changed(r#"{"name":"a"},{"name":"b"}"#, r#"{"name":"a"},{"name":"a"}"#), "as many, but not of each");
    assert!(changed(r#"{"name":"a"},{"name":"a"}"#, r#"{"name":"a"}"#));
    assert!(changed(r#"{"name":"a"}"#, r#"{"name":"a"},{"name":"a"}"#));
    let deep = |depth| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(!changed(&deep(1000), &deep(1000)));
    assert!(changed(&deep(1000), &deep(1001)), "what is nested too deeply to be looked into is taken by its spelling");
}

#[test]
fn pages_are_followed_and_compared_together() {
    let mut catalog = Catalog::new(false);
    catalog.learn(Generation(1), ListKind::Tools, None, tools(&["a"], Some("p2")).as_bytes());
    catalog.learn(Generation(1), ListKind::Tools, Some(b"\"p2\""), tools(&["b"], None).as_bytes());
    let more = catalog.refreshed(Generation(2), ListKind::Tools, tools(&["a"], Some("x")).as_bytes());
    assert_eq!(more, Refreshed::More(Bytes::from_static(b"\"x\"")));
    assert_eq!(
        catalog.refreshed(Generation(2), ListKind::Tools, tools(&["c"], None).as_bytes()),
        Refreshed::Done(true)
    );
}

#[test]
fn s184_an_answer_that_is_no_list_keeps_the_published_one() {
    let mut catalog = Catalog::new(false);
    let good = tools(&["a"], None);
    catalog.learn(Generation(1), ListKind::Tools, None, good.as_bytes());
    assert_eq!(catalog.refreshed(Generation(2), ListKind::Tools, b"{}"), Refreshed::Unreadable);
    assert_eq!(catalog.whole(ListKind::Tools).as_deref(), Some(good.as_bytes()));
}

#[test]
fn a_list_knows_whose_words_it_is() {
    let mut catalog = Catalog::new(false);
    catalog.learn(Generation(1), ListKind::Tools, None, tools(&["a"], Some("2")).as_bytes());
    catalog.refreshed(Generation(2), ListKind::Tools, b"{}");
    assert_eq!(catalog.list(ListKind::Tools).0, Generation(1), "what was not taken changes nothing");
    assert!(catalog.list(ListKind::Tools).1.last().is_some_and(|page| goes_on(page)));
    catalog.refreshed(Generation(2), ListKind::Tools, tools(&["b"], None).as_bytes());
    let (generation, pages) = catalog.list(ListKind::Tools);
    assert_eq!((generation, pages.len(), goes_on(&pages[0])), (Generation(2), 1, false));
    assert!(catalog.list(ListKind::Prompts).1.is_empty());
}

#[test]
fn annotations_are_read_where_they_are_wanted() {
    let list = br#"{"tools":[{"name":"r","annotations":{"readOnlyHint":true}},{"name":"w"}]}"#;
    let mut catalog = Catalog::new(true);
    catalog.learn(Generation(1), ListKind::Tools, None, list);
    assert!(catalog.hints("r").read_only);
    assert!(!catalog.hints("w").read_only && !catalog.hints("unknown").idempotent);
    let mut plain = Catalog::new(false);
    plain.learn(Generation(1), ListKind::Tools, None, list);
    assert!(!plain.hints("r").read_only);
}

#[test]
fn a_list_is_whole_where_its_last_page_is_known() {
    let mut catalog = Catalog::new(false);
    let learn = |catalog: &mut Catalog, cursor: Option<&str>, page: &str| {
        catalog.learn(Generation(1), ListKind::Tools, cursor.map(str::as_bytes), page.as_bytes());
        catalog.whole(ListKind::Tools).map(|page| String::from_utf8(page.to_vec()).unwrap())
    };
    assert_eq!(catalog.whole(ListKind::Tools), None);
    assert_eq!(learn(&mut catalog, None, r#"{"tools":[],"nextCursor":""}"#), None);
    assert_eq!(learn(&mut catalog, Some(r#""""#), r#"{"tools":[1,[2] ],"nextCursor":2}"#), None);
    assert_eq!(learn(&mut catalog, Some("2"), r#"{"tools": [ ]}"#).as_deref(), Some(r#"{"tools": [1,[2] ]}"#));
    assert_eq!(learn(&mut catalog, None, r#"{"tools":[],"nextCursor":1}"#), None, "read anew");
    assert_eq!(learn(&mut catalog, Some("1"), r#"{"tools":[ ]}"#).as_deref(), Some(r#"{"tools":[ ]}"#));
    assert_eq!(learn(&mut catalog, None, r#"{"tools":[],"nextCursor":1}"#), None);
    assert_eq!(learn(&mut catalog, Some("1"), "{}"), None, "no list");
}
