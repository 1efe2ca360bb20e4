//! Splits a file into documents as a stream: only one document is in memory at a time.
//!
//! A file that begins with a brace is a sequence of JSON values. Where its first or second value is not JSON, the rest is
//! read as YAML, as Kubernetes' decoder does. YAML documents are separated by lines that begin with `---`; what follows
//! a `...` within such a document is not read by opm.
//!
//! Source: `util/yaml/decoder.go` of k8s.io/apimachinery (`YAMLOrJSONDecoder`, `YAMLReader`).

use std::io::{self, BufRead, Cursor, Read};

use serde::de::IgnoredAny;

/// How far into a file the decoder looks for the brace of JSON.
const GUESS: usize = 4096;

const SEPARATOR: &[u8] = b"---";

/// One document of a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Chunk {
    /// The document's bytes, without the separator behind them.
    pub(crate) text: Vec<u8>,
    /// How many lines precede it in the file.
    pub(crate) line: u32,
    /// Where it begins in the file, in bytes.
    pub(crate) offset: u64,
    /// Whether it was split as JSON.
    pub(crate) is_json: bool,
}

/// Why a file cannot be split.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SplitError {
    #[error("{0}")]
    Io(#[from] io::Error),
    /// A document is larger than the reader accepts.
    #[error("the document exceeds the limit of {limit} bytes")]
    TooLarge { limit: usize, line: u32 },
    /// Something stands behind a separator.
    #[error("only a comment may follow the document separator `---`")]
    Separator { line: u32 },
    /// A third or later value is not JSON.
    #[error("invalid JSON: {reason}")]
    Json { reason: String, line: u32, column: u32 },
}

enum Mode {
    Start,
    Json,
    Yaml,
    End,
}

/// The documents of one file.
pub(crate) struct Splitter<'r> {
    input: Box<dyn BufRead + Send + 'r>,
    mode: Mode,
    /// The lines and bytes consumed so far.
    line: u32,
    offset: u64,
    /// How many JSON values were found.
    values: usize,
    limit: usize,
}

impl<'r> Splitter<'r> {
    /// Splits `input` into documents of at most `limit` bytes.
    pub(crate) fn new(input: impl BufRead + Send + 'r, limit: usize) -> Self {
        Self { input: Box::new(input), mode: Mode::Start, line: 0, offset: 0, values: 0, limit }
    }

    /// Returns the next document; nothing at the end of the file. After an error the file has ended.
    pub(crate) fn next(&mut self) -> Result<Option<Chunk>, SplitError> {
        let result = self.read_next();
        if !matches!(result, Ok(Some(_))) {
            self.mode = Mode::End;
        }
        result
    }

    fn read_next(&mut self) -> Result<Option<Chunk>, SplitError> {
        loop {
            match self.mode {
                Mode::Start => self.mode = if self.looks_like_json()? { Mode::Json } else { Mode::Yaml },
                Mode::Json => match self.json_value()? {
                    Step::Document(chunk) => return Ok(Some(chunk)),
                    Step::End => return Ok(None),
                    Step::ReadAsYaml => self.mode = Mode::Yaml,
                },
                Mode::Yaml => return self.yaml_document(),
                Mode::End => return Ok(None),
            }
        }
    }

    fn looks_like_json(&mut self) -> io::Result<bool> {
        let mut start = Vec::new();
        (&mut self.input).take(GUESS as u64).read_to_end(&mut start)?;
        let begins = String::from_utf8_lossy(&start).trim_start().starts_with('{');
        self.unread(start);
        Ok(begins)
    }

    /// Puts bytes back in front of what is read next.
    fn unread(&mut self, bytes: Vec<u8>) {
        if !bytes.is_empty() {
            let rest = std::mem::replace(&mut self.input, Box::new(io::empty()));
            self.input = Box::new(Cursor::new(bytes).chain(rest));
        }
    }

