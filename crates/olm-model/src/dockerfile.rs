//! The labels of a Dockerfile: where each is, and how a value is written.
//!
//! Source: `LABEL` in the Dockerfile reference, and `parseNameVal` and `ProcessWord` of github.com/moby/buildkit
//! (`frontend/dockerfile/parser`, `shell`).

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;

use kube_yaml::Position;

use crate::report::suggest::nearest;

/// The names of a bundle's Dockerfile, in the directory of the bundle.
pub const NAMES: [&str; 2] = ["bundle.Dockerfile", "Dockerfile"];
/// The path of a bundle's Dockerfile beside the directory of the bundle, below that directory.
pub const BESIDE: &str = "../bundle.Dockerfile";

/// One label of the last stage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// The key.
    pub key: String,
    /// The value; `None` if it contains a variable.
    pub value: Option<String>,
    /// Where the key begins.
    pub position: Position,
    /// The bytes of the value as it is written.
    pub range: Range<usize>,
}

/// Returns the labels of the last stage in a Dockerfile in order, those of the stages that it is built from among them; the last one
/// of a key counts.
#[must_use]
pub fn labels(text: &str) -> Vec<Label> {
    let escape = escape(text);
    let mut labels: Vec<Label> = Vec::new();
    let mut stages: HashMap<String, Vec<Label>> = HashMap::new();
    let mut stage = None;
    let mut cursor = Cursor { offset: 0, position: Position { line: 1, column: 1 } };
    for Instruction { name, rest } in instructions(text, escape) {
        if name.eq_ignore_ascii_case("FROM") {
            let (base, name) = from(text, rest, escape);
            if let Some(stage) = stage.take() {
                stages.insert(stage, std::mem::take(&mut labels));
            }
            labels = stages.get(&base).cloned().unwrap_or_default();
            stage = name;
        } else if name.eq_ignore_ascii_case("LABEL") {
            for (index, word) in words(text, rest.clone(), escape).into_iter().enumerate() {
                let Some(equals) = unquoted_equals(&text[word.clone()], escape) else {
                    // The old form, `LABEL KEY VALUE`.
                    if let (0, Some(key)) = (index, value(&text[word.clone()], escape)) {
                        let position = cursor.advance(text, word.start);
                        let behind = &text[word.end..rest.end];
                        let start = word.end + (behind.len() - behind.trim_start().len());
                        let range = start..rest.end;
                        labels.push(Label {
                            key,
                            value: value(&text[range.clone()], escape),
                            position,
                            range,
                        });
                    }
                    break;
                };
                let (start, at) = (word.start, word.start + equals);
                let Some(key) = value(&text[start..at], escape) else { continue };
                let range = at + 1..word.end;
                let position = cursor.advance(text, start);
                labels.push(Label { key, value: value(&text[range.clone()], escape), position, range });
            }
        }
    }
    labels
}

/// Returns the image or stage that a stage begins with, and the name of the stage, both in lower case.
fn from(text: &str, rest: Range<usize>, escape: char) -> (String, Option<String>) {
    let words = words(text, rest, escape);
    let mut words = words.iter().map(|word| text[word.clone()].to_ascii_lowercase());
    let base = words.find(|word| !word.starts_with("--")).unwrap_or_default();
    let name = words.next().filter(|word| word == "as").and_then(|_| words.next());
    (base, name)
}

/// Returns the character that continues lines and escapes others: that of the directive `escape`, or a backslash.
fn escape(text: &str) -> char {
    text.lines()
        .map_while(|line| line.trim().strip_prefix('#')?.split_once('='))
        .find(|(name, _)| name.trim().eq_ignore_ascii_case("escape"))
        .and_then(|(_, value)| value.trim().chars().next())
        .filter(|escape| ['\\', '`'].contains(escape))
        .unwrap_or('\\')
}

/// What one `COPY` or `ADD` instruction of the last stage copies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Copied {
    /// The paths of the sources, as they are written.
    pub sources: Vec<String>,
    /// Whether the sources are in the build context, rather than in another stage or image.
    pub is_from_context: bool,
    /// The absolute path of the target, without `/` at the end; empty for `/`.
    pub target: String,
    /// Whether the target is written with `/` at the end, so that it is a directory.
    pub is_directory: bool,
    /// Whether the instruction is `ADD`, which extracts archives.
    pub is_add: bool,
    /// Where the target is written.
    pub position: Position,
}

