//! The labels of a Dockerfile: where each is, and how a value is written.
//!
//! Source: `LABEL` in the Dockerfile reference, and `parseNameVal` and `ProcessWord` of github.com/moby/buildkit
//! (`frontend/dockerfile/parser`, `shell`).

use std::ops::Range;

use super::yaml::Position;

/// The names of a bundle's Dockerfile, in the directory of the bundle.
pub const NAMES: [&str; 2] = ["bundle.Dockerfile", "Dockerfile"];
/// The path of a bundle's Dockerfile beside the directory of the bundle, below that directory.
pub const BESIDE: &str = "../bundle.Dockerfile";

/// One label of the last stage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// The key.
    pub key: String,
    /// The value; nothing if it contains a variable, goes on in another line, or is written as `KEY VALUE`.
    pub value: Option<String>,
    /// Where the key begins.
    pub position: Position,
    /// The bytes of the value as it is written.
    pub range: Range<usize>,
}

/// Returns the labels of the last stage in a Dockerfile in order; the last one of a key counts. Returns none if the
/// directive `escape` changes how lines are continued.
#[must_use]
pub fn labels(text: &str) -> Vec<Label> {
    let mut labels = Vec::new();
    if has_escape_directive(text) {
        return labels;
    }
    let mut cursor = Cursor { offset: 0, position: Position { line: 1, column: 1 } };
    for Instruction { name, rest } in instructions(text) {
        if name.eq_ignore_ascii_case("FROM") {
            labels.clear();
        } else if name.eq_ignore_ascii_case("LABEL") {
            for (index, word) in words(text, rest.clone()).into_iter().enumerate() {
                let Some(equals) = unquoted_equals(&text[word.clone()]) else {
                    // The old form, `LABEL KEY VALUE`: it counts, and its value is not compared.
                    if let (0, Some(key)) = (index, value(&text[word.clone()])) {
                        let position = cursor.advance(text, word.start);
                        labels.push(Label { key, value: None, position, range: rest.end..rest.end });
                    }
                    break;
                };
                let (start, at) = (word.start, word.start + equals);
                let Some(key) = value(&text[start..at]) else { continue };
                let range = at + 1..word.end;
                let position = cursor.advance(text, start);
                labels.push(Label { key, value: value(&text[range.clone()]), position, range });
            }
        }
    }
    labels
}

/// Returns whether a Dockerfile begins with the directive `escape`.
fn has_escape_directive(text: &str) -> bool {
    text.lines()
        .map_while(|line| line.trim().strip_prefix('#')?.split_once('='))
        .any(|(name, _)| name.trim().eq_ignore_ascii_case("escape"))
}

/// Returns whether a Dockerfile copies files from a path that begins with a directory.
#[must_use]
pub fn copies_from(text: &str, directory: &str) -> bool {
    let directory = directory.trim_end_matches('/');
    instructions(text).filter(|instruction| instruction.name.eq_ignore_ascii_case("COPY")).any(
        |instruction| {
            words(text, instruction.rest).iter().any(|word| {
                let path = text[word.clone()].trim_start_matches("./");
                path.strip_prefix(directory).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            })
        },
    )
}

/// Writes the value of a label, in quotes where Docker would otherwise split or expand it.
#[must_use]
pub fn written(value: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.,:/+@=".contains(c);
    if !value.is_empty() && value.chars().all(plain) {
        return value.to_owned();
    }
    let escaped = value.replace('\\', "\\\\").replace('"', "\\\"").replace('$', "\\$").replace('\n', "\\n");
    format!("\"{escaped}\"")
}

/// A place in a text that only moves forward, so that all positions take one pass.
struct Cursor {
    offset: usize,
    position: Position,
}

impl Cursor {
    fn advance(&mut self, text: &str, offset: usize) -> Position {
        for char in text[self.offset..offset].chars() {
            if char == '\n' {
                self.position = Position { line: self.position.line.saturating_add(1), column: 1 };
            } else {
                self.position.column = self.position.column.saturating_add(1);
            }
        }
        self.offset = offset;
        self.position
    }
}

/// One instruction with its continued lines.
struct Instruction<'t> {
    name: &'t str,
    /// The bytes behind the name.
    rest: Range<usize>,
}

