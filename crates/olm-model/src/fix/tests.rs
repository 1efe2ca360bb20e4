use super::*;
use crate::report::fix::Safety;
use kube_yaml::{Path, Position};

/// Applies one change at a path of keys and indices, `a.0.b`.
fn changed(text: &str, path: &str, change: Change) -> String {
    let root = Path::ROOT;
    let mut fix = Fix::new(Safety::Safe, &root, change);
    let step = |part: &str| match part.parse() {
        Ok(index) => kube_yaml::edit::PathStep::Index(index),
        Err(_) => kube_yaml::edit::PathStep::Key(part.to_owned()),
    };
    fix.place =
        kube_yaml::edit::Location::Path(path.split('/').filter(|part| !part.is_empty()).map(step).collect());
    apply(text, &[&fix]).0
}

fn string(text: &str) -> Change {
    Change::SetString(text.to_owned())
}

#[test]
fn scalars_keep_their_style_where_they_can() {
    for (before, new, after) in [
        ("a: 1.0 # one\nb: 2\n", "1.0", "a: \"1.0\" # one\nb: 2\n"),
        ("a: old # one\n", "new", "a: new # one\n"),
        ("a: 'old'\n", "it's", "a: 'it''s'\n"),
        ("a: \"old\"\n", "new\n", "a: \"new\\n\"\n"),
        ("a:\nb: 1\n", "x", "a: x\nb: 1\n"),
        ("{a: old, b: 1}\n", "x, y", "{a: \"x, y\", b: 1}\n"),
        ("a: old\r\nb: 1\r\n", "new", "a: new\r\nb: 1\r\n"),
        ("\u{feff}a: old\n", "new", "\u{feff}a: new\n"),
        ("a: old", "new", "a: new"),
        ("a: {old: 1}\n", "new", "a: {old: 1}\n"),
        ("a: &x old\nb: *x\n", "new", "a: &x old\nb: *x\n"),
    ] {
        assert_eq!(changed(before, "a", string(new)), after, "{before}");
    }
}

#[test]
fn entries_and_items_are_removed_with_their_lines() {
    for (before, path, after) in [
        ("a: 1\nb: # two\n  c: 2\n  d: 3\ne: 4\n", "b", "a: 1\ne: 4\n"),
        // Empty lines after a block scalar are part of it.
        ("a: 1\nb: |\n  text\n\n# next\nc: 2\n", "b", "a: 1\n# next\nc: 2\n"),
        ("l:\n- a\n- b: 1\n  c: 2\n- d\n", "l/1", "l:\n- a\n- d\n"),
        ("l:\n  - a: 1\n    b: 2\n", "l/0/a", "l:\n  - b: 2\n"),
        ("l:\n- a: 1 # why\n  b: 2\n", "l/0/a", "l:\n- a: 1 # why\n  b: 2\n"),
        ("l: [a, b, c]\n", "l/0", "l: [b, c]\n"),
        ("l: [a, b, c]\n", "l/2", "l: [a, b]\n"),
        ("l: [a]\n", "l/0", "l: []\n"),
        ("m: {a: 1, b: 2}\n", "m/a", "m: {b: 2}\n"),
        // Comments stay with what they are about.
        ("m: {\n  a: 1, # one\n  b: 2 # two\n}\n", "m/b", "m: {\n  a: 1, # one\n}\n"),
        ("m: {\n  a: 1, # one\n  # two\n  b: 2\n}\n", "m/a", "m: {\n  # two\n  b: 2\n}\n"),
        ("l: [\n  a,\n  b, # two\n  c\n]\n", "l/1", "l: [\n  a,\n  c\n]\n"),
        ("m: {a: 1, b: 2, # two\n  c: 3}\n", "m/b", "m: {a: 1, b: 2, # two\n  c: 3}\n"),
        // The map would be null.
        ("m:\n  a: 1\nn: 2\n", "m/a", "m:\n  a: 1\nn: 2\n"),
        ("a: 1\nb: 2", "b", "a: 1\n"),
    ] {
        assert_eq!(changed(before, path, Change::Remove), after, "{before}");
    }
}

#[test]
fn entries_are_added_and_renamed() {
    let insert = |value: &str| Change::Insert("new".to_owned(), value.to_owned());
    assert_eq!(
        changed("m:\n  a: 1 # one\nb: 2\n", "m", insert("x y")),
        "m:\n  a: 1 # one\n  new: x y\nb: 2\n"
    );
    assert_eq!(changed("m:\n  a: 1", "m", insert("5")), "m:\n  a: 1\n  new: \"5\"");
    assert_eq!(changed("m: {a: 1}\n", "m", insert("x")), "m: {a: 1, new: x}\n");
    assert_eq!(
        changed("m:\n  a: |\n    t\n\nb: 2\n", "m", insert("x")),
        "m:\n  a: |\n    t\n\n  new: x\nb: 2\n"
    );
    assert_eq!(changed("m: {}\n", "m", insert("x")), "m: {}\n");
    // JSON stays JSON, with an entry on each line if it has that.
    assert_eq!(changed("{\"a\":1}\n", "", insert("x y")), "{\"a\":1, \"new\": \"x y\"}\n");
    assert_eq!(
        changed("{\r\n  \"a\": 1,\r\n  \"b\": {\"c\": 2}\r\n}", "", insert("x")),
        "{\r\n  \"a\": 1,\r\n  \"b\": {\"c\": 2},\r\n  \"new\": \"x\"\r\n}"
    );
    assert_eq!(
        changed("{\"a\": {\n\t\"b\": 1\n}}\n", "a", insert("x")),
        "{\"a\": {\n\t\"b\": 1,\n\t\"new\": \"x\"\n}}\n"
    );
    assert_eq!(changed("m:\n  new: 1\n", "m", insert("x")), "m:\n  new: 1\n");
    let rename = || Change::Rename("new".to_owned());
    assert_eq!(changed("m:\n  'a': 1 # one\n", "m/a", rename()), "m:\n  'new': 1 # one\n");
    assert_eq!(changed("m: {a: 1, new: 2}\n", "m/a", rename()), "m: {a: 1, new: 2}\n");
}