/// A `COPY` or `ADD` instruction of which it is not known what it copies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct CopyError {
    /// Why.
    pub reason: CopyErrorReason,
    /// Where the instruction begins.
    pub position: Position,
}

/// Why it is not known what an instruction copies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CopyErrorReason {
    /// It, or the working directory, contains a variable or a here-document.
    #[error("the instruction contains a variable or a here-document")]
    Variable,
    /// It has no source, or no target. A JSON list that is not closed is one word.
    #[error("expected at least one source and a target")]
    Incomplete,
    /// The target is longer than the paths that systems accept.
    #[error("the target exceeds the limit of {MAX_TARGET} bytes")]
    TooLong,
}

/// The maximum length of a target in bytes, as `PATH_MAX` of Linux.
const MAX_TARGET: usize = 4096;

/// Returns what the `COPY` and `ADD` instructions of the last stage in a Dockerfile copy, in order; `None` if that is not known of
/// one that can be carried out.
#[must_use]
pub fn copied(text: &str) -> Option<Vec<Copied>> {
    let known = |one: Result<Copied, CopyError>| match one {
        Ok(one) => Some(Some(one)),
        Err(CopyError { reason: CopyErrorReason::Incomplete, .. }) => None,
        Err(_) => Some(None),
    };
    copies(text).into_iter().filter_map(known).collect()
}

/// Returns what each `COPY` and `ADD` instruction of the last stage in a Dockerfile copies, in order.
#[must_use]
pub fn copies(text: &str) -> Vec<Result<Copied, CopyError>> {
    let escape = escape(text);
    let mut copies = Vec::new();
    let mut directory = Ok(String::new());
    let mut cursor = Cursor { offset: 0, position: Position { line: 1, column: 1 } };
    for Instruction { name, rest } in instructions(text, escape) {
        let is = |wanted: &str| name.eq_ignore_ascii_case(wanted);
        if is("FROM") {
            copies.clear();
            directory = Ok(String::new());
        } else if is("WORKDIR") {
            directory = match value(text[rest].trim(), escape) {
                Some(path) => absolute(directory.as_ref().map(String::as_str), &path),
                None => Err(CopyErrorReason::Variable),
            };
        } else if is("COPY") || is("ADD") {
            let start = cursor.advance(text, rest.start - name.len());
            let words = words(text, rest.clone(), escape);
            let flags = words.iter().take_while(|word| text[(*word).clone()].starts_with("--")).count();
            let is_from_context =
                !words[..flags].iter().any(|word| text[word.clone()].starts_with("--from="));
            let words = &words[flags..];
            let mut one = || {
                let end = words.last().ok_or(CopyErrorReason::Incomplete)?.start;
                let mut paths = arguments(text, words, rest.end, escape).ok_or(CopyErrorReason::Variable)?;
                let written = paths.pop().filter(|_| !paths.is_empty()).ok_or(CopyErrorReason::Incomplete)?;
                let target = absolute(directory.as_ref().map(String::as_str), &written)?;
                let position = cursor.advance(text, end);
                let is_directory = written.ends_with('/') || matches!(written.as_str(), "." | "..");
                Ok(Copied {
                    sources: paths,
                    is_from_context,
                    target,
                    is_directory,
                    is_add: is("ADD"),
                    position,
                })
            };
            copies.push(one().map_err(|reason| CopyError { reason, position: start }));
        }
    }
    copies
}

/// The last stage of a Dockerfile, without its labels and what it copies.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recipe {
    /// The image or the stage that it is built from, unless that contains a variable.
    pub base: Option<String>,
    /// The user, unless it contains a variable.
    pub user: Option<String>,
    /// The names of the other instructions, and where they begin.
    pub others: Vec<(String, Position)>,
}

