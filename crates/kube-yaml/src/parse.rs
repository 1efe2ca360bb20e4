//! Parses text into [`Tree`]s, with libyaml's parser and go-yaml v2's reading of scalars, tags, aliases and merges.
//!
//! Kubernetes and OLM read YAML through go-yaml v2, a port of libyaml. What that port rejects is rejected here for the
//! same reason. Nothing else is, except what exceeds a limit: [`MAX_DEPTH`], [`MAX_DEPTH_SUM`], [`MAX_VALUES`], [`MAX_DOCUMENTS`],
//! [`MAX_ALIASED_VALUES`], [`MAX_ALIASED_BYTES`], [`MAX_TAG_DIRECTIVES`], [`MAX_TAG_DIRECTIVE_BYTES`]. How many bytes are
//! read is limited by whoever reads them.
//!
//! Most files need no libyaml: `fast_path` reads what encoders write, with the same result, and leaves the rest.

use crate::libyaml::{BYTE_ORDER_MARK, check_characters, utf8};
pub use crate::libyaml::{MAX_TAG_DIRECTIVE_BYTES, MAX_TAG_DIRECTIVES};
use crate::tree_builder::Documents;
pub use crate::tree_builder::{
    Aliased, MAX_ALIASED_BYTES, MAX_ALIASED_VALUES, MAX_DEPTH, MAX_DEPTH_SUM, MAX_DOCUMENTS, MAX_VALUES,
};
use crate::{Position, SyntaxError, Tree};
use crate::{fast_path, json_text, likely_cause, stream};

/// What a text contains: the documents that could be read and, where reading stopped early, why.
#[derive(Debug)]
pub struct Parsed {
    /// The documents in the text's order.
    pub documents: Vec<Tree>,
    /// Why the rest could not be read.
    pub error: Option<SyntaxError>,
    /// What Kubernetes' parsers find, which stop at the first separator.
    pub first: First,
    /// The position of a string in a JSON text that YAML parsers reject.
    pub json_only: Option<Position>,
    /// What the aliases of all documents stand for.
    pub aliased: Aliased,
}

/// What precedes a file's first `---`, except for one that the file begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum First {
    /// A value: the first of the documents.
    Value,
    /// Nothing, or comments alone: parsers take the file for an empty object, whatever follows.
    Empty,
    /// Invalid YAML; `error` has the reason.
    Unreadable,
}

/// Parses all documents of a text. Empty documents (nothing, or comments alone) are omitted. An error reports its likely
/// cause, such as a merge conflict or a tab, and otherwise what the parser expected.
#[must_use]
pub fn parse(text: &[u8]) -> Parsed {
    let parsed = parse_text(text);
    Parsed { error: parsed.error.map(|error| likely_cause::explain(text, error)), ..parsed }
}

fn parse_text(text: &[u8]) -> Parsed {
    let unreadable = |wrong, json_only| Parsed {
        documents: Vec::new(),
        error: Some(wrong),
        first: First::Unreadable,
        json_only,
        aliased: Aliased::default(),
    };
    let text = match utf8(text) {
        Ok(text) => text,
        Err(wrong) => return unreadable(wrong, None),
    };
    let json_only = json_text::not_yaml(&text);
    let text = &*json_text::for_yaml(&text);
    match first_chunk(text) {
        Err(wrong) => unreadable(wrong, json_only),
        Ok(end) => {
            let all = documents(text);
            let (first, wrong) = if end == text.len() {
                (first(&all.trees, all.error.as_ref()), None)
            } else {
                let head = documents(&text[..end]);
                (first(&head.trees, head.error.as_ref()), head.error)
            };
            let error = if first == First::Unreadable { wrong.or(all.error) } else { all.error };
            Parsed { documents: all.trees, error, first, json_only, aliased: all.counts.aliased }
        }
    }
}

fn documents(text: &[u8]) -> Documents {
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    if let Err(error) = check_characters(text) {
        return Documents { error: Some(error), ..Documents::default() };
    }
    fast_path::read(text).unwrap_or_else(|| stream::documents(text))
}

