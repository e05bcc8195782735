use super::*;

fn key(name: &str) -> Step {
    Step::Key(name.to_owned())
}

#[test]
fn places() {
    let text = "a:\n  b: [x, {c: y}]\n  d: z\nd: 1\nd: 2\n";
    let at = |path: &[Step], target| locate(text, path, target).map(|place| (place.line, place.column));
    assert_eq!(at(&[key("a"), key("d")], Target::Value), Some((3, 6)));
    assert_eq!(at(&[key("a"), key("d")], Target::Key(0)), Some((3, 3)));
    assert_eq!(at(&[key("a"), key("b")], Target::Value), Some((2, 6)));
    assert_eq!(at(&[key("a"), key("b"), Step::Index(0)], Target::Value), Some((2, 7)));
    assert_eq!(at(&[key("a"), key("b"), Step::Index(1), key("c")], Target::Key(0)), Some((2, 11)));
    assert_eq!(at(&[key("d")], Target::Key(0)), Some((4, 1)));
    assert_eq!(at(&[key("d")], Target::Key(1)), Some((5, 1)));
    assert_eq!(at(&[], Target::Value), Some((1, 1)));
}

#[test]
fn a_path_that_is_not_written_leads_to_the_deepest_part_that_is() {
    let text = "a:\n  b: x\n";
    assert_eq!(locate(text, &[key("a"), key("b"), key("c")], Target::Value), Some(Place { line: 2, column: 6 }));
    assert_eq!(locate(text, &[key("z")], Target::Key(0)), Some(Place { line: 1, column: 1 }));
}

#[test]
fn columns_count_characters() {
    assert_eq!(locate("äöü: x", &[key("äöü")], Target::Value), Some(Place { line: 1, column: 6 }));
}