/// Returns the last stage of a Dockerfile.
#[must_use]
pub fn recipe(text: &str) -> Recipe {
    let escape = escape(text);
    let mut recipe = Recipe::default();
    let mut cursor = Cursor { offset: 0, position: Position { line: 1, column: 1 } };
    for Instruction { name, rest } in instructions(text, escape) {
        let is = |wanted: &str| name.eq_ignore_ascii_case(wanted);
        let position = cursor.advance(text, rest.start - name.len());
        if is("FROM") {
            let words = words(text, rest, escape);
            let base = words.iter().find(|word| !text[(*word).clone()].starts_with("--"));
            recipe = Recipe {
                base: base.and_then(|base| value(&text[base.clone()], escape)),
                ..Recipe::default()
            };
        } else if is("USER") {
            recipe.user = value(text[rest].trim(), escape);
        } else if !(is("LABEL") || is("COPY") || is("ADD") || is("WORKDIR")) {
            recipe.others.push((name.to_owned(), position));
        }
    }
    recipe
}

/// The instructions of Dockerfiles.
const INSTRUCTIONS: [&str; 18] = [
    "ADD",
    "ARG",
    "CMD",
    "COPY",
    "ENTRYPOINT",
    "ENV",
    "EXPOSE",
    "FROM",
    "HEALTHCHECK",
    "LABEL",
    "MAINTAINER",
    "ONBUILD",
    "RUN",
    "SHELL",
    "STOPSIGNAL",
    "USER",
    "VOLUME",
    "WORKDIR",
];

/// Why a Dockerfile cannot be built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Invalid<'t> {
    /// A line separates the sides of a merge conflict.
    Conflict,
    /// An instruction precedes the first `FROM`.
    BeforeFrom(&'t str),
    /// There is no such instruction.
    Unknown {
        /// The name as it is written.
        name: &'t str,
        /// The instruction that is likely to be meant.
        meant: Option<&'static str>,
    },
}

impl fmt::Display for Invalid<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Conflict => f.write_str("unresolved merge conflict"),
            Self::BeforeFrom(name) => write!(f, "`{name}` before `FROM`"),
            Self::Unknown { name, meant: Some(meant) } => {
                write!(f, "unknown instruction `{name}`: did you mean `{meant}`?")
            }
            Self::Unknown { name, meant: None } => write!(f, "unknown instruction `{name}`"),
        }
    }
}

/// Returns the first instruction that cannot be built and where it is; `None` for a frontend that is not Docker's own, which may
/// have other instructions.
#[must_use]
pub fn invalid(text: &str) -> Option<(Invalid<'_>, Position)> {
    let mut directives = text.lines().map_while(|line| line.trim().strip_prefix('#')?.split_once('='));
    if directives.any(|(name, image)| {
        name.trim().eq_ignore_ascii_case("syntax") && !image.contains("docker/dockerfile")
    }) {
        return None;
    }
    let mut cursor = Cursor { offset: 0, position: Position { line: 1, column: 1 } };
    let mut has_stage = false;
    for Instruction { name, rest } in instructions(text, escape(text)) {
        let position = cursor.advance(text, rest.start - name.len());
        let is = |wanted: &str| name.eq_ignore_ascii_case(wanted);
        if ["<<<<<<<", "=======", ">>>>>>>"].iter().any(|marker| name.starts_with(marker)) {
            return Some((Invalid::Conflict, position));
        }
        if !INSTRUCTIONS.iter().any(|known| is(known)) {
            let meant = nearest(name, INSTRUCTIONS);
            return Some((Invalid::Unknown { name, meant }, position));
        }
        has_stage |= is("FROM");
        if !has_stage && !is("ARG") {
            return Some((Invalid::BeforeFrom(name), position));
        }
    }
    None
}

/// Returns the arguments of an instruction, as words or as a JSON list; `None` if one contains a variable.
fn arguments(text: &str, words: &[Range<usize>], end: usize, escape: char) -> Option<Vec<String>> {
    let first = words.first()?;
    if let Ok(list) = serde_json::from_str(&text[first.start..end]) {
        return Some(list);
    }
    let words: Option<Vec<String>> = words.iter().map(|word| value(&text[word.clone()], escape)).collect();
    words.filter(|words| !words.iter().any(|word| word.starts_with("<<")))
}

/// Returns an absolute path, without `/` at the end and without `.` and `..`.
fn absolute(directory: Result<&str, &CopyErrorReason>, path: &str) -> Result<String, CopyErrorReason> {
    let base = if path.starts_with('/') { "" } else { directory.map_err(|reason| *reason)? };
    if base.len() + path.len() > MAX_TARGET {
        return Err(CopyErrorReason::TooLong);
    }
    let mut parts: Vec<&str> = base.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => _ = parts.pop(),
            part => parts.push(part),
        }
    }
    Ok(parts.iter().map(|part| format!("/{part}")).collect())
}