/// Returns whether the reader of usual YAML finds in a text what libyaml does, if it reads it at all: for fuzzing.
#[doc(hidden)]
#[must_use]
pub fn readers_agree(text: &[u8]) -> bool {
    check_characters(text).is_err()
        || fast_path::read(text)
            .is_none_or(|read| format!("{read:?}") == format!("{:?}", stream::documents(text)))
}

fn first(documents: &[Tree], error: Option<&SyntaxError>) -> First {
    // Parsers do not read what follows the first document.
    match (documents.is_empty(), error) {
        (false, _) => First::Value,
        (true, Some(_)) => First::Unreadable,
        (true, None) => First::Empty,
    }
}

/// Returns where the first separator is: a line that begins with `---`, except for the very first line. Kubernetes cuts
/// texts there before it parses them as YAML, and accepts nothing but a comment after the dashes.
///
/// Source: `util/yaml/decoder.go` of k8s.io/apimachinery (`YAMLReader`).
fn first_chunk(text: &[u8]) -> Result<usize, SyntaxError> {
    const SEPARATOR: &[u8] = b"---";
    let check = |start: usize| {
        let line = text[start..].split(|&byte| byte == b'\n').next().unwrap_or_default();
        let behind = line[SEPARATOR.len()..].trim_ascii();
        if behind.is_empty() || behind[0] == b'#' {
            return Ok(());
        }
        let line = u32::try_from(text[..start].split(|&byte| byte == b'\n').count()).unwrap_or(u32::MAX);
        let message = "only a comment is allowed after the document separator `---`".to_owned();
        Err(SyntaxError::new(message, Position { line, column: 4 }))
    };
    if text.trim_ascii_start().starts_with(b"{") {
        // JSON, which may not be cut.
        return Ok(text.len());
    }
    if text.starts_with(SEPARATOR) {
        check(0)?;
    }
    match memchr::memmem::find(text, b"\n---") {
        Some(newline) => check(newline + 1).map(|()| newline + 1),
        None => Ok(text.len()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use test_support::{LINEAR, growth};

    use super::*;
    use crate::tree_builder::Counts;
    use crate::{Path, decode};

    fn one(text: &str) -> serde_json::Value {
        let parsed = parse(text.as_bytes());
        assert_eq!(parsed.error, None, "{text}");
        assert_eq!(parsed.documents.len(), 1, "{text}");
        parsed.documents[0].root().to_json()
    }

    #[test]
    fn values_are_the_same_as_json() {
        let is_same = |one: &str, other: &str| {
            let (one, other) = (parse(one.as_bytes()), parse(other.as_bytes()));
            assert_eq!((&one.error, &other.error), (&None, &None));
            let [one, other] = [&one, &other].map(|parsed| parsed.documents[0].root());
            assert_eq!(one.is_same(other), other.is_same(one));
            one.is_same(other)
        };
        for (one, other) in [
            ("{a: 1, b: [x, {c: ~}]}", "b:\n- 'x'\n- c: null\na: 0x1"),
            ("a", "\"a\""),
            ("{a: 1, a: 2}", "{a: 3, a: 2}"),
            ("true", "true"),
            ("[]", "[]"),
        ] {
            assert!(is_same(one, other), "{one} {other}");
        }
        for (one, other) in [
            ("{a: 1}", "{a: 2}"),
            ("{a: 1}", "{b: 1}"),
            ("{a: 1}", "{a: 1, b: 2}"),
            ("{a: 1, a: 2}", "{a: 2, b: 2}"),
            ("[a, b]", "[b, a]"),
            ("[a]", "[a, a]"),
            ("1", "'1'"),
            ("1", "1.5"),
            ("[]", "{}"),
            ("[null]", "['']"),
        ] {
            assert!(!is_same(one, other), "{one} {other}");
        }
    }

    fn error(text: &str) -> String {
        parse(text.as_bytes()).error.expect("an error").to_string()
    }

    #[test]
    fn scalars_keep_their_place_and_their_type() {
        assert_eq!(
            one("a: on\nb: 'on'\nc: 0777\nd: 1e3\ne: !!str 5\nf: =\ng: [~, 1.5]\n"),
            json!({"a": true, "b": "on", "c": 511, "d": 1000, "e": "5", "f": "=", "g": [null, 1.5]})
        );
        let parsed = parse(b"metadata:\n  name: x\n");
        let name = parsed.documents[0].root().dig(&["metadata", "name"]).unwrap();
        assert_eq!(name.position(), Position { line: 2, column: 9 });
    }

    #[test]
    fn byte_order_marks_carriage_returns_and_empty_documents_are_no_obstacle() {
        assert_eq!(one("\u{feff}a: 1\r\nb: 2\r\n"), json!({"a": 1, "b": 2}));
        assert_eq!(parse(b"---\n# nothing\n---\na: 1\n---\n").documents.len(), 1);
        assert_eq!(one("{\"a\": [1, 2]}"), json!({"a": [1, 2]}));
    }

    #[test]
    fn a_text_may_end_within_a_block_scalar() {
        let cases = [
            ("a: |\n  b", "b"),
            ("a: >\n  b\n  c", "b c"),
            ("a: |+\n  b", "b"),
            ("a: |-\n  b", "b"),
            ("a: |\n  b\n  ", "b\n"),
            ("a: |+\n  b\n\n ", "b\n\n"),
            ("a: |\n  b\n  c ", "b\nc "),
            ("a: |", ""),
            ("\u{feff}a: |\n  b", "b"),
            ("a: |\n  b\r", "b\n"),
            ("a: |\n  b\u{85}", "b\n"),
            ("a: |\n  b\u{2028}", "b\u{2028}"),
        ];
        for (text, expected) in cases {
            assert_eq!(one(text), json!({"a": expected}), "{text:?}");
        }
        assert!(error("a: \"b\\").contains("never closed"));
        for end in [&b"|\n  b"[..], b"|\n  b\n \t", b"|2", b">- # c", b"'|", b"\"|\\"] {
            let _ = parse(&[b"a: ", end].concat());
        }
    }

    #[test]
    fn a_tag_needs_a_space_before_a_comma() {
        let expected =
            "did not find expected whitespace or line break while scanning a tag at line 1, column";
        for (text, column) in [
            ("[!,", 2),
            ("[!b::,", 2),
            ("a: [1, !!str,2]\n", 8),
            ("\u{feff}[!<a,b>,c]", 2),
            ("['x!y,', !z,]", 10),
            ("{20[!a,2!<0[!b,c\n", 5),
            ("[a!<b[!c,d>]", 7),
        ] {
            assert_eq!(error(text), format!("{expected} {column}"), "{text}");
        }
        let parsed = parse(b"a: 1\n---\n[!,]\n");
        assert_eq!((parsed.documents.len(), parsed.first), (1, First::Value));
        assert!(parsed.error.is_some());
        let parsed = parse(b"a: 1\n---\n[!, 'b\n");
        assert_eq!((parsed.documents.len(), parsed.first), (1, First::Value));
        for text in [
            "a: Hello !world, and you!, too\n",
            "[x !y, 'z!,', !!str ,b]",
            "a: |\n  !b,\n  !c,\n",
            "a: ^b!:,c",
            "[!<tag:a!b,c> d, !<!e,!f,> g]",
        ] {
            assert!(parse(text.as_bytes()).error.is_none(), "{text}");
        }
        assert_eq!(one("a: Hello !world, and you!\n"), json!({"a": "Hello !world, and you!"}));
        let many = |number| format!("[{}]", "!<a!b,c> d, ".repeat(number));
        assert!(parse(many(4).as_bytes()).error.is_none());
        assert!(error(&many(5)).contains("more than 4 tags"));
    }

    #[test]
    fn utf_16_is_read_where_a_byte_order_mark_says_so() {
        let text: Vec<u16> = "\u{feff}a: |\n  ä😀".encode_utf16().collect();
        for bytes in [
            text.iter().flat_map(|unit| unit.to_le_bytes()).collect::<Vec<_>>(),
            text.iter().flat_map(|unit| unit.to_be_bytes()).collect(),
        ] {
            let parsed = parse(&bytes);
            assert_eq!(parsed.documents[0].root().to_json(), json!({"a": "ä😀"}));
            assert!(parse(&bytes[..bytes.len() - 1]).error.is_some());
        }
    }

    #[test]
    fn merges_are_flattened_and_the_last_of_equal_keys_counts() {
        assert_eq!(one("x: &x {a: 1, b: 1}\nz:\n  <<: *x\n  b: 2\n")["z"], json!({"a": 1, "b": 2}));
        assert_eq!(one("x: &x {a: 1}\nz:\n  !!merge <<: *x\n")["z"], json!({"a": 1}));
        assert_eq!(one("x: &x {a: 1}\nz:\n  '<<': *x\n")["z"], json!({"<<": {"a": 1}}));
        assert_eq!(one("a: 1\na: 2\n"), json!({"a": 2}));
    }

    #[test]
    fn keys_are_texts_as_json_has_them() {
        assert_eq!(
            one("{+1: a, 0777: b, yes: c, 1e3: d, 1e19: e, .5: f, .inf: g, 1.0: h, '2': i, !!str no: j}"),
            json!({"1": "h", "511": "b", "true": "c", "1000": "d", "1e+19": "e", "0.5": "f", ".inf": "g", "2": "i", "no": "j"})
        );
        assert!(error("9223372036854775808: a\n").starts_with("invalid key `9223372036854775808`"));
    }

    #[test]
    fn a_slash_is_escaped_in_json_only() {
        assert!(error("b: c\na: \"x\\/\"\n").starts_with("found unknown escape character `\\/`"));
        assert_eq!(one("a: '\\/'\nb: \"\\\\/\"\n"), json!({"a": "\\/", "b": "\\/"}));
        assert_eq!(one("{\"a\": \"\\/\"}"), json!({"a": "/"}));
        assert!(error("{a: \"\\/\"}").starts_with("found unknown"));
        assert!(error("\u{feff}a: \"\\/\"").starts_with("found unknown"));
    }

    #[test]
    fn equal_keys_are_decoded_once() {
        let long = (0..40).map(|index| format!("k{index}: {index}")).collect::<Vec<_>>().join("\n") + "\n";
        let parsed = parse(format!("{long}k3: last\n").as_bytes());
        let map: std::collections::BTreeMap<String, serde_json::Value> =
            decode(parsed.documents[0].root(), &Path::ROOT).unwrap().object;
        assert_eq!((map.len(), &map["k3"]), (40, &json!("last")));
    }

    #[test]
    fn what_go_yaml_refuses_is_refused_with_its_place() {
        assert_eq!(error("a: *x\n"), "unknown anchor `x` at line 1, column 4");
        assert_eq!(error("a: &x [*x]\n"), "anchor `x` contains itself at line 1, column 8");
        assert!(error("a:\n\t- b\n").contains("line 2"), "{}", error("a:\n\t- b\n"));
        assert!(error("? [a]\n: b\n").starts_with("invalid key: expected a string, found a list"));
        assert!(error("a: !!int x\n").starts_with("cannot decode `x` as !!int"));
        assert!(parse(b"a: \xff\n").error.is_some());
    }

    #[test]
    fn the_first_document_is_what_stands_before_the_first_separator() {
        let first = |text: &str| parse(text.as_bytes()).first;
        for text in
            ["a: 1\n", "---\na: 1\n", "--- # c\na: 1\n", "a: 1\n---\nb: [\n", "a: 1\n...\n{", "{\"a\": 1} x"]
        {
            assert_eq!(first(text), First::Value, "{text}");
        }
        for text in ["", "# c\n", "# c\n---\na: 1\n", "---\n---\na: 1\n", "null\n"] {
            assert_eq!(first(text), First::Empty, "{text}");
        }
        for text in ["--- a\n", "a: 1\n----\n", "a: [\n---\nb: 1\n", "%YAML 1.1\n---\na: 1\n", "a: .inf\n"] {
            let parsed = parse(text.as_bytes());
            assert_eq!((parsed.first, parsed.error.is_some()), (First::Unreadable, true), "{text}");
        }
    }

    #[test]
    fn bombs_are_refused_without_being_expanded() {
        let mut text = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
        for level in 1..12 {
            let below = format!("*a{},", level - 1).repeat(10);
            text = [text, format!("a{level}: &a{level} [{below}]\n")].concat();
        }
        assert!(error(&text).starts_with("document contains excessive aliasing"));
        assert!(error(&"[".repeat(100_000)).starts_with("nested deeper than 1000 levels"));
        let text = format!("a: &a {}\nb: [{}]\n", "x".repeat(1 << 20), "*a,".repeat(17));
        assert!(error(&text).starts_with("aliases expand to more than 16777216 bytes"));
    }

    #[test]
    fn positions_within_scalars_are_those_of_the_file() {
        // `@` stands where the position is expected, once in each text.
        for marked in [
            "a: |\n  [\n    {\"x\":: @1}\n  ]\n",
            "a: |-\n\n   one two three four five\n     six @seven\n",
            "a:\n- &b !!str |2\n    leading\n   x @y\n",
            "a: \"one two three four five six seven \\n \\t \\\" \\u00e4 @end\"\n",
            "a: \"one two three four\n  five\n\n  six \\\n   seven @eight\"\n",
            "a: 'one two three four it''s\n  five\n\n  six seven @eight'\n",
            "a: one two three four five six\n  seven eight\n\n  nine @ten\n",
            "a: >\n  one two three four five six\n  seven eight\n\n  nine @ten\n",
            "a: >-\n  [{\"one\": \"two three\",\n    \"more\": 1,\n    \"indented\": 2,\n  @\"less\": 3\n",
            "{\"a\": \"one two three four five six @seven\"}",
            "a: |\r\n  one\r\n  two @three\r\n",
        ] {
            let at = marked.find('@').unwrap();
            let text = marked.replace('@', "");
            let parsed = parse(text.as_bytes());
            assert_eq!(parsed.error, None, "{text}");
            let marked = parse(marked.replace('@', "\u{25cc}").as_bytes());
            let value = |parsed: &Parsed| {
                let value = parsed.documents[0].root().get("a").unwrap();
                let value = value.items().next().unwrap_or(value);
                (value.text().to_owned(), value.position_within(0))
            };
            let offset = value(&marked).0.find('\u{25cc}').unwrap();
            let root = parsed.documents[0].root().get("a").unwrap();
            let found = root.items().next().unwrap_or(root).position_within(offset);
            assert_eq!(found, Position::behind(&text.as_bytes()[..at]), "{text}");
        }
    }

    #[test]
    fn a_key_of_a_large_map_is_found() {
        let text: String = (0..1000).map(|index| format!("k{}: {index}\n", index % 700)).collect();
        let parsed = parse(text.as_bytes());
        let root = parsed.documents[0].root();
        let value = |key: &str| root.get(key).and_then(crate::Value::as_i64);
        assert_eq!(
            (value("k0"), value("k299"), value("k300"), value("k699")),
            (Some(700), Some(999), Some(300), Some(699))
        );
        assert_eq!((value("k700"), value(""), value("z")), (None, None, None));
        assert_eq!(root.locate(&Path::ROOT.field("k1")), Position { line: 702, column: 1 });
    }

    #[test]
    fn an_anchor_is_that_of_the_latest_node_of_its_name() {
        assert_eq!(one("a: &x [&x b, *x]\nc: *x\n"), json!({"a": ["b", "b"], "c": "b"}));
        assert_eq!(one("a: &x 1\nb: &x 2\nc: *x\n")["c"], 2);
    }

    #[test]
    fn what_is_not_text_is_named_with_its_offset() {
        for (text, expected) in [
            (&b"a: b\nc: \xff\n"[..], "invalid UTF-8 at byte offset 8 at line 2, column 4"),
            (b"a: \xc3\xa4\n\xc3", "invalid UTF-8 at byte offset 6 at line 2, column 1"),
            (b"a: \0\n", "control character U+0000 at byte offset 3 at line 1, column 4"),
            (b"a: b\n\x1b", "control character U+001B at byte offset 5 at line 2, column 1"),
            (b"a: \xc2\x80", "control character U+0080 at byte offset 3 at line 1, column 4"),
            (b"a\0:\0 \0b\0", "the text is encoded in UTF-16: must be UTF-8 at line 1, column 1"),
            (b"\xff\xfea\0\x00\xd8b\0", "invalid UTF-16 at byte offset 4 at line 1, column 2"),
            (b"\xfe\xff\0a\0", "invalid UTF-16 at byte offset 4 at line 1, column 2"),
        ] {
            let parsed = parse(text);
            assert_eq!(parsed.error.map(|error| error.to_string()).as_deref(), Some(expected));
        }
        assert_eq!(one("\u{ff21}: b\u{85}"), json!({"\u{ff21}": "b"}));
    }

    #[test]
    fn tag_directives_have_limits() {
        let directives: String =
            (0..=MAX_TAG_DIRECTIVES).map(|index| format!("%TAG !t{index}! x\n")).collect();
        let text = format!("a: 1\n...\n{directives}--- b\n");
        let read = documents(text.as_bytes());
        assert_eq!(read.trees.len(), 1);
        let message = read.error.unwrap().message;
        assert!(message.contains("more than 64 %TAG directives"), "{message}");
        let long = format!("%TAG !t! {}\n--- !t!a b\n", "x".repeat(MAX_TAG_DIRECTIVE_BYTES));
        let message = documents(long.as_bytes()).error.unwrap().message;
        assert!(message.contains("%TAG directive of more than 1024 bytes"), "{message}");
        let text = "a: '\n%TAG is text\n'\n";
        assert_eq!(parse(text.as_bytes()).error, None);
    }

    #[test]
    fn values_documents_and_aliases_have_limits() {
        let many = "--- a\n".repeat(MAX_DOCUMENTS + 1);
        assert!(documents(many.as_bytes()).error.unwrap().message.contains("more than 100000 documents"));
        let anchor = format!("a: &a [{}]\n", "x,".repeat(1000));
        let plain = |count: usize| format!("c: [{}]\n", "y,".repeat(count));
        let values = format!("{}{anchor}b: [{}]\n", plain(10_000), "*a,".repeat(300));
        assert!(
            error(&values).starts_with("aliases expand to more than 300000 values"),
            "{}",
            error(&values)
        );
        // Several documents and several texts share the limit.
        let one = format!("{}{anchor}b: [{}]\n", plain(2_000), "*a,".repeat(60));
        let parsed = parse(one.as_bytes());
        assert_eq!(parsed.error, None);
        assert_eq!(parsed.aliased, Aliased { values: 60 * 1001, bytes: 60_000 });
        let several = format!("---\n{one}").repeat(5);
        assert!(documents(several.as_bytes()).error.unwrap().message.starts_with("aliases expand to more"));
        let mut sum = Aliased::default();
        assert!((0..4).all(|_| sum.add(parsed.aliased).is_ok()));
        assert!(sum.add(parsed.aliased).is_err());
    }

    #[test]
    fn values_at_a_great_depth_have_a_limit() {
        let mut counts = Counts::default();
        let most = MAX_DEPTH_SUM / 1000;
        assert!((0..most).all(|_| counts.add_value(1000).is_ok()));
        let message = counts.add_value(1000).unwrap_err();
        assert!(message.starts_with("the depths of all values add up to more than"), "{message}");
    }

    #[test]
    fn blanks_brackets_and_merges_are_read_in_linear_time() {
        let blanks = |count: usize| format!("a: \"{}\"\n", "\\t\n".repeat(count));
        assert_eq!(parse(blanks(10).as_bytes()).error, None);
        for behind in ["!a ,\n# !a,\n", "\n%TAG\n"] {
            let brackets = format!("a: {}{behind}", "[".repeat(1_000_000));
            assert!(error(&brackets).starts_with("nested deeper than 1000 levels"), "{}", error(&brackets));
        }
        let merges = |count: usize| format!("a: &a {{}}\nb:\n{}", "  <<: *a\n".repeat(count));
        for (size, text) in
            [(20_000, &blanks as &dyn Fn(usize) -> String), (10_000, &merges as &dyn Fn(usize) -> String)]
        {
            let growth = growth(size, text, |text| drop(parse(text.as_bytes())));
            assert!(growth < LINEAR, "{growth}: {:.20}", text(1));
        }
    }
}