    fn json_value(&mut self) -> Result<Step, SplitError> {
        let mut text = Vec::new();
        let mut blank = 0;
        loop {
            let available = self.input.fill_buf()?;
            let Some(&byte) = available.first() else { return Ok(Step::End) };
            if !matches!(byte, b' ' | b'\t' | b'\r' | b'\n') {
                break;
            }
            text.push(byte);
            self.input.consume(1);
            blank += 1;
            if blank > self.limit {
                return Err(SplitError::TooLarge { limit: self.limit, line: self.line });
            }
        }
        let (line, offset) = (self.line + lines(&text), self.offset + text.len() as u64);
        let mut value = Value::default();
        let complete = loop {
            let available = self.input.fill_buf()?;
            if available.is_empty() {
                break false;
            }
            let (taken, is_complete) = value.scan(available);
            text.extend_from_slice(&available[..taken]);
            self.input.consume(taken);
            if text.len() > self.limit {
                return Err(SplitError::TooLarge { limit: self.limit, line });
            }
            if is_complete {
                break true;
            }
            if value.is_other() {
                break false;
            }
        };
        let found = &text[blank..];
        let syntax = match complete {
            true => syntax_error(found),
            false if value.is_other() => Some(Syntax::not_an_object()),
            false => syntax_error(found).or_else(|| Some(Syntax::not_an_object())),
        };
        let Some(syntax) = syntax else {
            self.line += lines(&text);
            self.offset += text.len() as u64;
            self.values += 1;
            return Ok(Step::Document(Chunk { text: text.split_off(blank), line, offset, is_json: true }));
        };
        if self.values > 1 {
            let (line, column) = syntax.place(line);
            return Err(SplitError::Json { reason: syntax.reason, line, column });
        }
        // White space up to the first line break is skipped, and what follows is read as YAML from its beginning.
        let skipped =
            text[..blank].iter().position(|&byte| byte == b'\n').map_or(blank, |newline| newline + 1);
        self.line += lines(&text[..skipped]);
        self.offset += skipped as u64;
        self.unread(text.split_off(skipped));
        Ok(Step::ReadAsYaml)
    }

    fn yaml_document(&mut self) -> Result<Option<Chunk>, SplitError> {
        let (line, offset) = (self.line, self.offset);
        let mut text = Vec::new();
        loop {
            let start = text.len();
            let rest = self.limit.saturating_sub(start) as u64 + 1;
            let length = (&mut self.input).take(rest).read_until(b'\n', &mut text)?;
            if length == 0 {
                break;
            }
            if text.len() > self.limit {
                return Err(SplitError::TooLarge { limit: self.limit, line });
            }
            self.line += u32::from(text.ends_with(b"\n"));
            self.offset += length as u64;
            if let Some(behind) = text[start..].strip_prefix(SEPARATOR) {
                let behind = behind.trim_ascii();
                if !behind.is_empty() && behind[0] != b'#' {
                    return Err(SplitError::Separator { line: self.line - u32::from(text.ends_with(b"\n")) });
                }
                if start > 0 {
                    text.truncate(start);
                    return Ok(Some(Chunk { text, line, offset, is_json: false }));
                }
            }
        }
        Ok((!text.is_empty()).then_some(Chunk { text, line, offset, is_json: false }))
    }
}

enum Step {
    Document(Chunk),
    End,
    ReadAsYaml,
}

struct Syntax {
    reason: String,
    /// From 1.
    line: usize,
    column: usize,
}

impl Syntax {
    fn not_an_object() -> Self {
        Self { reason: "expected an object".to_owned(), line: 1, column: 1 }
    }

    fn place(&self, before: u32) -> (u32, u32) {
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        (before.saturating_add(number(self.line.saturating_sub(1))), number(self.column))
    }
}

fn syntax_error(text: &[u8]) -> Option<Syntax> {
    let error = serde_json::from_slice::<IgnoredAny>(text).err()?;
    let full = error.to_string();
    let reason = full.split(" at line ").next().unwrap_or(&full).to_owned();
    Some(Syntax { reason, line: error.line(), column: error.column() })
}

fn lines(text: &[u8]) -> u32 {
    u32::try_from(text.split(|&byte| byte == b'\n').skip(1).count()).unwrap_or(u32::MAX)
}

/// Finds the end of an object by its braces, brackets and strings; what is between them is checked afterwards.
#[derive(Default)]
struct Value {
    depth: usize,
    in_string: bool,
    is_escaped: bool,
    begun: bool,
}

impl Value {
    /// Returns how many bytes belong to the value, and whether it ends with them.
    fn scan(&mut self, bytes: &[u8]) -> (usize, bool) {
        for (index, &byte) in bytes.iter().enumerate() {
            if !self.begun && byte != b'{' {
                return (0, false);
            }
            self.begun = true;
            if self.in_string {
                match byte {
                    _ if self.is_escaped => self.is_escaped = false,
                    b'\\' => self.is_escaped = true,
                    b'"' => self.in_string = false,
                    _ => {}
                }
                continue;
            }
            match byte {
                b'"' => self.in_string = true,
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => {
                    self.depth -= 1;
                    if self.depth == 0 {
                        return (index + 1, true);
                    }
                }
                _ => {}
            }
        }
        (bytes.len(), false)
    }