/// Returns the instructions of a Dockerfile.
fn instructions(text: &str) -> impl Iterator<Item = Instruction<'_>> {
    let mut lines = text.split_inclusive('\n').scan(0, |offset, line| {
        let start = *offset;
        *offset += line.len();
        Some((start, line))
    });
    std::iter::from_fn(move || {
        loop {
            let (start, first) = lines.next()?;
            let indent = first.len() - first.trim_start().len();
            let trimmed = first.trim();
            if trimmed.is_empty() || trimmed.starts_with('#') {
                continue;
            }
            let name = trimmed.split_whitespace().next().unwrap_or_default();
            let (mut end, mut line) = (start + first.trim_end().len(), first);
            while line.trim_end().ends_with('\\') {
                let Some((start, next)) = lines.next() else { break };
                end = start + next.trim_end().len();
                // A comment or an empty line continues nothing, and does not end what is continued.
                if !next.trim().is_empty() && !next.trim_start().starts_with('#') {
                    line = next;
                }
            }
            let behind = start + indent + name.len();
            let rest = behind..end.max(behind);
            if ["RUN", "COPY", "ADD"].iter().any(|one| name.eq_ignore_ascii_case(one)) {
                for (delimiter, is_indented) in here_documents(&text[rest.clone()]) {
                    let is_end = |line: &str| {
                        let line = line.trim_end_matches(['\n', '\r']);
                        delimiter == if is_indented { line.trim_start_matches('\t') } else { line }
                    };
                    lines.by_ref().find(|(_, line)| is_end(line));
                }
            }
            return Some(Instruction { name, rest });
        }
    })
}

/// Returns the delimiters of the here-documents that follow an instruction, and whether tabs before them are left out.
fn here_documents(arguments: &str) -> impl Iterator<Item = (&str, bool)> {
    arguments.split_whitespace().filter_map(|word| {
        let rest = word.trim_start_matches(|char: char| char.is_ascii_digit()).strip_prefix("<<")?;
        let (name, is_indented) = rest.strip_prefix('-').map_or((rest, false), |name| (name, true));
        let name = name.trim_matches(['"', '\'']);
        (!name.is_empty() && !name.contains('<')).then_some((name, is_indented))
    })
}

/// Splits the arguments of an instruction at unquoted white space.
fn words(text: &str, range: Range<usize>) -> Vec<Range<usize>> {
    let mut words = Vec::new();
    let (mut start, mut quote) = (None, None);
    let mut chars = text[range.clone()].char_indices().map(|(at, char)| (range.start + at, char)).peekable();
    let mut line_start = false;
    while let Some((at, char)) = chars.next() {
        if std::mem::take(&mut line_start) && quote.is_none() {
            line_start = matches!(char, ' ' | '\t');
            if char == '#' {
                while chars.next_if(|(_, char)| *char != '\n').is_some() {}
                continue;
            }
        }
        match (char, quote) {
            // Within a word, the line was continued.
            ('\n', _) if start.is_some() => {
                line_start = true;
                continue;
            }
            ('\n', _) => line_start = true,
            ('\\', None | Some('"')) => {
                let behind = text[at + 1..range.end].trim_start_matches([' ', '\t', '\r']).strip_prefix('\n');
                match behind {
                    None => {
                        start.get_or_insert(at);
                        chars.next();
                        continue;
                    }
                    // A word that goes on in the next line.
                    Some(next)
                        if quote.is_some() || next.starts_with(|c: char| !c.is_whitespace() && c != '#') =>
                    {
                        continue;
                    }
                    Some(_) => {}
                }
            }
            ('"' | '\'', None) => {
                start.get_or_insert(at);
                quote = Some(char);
                continue;
            }
            (_, Some(open)) => {
                if char == open {
                    quote = None;
                }
                continue;
            }
            (char, None) if !char.is_whitespace() => {
                start.get_or_insert(at);
                continue;
            }
            _ => {}
        }
        if quote.is_none()
            && let Some(start) = start.take()
        {
            words.push(start..at);
        }
    }
    words.extend(start.map(|start| start..range.end));
    words
}

/// Returns where the first `=` outside of quotes is.
fn unquoted_equals(word: &str) -> Option<usize> {
    let mut quote = None;
    let mut chars = word.char_indices();
    while let Some((at, char)) = chars.next() {
        match (char, quote) {
            ('=', None) => return Some(at),
            ('\\', None | Some('"')) => {
                chars.next();
            }
            ('"' | '\'', None) => quote = Some(char),
            (char, Some(open)) if char == open => quote = None,
            _ => {}
        }
    }
    None
}