#[test]
fn a_duplicate_is_removed_by_its_position() {
    let text = "a: 1\nb: 2\na: 3\n";
    let fix = Fix::at(Safety::Safe, Position { line: 1, column: 1 }, "a", Change::RemoveDuplicate);
    assert_eq!(apply(text, &[&fix]).0, "b: 2\na: 3\n");
    // Removing the one that counts would change the value.
    let fix = Fix::at(Safety::Safe, Position { line: 3, column: 1 }, "a", Change::RemoveDuplicate);
    assert_eq!(apply(text, &[&fix]).0, text);
    // The only one of its map is no duplicate, whatever is merged into the map.
    let text = "a: &a\n  b: 1\nc:\n  <<: *a\n  b: 2\n";
    for line in [2, 5] {
        let fix = Fix::at(Safety::Safe, Position { line, column: 3 }, "b", Change::RemoveDuplicate);
        assert_eq!(apply(text, &[&fix]).0, text);
    }
}

#[test]
fn several_fixes_are_applied_at_once_and_those_that_touch_one_by_one() {
    let root = Path::ROOT;
    let list = root.field("l");
    let items = [list.index(0), list.index(2)];
    let fixes: Vec<Fix> = items.iter().map(|item| Fix::new(Safety::Safe, item, Change::Remove)).collect();
    let all: Vec<&Fix> = fixes.iter().collect();
    assert_eq!(apply("l:\n- a\n- b\n- c\n- d\n", &all), ("l:\n- b\n- d\n".to_owned(), vec![0, 1]));
    let insert = |name: &str| Fix::new(Safety::Safe, &root, Change::Insert(name.to_owned(), "x".to_owned()));
    let (a, b) = (insert("a"), insert("b"));
    assert_eq!(apply("z: 1\n", &[&a, &b]), ("z: 1\na: x\n".to_owned(), vec![0]));
}

#[test]
fn a_label_is_set_in_a_dockerfile_only() {
    let label = Fix::label("a", "new");
    let other = Fix::new(Safety::Safe, &Path::ROOT.field("b"), string("new"));
    assert_eq!(apply("a: old\nb: old\n", &[&label, &other]), ("a: old\nb: new\n".to_owned(), vec![1]));
    assert_eq!(apply("FROM b\nLABEL a=old\n", &[&label]), ("FROM b\nLABEL a=new\n".to_owned(), vec![0]));
}

#[test]
fn tabs_in_the_indentation_become_spaces() {
    let fix = Fix::at(Safety::Safe, Position::default(), "", Change::ReplaceTabs);
    assert_eq!(apply("a:\n\tb: 1\n\tc:\n\t\td: x\ty\n", &[&fix]).0, "a:\n  b: 1\n  c:\n    d: x\ty\n");
    for (before, after) in [
        ("a: [\n", "a: [\n"),
        // The tabs of a text stay.
        ("a:\n\tb: |\n\t\tall:\n\t\t\techo\n", "a:\n  b: |\n    all:\n    \techo\n"),
        ("a:\n\tb: c\nd: |\n  all:\n  \techo\n", "a:\n  b: c\nd: |\n  all:\n  \techo\n"),
        ("a: 1\n---\na:\n\tb: 1\nd: |\n  x\n  \ty\n", "a: 1\n---\na:\n  b: 1\nd: |\n  x\n  \ty\n"),
        // Whether they do is not certain here.
        ("a: |-\n  \tb\n", "a: |-\n  \tb\n"),
        ("a: > # b\n\t\tc\n", "a: > # b\n\t\tc\n"),
        ("a: |2\n    b\n  \tc\nd:\n\te: 1\n", "a: |2\n    b\n  \tc\nd:\n\te: 1\n"),
        ("a:\n    b: 1\n\tc: 2\n", "a:\n    b: 1\n    c: 2\n"),
        ("a:\n\tb: |+\n\t\tc\n\n\t\t\td\n\n\te: 1", "a:\n  b: |+\n    c\n\n    \td\n\n  e: 1"),
        ("a:\n\t- |\n\t\tb\n\t- c", "a:\n  - |\n    b\n  - c"),
    ] {
        assert_eq!(apply(before, &[&fix]).0, after, "{before}");
    }
}