    /// Whether the value does not begin with a brace, once its first byte was scanned.
    fn is_other(&self) -> bool {
        !self.begun
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The documents with the lines before each, and the error that ended the file.
    fn split(text: &str) -> (Vec<(String, u32)>, Option<String>) {
        let mut splitter = Splitter::new(io::BufReader::with_capacity(3, text.as_bytes()), 200);
        let mut found = Vec::new();
        loop {
            match splitter.next() {
                Ok(None) => return (found, None),
                Err(error) => return (found, Some(error.to_string())),
                Ok(Some(chunk)) => {
                    let part = &text.as_bytes()[usize::try_from(chunk.offset).unwrap()..];
                    assert!(part.starts_with(&chunk.text), "{text:?}");
                    let before = &text.as_bytes()[..usize::try_from(chunk.offset).unwrap()];
                    assert_eq!(chunk.line, lines(before), "{text:?}");
                    found.push((String::from_utf8(chunk.text).unwrap(), chunk.line));
                }
            }
        }
    }

    fn documents(text: &str) -> Vec<String> {
        let (found, error) = split(text);
        assert_eq!(error, None, "{text:?}");
        found.into_iter().map(|(text, _)| text).collect()
    }

    #[test]
    fn yaml_is_split_at_separators() {
        assert_eq!(documents("a: 1\n---\nb: 2\n"), ["a: 1\n", "b: 2\n"]);
        assert_eq!(documents("---\na: 1\n--- # c\nb: 2"), ["---\na: 1\n", "b: 2"]);
        assert_eq!(documents("a\n---\n---\n---\nb"), ["a\n", "---\n", "b"]);
        assert_eq!(documents("a\n---\n"), ["a\n"]);
        assert_eq!(documents("a\n---"), ["a\n"]);
        assert_eq!(documents("a\n ---\nb"), ["a\n ---\nb"]);
        assert_eq!(documents("# c\n---\na"), ["# c\n", "a"]);
        assert!(documents("").is_empty());
        let (found, error) = split("a\n--- b\nc\n");
        assert!(found.is_empty() && error.unwrap().contains("only a comment"), "{found:?}");
    }

    #[test]
    fn json_is_split_behind_each_value() {
        assert_eq!(
            documents(" {\"a\": \"}\\\"{\"}\n{}{\"b\":[{}]}\n\n"),
            ["{\"a\": \"}\\\"{\"}", "{}", "{\"b\":[{}]}"]
        );
        assert_eq!(documents(" \n"), [" \n"]);
    }

    #[test]
    fn json_that_is_none_is_read_as_yaml_up_to_the_second_value() {
        assert_eq!(documents("{\"a\": 1,}\n---\nb: 2\n"), ["{\"a\": 1,}\n", "b: 2\n"]);
        assert_eq!(documents("{\"a\": 1}\n---\n{\"b\": 2}\n"), ["{\"a\": 1}", "---\n{\"b\": 2}\n"]);
        assert_eq!(documents("{\"a\": 1}\n\n# c\nb: 2\n"), ["{\"a\": 1}", "\n# c\nb: 2\n"]);
        assert_eq!(documents("{a: {b: 1}"), ["{a: {b: 1}"]);
        assert_eq!(documents("{\"a\": 1} [1]"), ["{\"a\": 1}", "[1]"]);
        let (found, error) = split("{}\n{}\n{\"a\": x}\n");
        assert_eq!((found.len(), error.unwrap().as_str()), (2, "invalid JSON: expected value"));
        let (found, error) = split("{}{}\n---\n{}");
        assert_eq!((found.len(), error.unwrap().as_str()), (2, "invalid JSON: expected an object"));
    }

    #[test]
    fn documents_have_a_limit() {
        for text in [
            "a: ".to_owned() + &"x".repeat(300),
            format!("{{\"a\": \"{}\"}}", "x".repeat(300)),
            " ".repeat(300) + "{}",
        ] {
            let (_, error) = split(&text);
            assert_eq!(error.unwrap(), "the document exceeds the limit of 200 bytes");
        }
        assert_eq!(documents(&"a: b\n---\n".repeat(100)).len(), 100);
    }
}