/// Returns the value of a word, without quotes and escapes; nothing if it contains a variable or goes on in another line.
fn value(word: &str) -> Option<String> {
    let mut value = String::with_capacity(word.len());
    let mut quote = None;
    let mut chars = word.chars();
    while let Some(char) = chars.next() {
        match (char, quote) {
            ('$', None | Some('"')) => return None,
            ('\\', None) => match chars.next() {
                // The end of a line: what the value is depends on the next one.
                Some('\n' | '\r') | None => return None,
                Some(escaped) => value.push(escaped),
            },
            ('\\', Some('"')) => match chars.next() {
                Some(escaped @ ('"' | '$' | '\\')) => value.push(escaped),
                Some('\n' | '\r') | None => return None,
                Some(other) => value.extend(['\\', other]),
            },
            ('"' | '\'', None) => quote = Some(char),
            (char, Some(open)) if char == open => quote = None,
            (char, _) => value.push(char),
        }
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pairs(text: &str) -> Vec<(String, Option<String>)> {
        labels(text).into_iter().map(|label| (label.key, label.value)).collect()
    }

    #[test]
    fn labels_are_read_as_docker_reads_them() {
        let text = "# LABEL no=1\nFROM a AS b\nLABEL old=1\nFROM scratch\nLABEL a=1 b=\"two words\" \\\n  # a comment\n  \
                    c='$x' \"d\"=x\\ y\nlabel e=$VERSION f=\"\\$1 \\\"q\\\"\" g=\nLABEL h=a=b\nLABEL i=a\\\nb j=1";
        let expected = [
            ("a", Some("1")),
            ("b", Some("two words")),
            ("c", Some("$x")),
            ("d", Some("x y")),
            ("e", None),
            ("f", Some("$1 \"q\"")),
            ("g", Some("")),
            ("h", Some("a=b")),
            ("i", None),
            ("j", Some("1")),
        ];
        let expected = expected.map(|(key, value)| (key.to_owned(), value.map(str::to_owned)));
        assert_eq!(pairs(text), expected);
        let label = labels(text).remove(1);
        assert_eq!((label.position.line, label.position.column), (5, 11));
        assert_eq!(&text[label.range], "\"two words\"");
    }

    #[test]
    fn what_is_no_label_of_this_form_is_left_alone() {
        let some = |key: &str| (key.to_owned(), Some("1".to_owned()));
        assert_eq!(pairs("LABEL a=1\nLABEL a new value=2\n"), [some("a"), ("a".to_owned(), None)]);
        let text = "LABEL a=1\nRUN <<EOF cat <<-\"END\"\nLABEL b=1\nEOF\nFROM c\n\tEND\nLABEL d=1\nRUN cat <<<x\nLABEL e=1\n";
        assert_eq!(pairs(text), [some("a"), some("d"), some("e")]);
        assert_eq!(pairs("RUN <<EOF\nLABEL a=1\n"), []);
        assert_eq!(pairs("# syntax=a\n# Escape = `\nLABEL a=1\n"), []);
        assert_eq!(pairs("# a comment\n# escape=`\nLABEL a=1\n"), [some("a")]);
    }

    #[test]
    fn a_dockerfile_copies_from_directories() {
        let text = "FROM scratch\nCOPY ./bundle/manifests /manifests/\n";
        assert!(copies_from(text, "bundle") && copies_from(text, "bundle/"));
        assert!(!copies_from(text, "bund") && !copies_from(text, "other"));
        assert!(!copies_from("# COPY bundle /x\n", "bundle"));
    }

    proptest! {
        #[test]
        fn a_written_value_is_read_again(value in "[a-z$\"'\\\\ =#äß]{0,20}") {
            let text = format!("FROM scratch\nLABEL a={} b=2\n", written(&value));
            prop_assert_eq!(pairs(&text), [("a".to_owned(), Some(value)), ("b".to_owned(), Some("2".to_owned()))]);
        }

        #[test]
        fn any_text_is_read(text in "(FROM|LABEL|COPY|[a=\"'\\\\ $#\n\räß]){0,40}") {
            for label in labels(&text) {
                prop_assert!(text.get(label.range).is_some());
            }
            prop_assert!(!copies_from(&text, "b"));
        }
    }
}
