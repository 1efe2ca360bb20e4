//! libyaml finds the same in what is usual.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::libyaml::check_characters;
use crate::stream;

/// Returns whether a text is usual. If it is, libyaml finds the same, at the same places.
fn is_usual(text: &str) -> bool {
    // As the only caller does.
    if check_characters(text.as_bytes()).is_err() {
        return false;
    }
    let Some(read) = read(text.as_bytes()) else { return false };
    let expected = stream::documents(text.as_bytes());
    assert_eq!(format!("{read:?}"), format!("{expected:?}"), "{text}");
    true
}

#[test]
fn what_encoders_write_is_usual() {
    for text in [
        "",
        "# nothing\n",
        "---\n",
        "--- # one\na: 1\n---\n\n---\n- b\n",
        "a: 1\n\n# c\nb:\n  c: [a, \"b, c\", {d: e}] # f\n  'g h':   \n# i\n",
        "a:\n- b\n- c: d\n  e:\n  - f\n  -\n  - - g\n    - h\n-\n  i: j\nk:\n",
        "a: b c\n  d:e\n  g\n\n\n  h # i\nj: https://k#l\n",
        "a: \"b \\\"c\\u00e4\\x41\\\\  \\n\n   d\\\n    \\ e\n\n  f  \"\n",
        "a: 'b ''c  \n\n  d'\nb: ''\n'c': \"\"\n",
        "a: |\n  b\n\n    c\n  \td\n\ne: |-\n  f\n\n\ng: |+\n  h\n\ni: |2\n    j\n",
        "a: >\n  b\n  c\n\n  d\n    e\n\n  f\ng: >-\n\n\n  h\ni: >+\n\nj: |-\nk: 1\n",
        "- |\n a\n- >\n b\n- - |\n   c\n  - d\n",
        "{\"a\":{\"b\":[1,2.5,null,true,\"\\u003c\"]},\n \"c\": []}",
        "[\n  \"a\",\n  {}\n]\n",
        "\u{e4}: \u{1f600} \u{fc}\nb: \"\u{e4}\"\n\u{e4}\u{e4}\u{e4}:\n- \u{e4}: c\n",
        "a: -1\nb: -c\nd: ~\ne: =\n0x10: on\n1e3: .5\n",
        "- # one\n  a: 1\n-   # two\n- b\n",
        "a: \"\\t\n  \\t\\\n\\ \n\"\n",
    ] {
        assert!(is_usual(text), "{text}");
    }
}

#[test]
fn what_may_be_wrong_is_left_to_libyaml() {
    for text in [
        "a: *b\n",
        "a: &b c\n",
        "a: !b c\n",
        "%YAML 1.1\n---\na: 1\n",
        "? a\n: b\n",
        "a: b\r\n",
        "a:\tb\n",
        "a: b: c\n",
        "a: b\n  c: d\n",
        "a: 1\n b: 2\n",
        "  a: 1\nb: 2\n",
        "a: - b\n",
        "a: 1\n- b\n",
        "- a\nb: 1\n",
        "a: 'b\n---\nc'\n",
        "a: [b,]\n",
        "{a: 1}}\n",
        "{a}\n",
        "a: \"b\" c\n",
        "a: @b\n",
        "a: |\n    \n  b\n",
        "a: |\n  b",
        "<<: {a: 1}\n",
        "a: \"\\/\"\n",
        "a\n",
        "--- a\n",
        "a: 1\n...\n",
        "? \n",
        "a: .inf\n",
        "... a: 1\n",
    ] {
        assert!(!is_usual(text), "{text}");
    }
    assert!(!is_usual(&"- ".repeat(200)));
}

#[test]
fn what_is_near_a_limit_of_libyaml_is_left_to_it() {
    for character in ["a", "\u{e4}", "\u{1f600}"] {
        for quote in ["", "'", "\""] {
            for length in [999, 1000, 1001, 1022, 1023, 1024, 1025, 1026] {
                let text =
                    |key: &str| format!("b:\n- {quote}{key}{quote}: 1\n  c: {{{quote}{key}{quote}: 1}}\n");
                is_usual(&text(&character.repeat(length)));
                is_usual(&text(&character.repeat(length / character.len())));
            }
        }
    }
    // libyaml's scanner gets the text in pieces of 16 KiB.
    for length in 16_370..16_390 {
        assert!(is_usual(&format!(
            "a: {}\u{1f600}\n  b\nc: \"{}\"\n",
            "x".repeat(length),
            "\u{e4}".repeat(length)
        )));
    }
}

const PIECES: [&str; 54] = [
    "!a,", "%TAG", "\\ ", "\\t", "- # c\n", "\\\n  ", "a", "b c", ": ", ":", "- ", "-", "? ", "---", "---\n",
    "...", "\n", "\n", "\n", "\n  ", "\n  ", "\n    ", "\n ", "\n- ", "\na: ", "\n  b: ", "\n  - ", " ",
    "  ", "\t", "|\n  ", "|-\n  ", ">\n  ", "|2+\n   ", ">+\n", "\"", "'", "''", "\\", "\\\n", "\\u00e4",
    "\\n", "[", "]", "{", "}", ",", "#", " # c", "\u{e4}", "1", "~", "<<", "\"q\"",
];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(20_000) })]

    #[test]
    fn libyaml_finds_the_same(pieces in vec(select(&PIECES[..]), 0..16)) {
        is_usual(&pieces.concat());
    }

    /// A text that is usual, and a few changes of it.
    #[test]
    fn libyaml_finds_the_same_in_changed_manifests(
        changes in vec((0..MANIFEST.len(), 0..6_usize, select(&PIECES[..])), 0..4),
    ) {
        let mut text = MANIFEST.to_owned();
        for (at, length, piece) in changes {
            let at = text.floor_char_boundary(at);
            let end = text.floor_char_boundary(at + length);
            text.replace_range(at..end, piece);
        }
        is_usual(&text);
    }
}

const MANIFEST: &str = r#"# A manifest.
apiVersion: v1
kind: Thing
metadata:
  annotations:
    examples: |-
      [
        {"kind": "Thing"}
      ]
    quoted: "one \"two\"
      three"
  name: 'thing'
spec:
  list:
  - name: a b
    more:
      - 1
      - - 2
        - {x: y}
  -   b: 2
  folded: >
    one
    two

      three
  long: one two
    three four

  none:
  flow: [a, "b", {c: 'd'}]
---
- last
"#;