/// Returns a path in the build context without `./` before it and `/` around it.
#[must_use]
pub fn source_path(path: &str) -> &str {
    path.trim_start_matches(['.', '/']).trim_end_matches('/')
}

/// Returns whether a Dockerfile copies files from a path that begins with a directory.
#[must_use]
pub fn copies_from(text: &str, directory: &str) -> bool {
    let directory = directory.trim_end_matches('/');
    let escape = escape(text);
    let copies = |name: &str| name.eq_ignore_ascii_case("COPY") || name.eq_ignore_ascii_case("ADD");
    instructions(text, escape).filter(|instruction| copies(instruction.name)).any(|instruction| {
        words(text, instruction.rest, escape).iter().any(|word| {
            let word = text[word.clone()].trim_matches(['[', ']', ',', '"', '\'']);
            let path = word.trim_start_matches("./");
            path.strip_prefix(directory).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    })
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
fn instructions(text: &str, escape: char) -> impl Iterator<Item = Instruction<'_>> {
    let mut lines = text.split_inclusive('\n').scan(0, |offset, line| {
        let start = *offset;
        *offset += line.len();
        Some((start, line))
    });
    std::iter::from_fn(move || {
        loop {
            let (start, first) = lines.next()?;
            // Docker skips a byte order mark.
            let is_blank = |char: char| char.is_whitespace() || (start == 0 && char == '\u{feff}');
            let indent = first.len() - first.trim_start_matches(is_blank).len();
            let trimmed = first.trim_matches(is_blank);
            if trimmed.is_empty() || trimmed.starts_with('#') {
                continue;
            }
            let name = trimmed.split_whitespace().next().unwrap_or_default();
            let (mut end, mut line) = (start + first.trim_end().len(), first);
            while line.trim_end().ends_with(escape) {
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
fn words(text: &str, range: Range<usize>, escape: char) -> Vec<Range<usize>> {
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
            (char, None | Some('"')) if char == escape => {
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
fn unquoted_equals(word: &str, escape: char) -> Option<usize> {
    let mut quote = None;
    let mut chars = word.char_indices();
    while let Some((at, char)) = chars.next() {
        match (char, quote) {
            ('=', None) => return Some(at),
            (char, None | Some('"')) if char == escape => {
                chars.next();
            }
            ('"' | '\'', None) => quote = Some(char),
            (char, Some(open)) if char == open => quote = None,
            _ => {}
        }
    }
    None
}

/// Returns the value of a word, without quotes, escapes and line breaks that continue it; `None` if it contains a variable.
fn value(word: &str, escape: char) -> Option<String> {
    let mut value = String::with_capacity(word.len());
    let mut quote = None;
    let mut chars = word.chars();
    while let Some(char) = chars.next() {
        match (char, quote) {
            ('$', None | Some('"')) => return None,
            (char, None | Some('"')) if char == escape => {
                if let Some(next) = continued(chars.as_str()) {
                    chars = next.chars();
                    continue;
                }
                match (chars.next(), quote) {
                    (None, _) => return None,
                    (Some(escaped), None) => value.push(escaped),
                    (Some(escaped), _) if escaped == escape || matches!(escaped, '"' | '$') => {
                        value.push(escaped);
                    }
                    (Some(other), _) => value.extend([escape, other]),
                }
            }
            ('"' | '\'', None) => quote = Some(char),
            (char, Some(open)) if char == open => quote = None,
            (char, _) => value.push(char),
        }
    }
    Some(value)
}

/// Returns what follows a line break behind an escape character, without comments and empty lines; `None` if there is no line break.
fn continued(behind: &str) -> Option<&str> {
    let mut rest = behind.trim_start_matches([' ', '\t', '\r']).strip_prefix('\n')?;
    loop {
        let (line, next) = rest.split_once('\n').unwrap_or((rest, ""));
        let line = line.trim();
        if next.is_empty() || !(line.is_empty() || line.starts_with('#')) {
            return Some(rest);
        }
        rest = next;
    }
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
            ("i", Some("ab")),
            ("j", Some("1")),
        ];
        let expected = expected.map(|(key, value)| (key.to_owned(), value.map(str::to_owned)));
        assert_eq!(pairs(text), expected);
        let label = labels(text).remove(1);
        assert_eq!((label.position.line, label.position.column), (5, 11));
        assert_eq!(&text[label.range], "\"two words\"");
    }

    #[test]
    fn other_labels_are_unchanged() {
        let some = |key: &str| (key.to_owned(), Some("1".to_owned()));
        assert_eq!(
            pairs("LABEL a=1\nLABEL a new value=2\n"),
            [some("a"), ("a".to_owned(), Some("new value=2".to_owned()))]
        );
        assert_eq!(pairs("FROM a AS b\nLABEL a=1\nFROM c\nFROM B\n"), [some("a")]);
        let text = "LABEL a=1\nRUN <<EOF cat <<-\"END\"\nLABEL b=1\nEOF\nFROM c\n\tEND\nLABEL d=1\nRUN cat <<<x\nLABEL e=1\n";
        assert_eq!(pairs(text), [some("a"), some("d"), some("e")]);
        assert_eq!(pairs("RUN <<EOF\nLABEL a=1\n"), []);
        assert_eq!(pairs("# syntax=a\n# Escape = `\nLABEL `\n  a=1\n"), [some("a")]);
        assert_eq!(pairs("# a comment\n# escape=`\nLABEL \\\n  a=1\n"), [some("a")]);
    }

    #[test]
    fn a_dockerfile_copies_from_directories() {
        let text = "FROM scratch\nCOPY ./bundle/manifests /manifests/\n";
        assert!(copies_from(text, "bundle") && copies_from(text, "bundle/"));
        assert!(!copies_from(text, "bund") && !copies_from(text, "other"));
        assert!(!copies_from("# COPY bundle /x\n", "bundle"));
        assert!(copies_from("ADD bundle/manifests /manifests/\n", "bundle"));
        assert!(copies_from("COPY [\"bundle/manifests\", \"/manifests/\"]\n", "bundle"));
    }

    #[test]
    fn targets_are_absolute() {
        let targets = |text: &str| -> Vec<(Vec<String>, String)> {
            copied(text).unwrap().into_iter().map(|one| (one.sources, one.target)).collect()
        };
        let one = |source: &str, target: &str| (vec![source.to_owned()], target.to_owned());
        assert_eq!(targets("FROM a\nCOPY x /y\nFROM b\nCOPY a/manifests /\n"), [one("a/manifests", "")]);
        assert_eq!(targets("WORKDIR /a/\nADD --chown=1 m ./m/\n"), [one("m", "/a/m")]);
        assert_eq!(targets("COPY [\"a b\", \"/manifests/\"]\n"), [one("a b", "/manifests")]);
        assert_eq!(copied("COPY $A /manifests/\n"), None);
    }

    #[test]
    fn instructions_that_cannot_be_carried_out_have_a_reason_and_a_place() {
        let errors = |text: &str| -> Vec<(u32, CopyErrorReason)> {
            let errors = copies(text).into_iter().filter_map(Result::err);
            errors.map(|error| (error.position.line, error.reason)).collect()
        };
        let incomplete = |line| (line, CopyErrorReason::Incomplete);
        let text = "COPY a\nCOPY\nCOPY [\"d/x\"\nCOPY d/x \nCOPY [\"a\"]\nADD --chmod=1 a\nCOPY a /b\n";
        assert_eq!(errors(text), (1..=6).map(incomplete).collect::<Vec<_>>());
        assert_eq!(copied(text).unwrap().len(), 1);
        let deep = format!("COPY a /{}\nWORKDIR $x\nCOPY a b\n", "a/".repeat(MAX_TARGET / 2));
        assert_eq!(errors(&deep), [(1, CopyErrorReason::TooLong), (3, CopyErrorReason::Variable)]);
        // The directory does not grow beyond the limit either.
        let deep = "WORKDIR a\n".repeat(MAX_TARGET) + "COPY a b\n";
        assert_eq!(errors(&deep), [(u32::try_from(MAX_TARGET).unwrap() + 1, CopyErrorReason::TooLong)]);
        assert_eq!(errors(&format!("{deep}COPY a /b\n")).len(), 1);
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
