//! Text in messages: foreign values, shortened and made printable, errors with their causes and in the terms of their files,
//! and numbers of things.

use std::borrow::Cow;
use std::error::Error;
use std::fmt::Write as _;
use std::io;
use std::path::{MAIN_SEPARATOR_STR, Path};

use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::{Formatter, PrettyFormatter};

/// The maximum number of characters of a foreign value that a message quotes.
pub const MAX_EXCERPT: usize = 80;

/// Returns the beginning of a foreign value, to be quoted in a message: at most [`MAX_EXCERPT`] characters.
#[must_use]
pub fn excerpt(text: &str) -> Cow<'_, str> {
    shortened(text, MAX_EXCERPT)
}

/// Returns `text`, or its beginning and `…` where it is longer than `max` characters.
#[must_use]
pub fn shortened(text: &str, max: usize) -> Cow<'_, str> {
    match text.char_indices().nth(max) {
        None => Cow::Borrowed(text),
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
    }
}

/// Returns a path as findings name it: with `/` between its parts.
#[must_use]
pub fn path(path: &Path) -> String {
    path.display().to_string().replace(MAIN_SEPARATOR_STR, "/")
}

/// Returns what messages call a file or an argument: `-` is standard input.
#[must_use]
pub fn source_name(name: &str) -> &str {
    if name == "-" { "standard input" } else { name }
}

/// Formats a number of things: `1 error`, `2 errors`.
#[must_use]
pub fn counted(count: usize, name: &str) -> String {
    format!("{count} {name}{}", if count == 1 { "" } else { "s" })
}

/// Returns a help text as a sentence: with a capital letter, unless it begins with code, and a full stop.
#[must_use]
pub fn sentence(text: &str) -> String {
    let mut chars = text.trim_end_matches('.').chars();
    let first = chars.next().into_iter().flat_map(char::to_uppercase);
    first.chain(chars).chain(['.']).collect()
}

/// Returns an error and its causes on one line, each fact once: an error whose message ends in its cause's message, a
/// context that the next error repeats, or the name of what could not be read, is not repeated.
#[must_use]
pub fn with_causes(error: &(dyn Error + 'static)) -> String {
    joined(error, &message)
}

/// Returns the message of an error, without the numbers that Rust appends to errors of the system. These begin with a capital
/// letter, and those of Windows are sentences: both change.
#[must_use]
pub fn message(error: &(dyn Error + 'static)) -> String {
    // Not only of an `io::Error`: others contain its text, and hide it if they are transparent.
    const NUMBER: &str = " (os error ";
    let text = error.to_string();
    let mut parts = text.split(NUMBER);
    let mut message = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once(')') {
            Some((number, rest)) if number.parse::<i32>().is_ok() => {
                message.truncate(message.trim_end_matches('.').len());
                let start = message.rfind(": ").map_or(0, |colon| colon + 2);
                let system = message.split_off(start);
                message.push_str(&uncapitalized(&system));
                message.push_str(rest);
            }
            _ => message.extend([NUMBER, part]),
        }
    }
    message
}

/// Returns a message of the system with a lower-case first letter: `connection refused`, but `I/O error`.
fn uncapitalized(text: &str) -> String {
    let mut chars = text.chars();
    match (chars.next(), chars.clone().next()) {
        (Some(first), Some(second)) if !second.is_uppercase() && second.is_alphabetic() => {
            first.to_lowercase().chain(chars).collect()
        }
        _ => text.to_owned(),
    }
}

/// Returns an error and its causes as [`with_causes`] does, each with the message that `message` returns.
#[must_use]
pub fn joined(error: &(dyn Error + 'static), message: &dyn Fn(&(dyn Error + 'static)) -> String) -> String {
    let mut text = message(error);
    let mut source = error.source();
    while let Some(cause) = source {
        let message = message(cause);
        let start = text.rfind(": ").map_or(0, |colon| colon + 2);
        let failure = text[start..].strip_prefix("failed to ").and_then(|failure| failure.split_once(' '));
        let (verb, name) = failure.unwrap_or_default();
        // `a is a directory` says which file could not be read, and `failed to render a` says which file was read.
        let names_file = verb == "read"
            && message
                .strip_prefix(name)
                .is_some_and(|rest| rest.starts_with(':') || rest.starts_with(" is "));
        let is_named =
            failure.is_some() && verb != "write" && message.strip_prefix("failed to read ") == Some(name);
        if message.starts_with(&text) {
            text = message;
        } else if names_file {
            text.replace_range(start.., &message);
        } else if !is_named && !text.ends_with(&message) {
            text = format!("{text}: {message}");
        }
        source = cause.source();
    }
    text
}

/// Returns a message of serde in the terms of YAML and TOML: a list instead of a sequence, and a map instead of the name of
/// a Rust struct.
#[must_use]
pub fn without_serde_terms(message: &str) -> String {
    let message = message
        .replace("expected a sequence", "expected a list")
        .replace("invalid type: sequence", "invalid type: a list")
        .replace("invalid type: map", "invalid type: a map");
    let message = match message.split_once("expected struct ") {
        Some((before, after)) => {
            let name = after.find(char::is_whitespace).unwrap_or(after.len());
            format!("{before}expected a map{}", &after[name..])
        }
        None => message,
    };
    let types = message.split_once("invalid type: ");
    let Some((before, found, expected)) = types.and_then(|(before, types)| {
        types.rsplit_once(", expected ").map(|(found, expected)| (before, found, expected))
    }) else {
        return message;
    };
    let (expected, place) = expected.find(" at line ").map_or((expected, ""), |at| expected.split_at(at));
    format!("{before}expected {expected}, found {found}{place}")
}

/// Returns `text` with every character escaped that a terminal or a log obeys instead of showing it: control characters
/// (ESC, CR and line breaks among them), line separators, and what changes the direction of text or is invisible.
///
/// Every printer and every error passes through this function, so that no file name, kind or value can forge a line of
/// output. An escape is written as in Rust: `\n`, `\u{1b}`.
#[must_use]
pub fn printable(text: &str) -> Cow<'_, str> {
    escaped(text, |_, _| false)
}

/// Returns `text` as [`printable`] does, but keeps tabs and the ends of lines (`\n`, `\r\n`): for texts of several lines, such
/// as diffs.
#[must_use]
pub fn printable_lines(text: &str) -> Cow<'_, str> {
    escaped(text, |char, rest| match char {
        '\n' | '\t' => true,
        '\r' => rest.is_empty() || rest.starts_with('\n'),
        _ => false,
    })
}

/// Escapes characters, except those that are to be kept: `is_kept` gets a character and what follows it.
fn escaped(text: &str, is_kept: impl Fn(char, &str) -> bool) -> Cow<'_, str> {
    if !text.chars().any(|char| is_escaped(char) || is_joiner(char)) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    let mut before = ' ';
    for (at, char) in text.char_indices() {
        let joins_nothing = is_joiner(char) && before.is_ascii();
        before = char;
        match char {
            _ if is_escaped(char) && is_kept(char, &text[at + char.len_utf8()..]) => escaped.push(char),
            '\n' => escaped.push_str("\\n"),
            '\r' => escaped.push_str("\\r"),
            '\t' => escaped.push_str("\\t"),
            _ if is_escaped(char) || joins_nothing => {
                // Writing to a string cannot fail.
                let _ = write!(escaped, "\\u{{{:x}}}", u32::from(char));
            }
            _ => escaped.push(char),
        }
    }
    Cow::Owned(escaped)
}

/// Returns whether a character joins others, which some scripts and emoji need; after ASCII, it is only invisible.
fn is_joiner(char: char) -> bool {
    matches!(char, '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}')
}

/// Returns whether [`printable`] escapes a character, wherever it stands.
#[must_use]
pub fn is_escaped(char: char) -> bool {
    char.is_control()
        || matches!(char,
            // Direction marks, embeddings, overrides and isolates.
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
            // Line and paragraph separators.
            | '\u{2028}' | '\u{2029}'
            // Zero width and other invisible characters.
            | '\u{ad}' | '\u{34f}' | '\u{180e}' | '\u{200b}' | '\u{2060}'..='\u{2064}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}')
}

/// Serializes a string that stands for an absent value if it is empty: then as `null`. For serde's `serialize_with`.
///
/// # Errors
/// Those of the serializer.
pub fn null_if_empty<S: serde::Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
    present(text).serialize(serializer)
}

/// Returns a string that stands for an absent value if it is empty.
#[must_use]
pub fn present(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.is_empty())
}

/// Writes a value as indented JSON with a final line break, in which every character that [`printable`] escapes is escaped, too:
/// a JSON document is the same value, and can be shown by a terminal.
///
/// # Errors
/// The value cannot be serialized, or `out` cannot be written.
pub fn write_json(value: &impl Serialize, out: impl io::Write) -> io::Result<()> {
    write_json_indented(value, "  ", out)
}

/// Writes a value as [`write_json`] does, with `indent` for each level.
///
/// # Errors
/// The value cannot be serialized, or `out` cannot be written.
pub fn write_json_indented(value: &impl Serialize, indent: &str, mut out: impl io::Write) -> io::Result<()> {
    let formatter = PrintableJson(PrettyFormatter::with_indent(indent.as_bytes()));
    value.serialize(&mut Serializer::with_formatter(&mut out, formatter))?;
    out.write_all(b"\n")
}

/// `serde_json`'s indented format with [`printable`] strings.
struct PrintableJson<'i>(PrettyFormatter<'i>);

impl Formatter for PrintableJson<'_> {
    fn begin_array<W: io::Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.begin_array(out)
    }

    fn end_array<W: io::Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_array(out)
    }

    fn begin_array_value<W: io::Write + ?Sized>(&mut self, out: &mut W, is_first: bool) -> io::Result<()> {
        self.0.begin_array_value(out, is_first)
    }

    fn end_array_value<W: io::Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_array_value(out)
    }

    fn begin_object<W: io::Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.begin_object(out)
    }

    fn end_object<W: io::Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_object(out)
    }

    fn begin_object_key<W: io::Write + ?Sized>(&mut self, out: &mut W, is_first: bool) -> io::Result<()> {
        self.0.begin_object_key(out, is_first)
    }

    fn begin_object_value<W: io::Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.begin_object_value(out)
    }

    fn end_object_value<W: io::Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_object_value(out)
    }

    fn write_string_fragment<W: io::Write + ?Sized>(&mut self, out: &mut W, text: &str) -> io::Result<()> {
        let mut rest = text;
        while let Some((at, char)) =
            rest.char_indices().find(|(_, char)| is_escaped(*char) || is_joiner(*char))
        {
            out.write_all(&rest.as_bytes()[..at])?;
            for unit in char.encode_utf16(&mut [0; 2]) {
                write!(out, "\\u{unit:04x}")?;
            }
            rest = &rest[at + char.len_utf8()..];
        }
        out.write_all(rest.as_bytes())
    }
}

/// Returns a text as it stands in an attribute or between tags of XML 1.0 or HTML. XML has no place for control characters, which are
/// replaced.
#[must_use]
pub fn xml_escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' => out.push_str("&#xA;"),
            '\t' | '\r' => out.push(' '),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// Returns a number of bytes as people read it: `123 B`, `1.2 KiB`.
#[must_use]
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let (mut tenths, mut unit) = (bytes.saturating_mul(10) / 1024, 0);
    while tenths >= 10_240 && unit + 1 < UNITS.len() {
        tenths /= 1024;
        unit += 1;
    }
    format!("{}.{} {}", tenths / 10, tenths % 10, UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_obeys_is_escaped() {
        for (text, expected) in [
            ("manifests/a.yaml", "manifests/a.yaml"),
            ("a\x1b[31m\nerror: b\r", "a\\u{1b}[31m\\nerror: b\\r"),
            ("a\tb\u{7f}\u{9b}", "a\\tb\\u{7f}\\u{9b}"),
            ("\u{202e}lmay\u{2066}\u{200f}", "\\u{202e}lmay\\u{2066}\\u{200f}"),
            ("a\u{2028}b\u{85}", "a\\u{2028}b\\u{85}"),
            ("ä 漢 😀\u{200d}😀", "ä 漢 😀\u{200d}😀"),
            ("a\u{200d}b\u{ad}", "a\\u{200d}b\\u{ad}"),
        ] {
            assert_eq!(printable(text), expected);
        }
    }

    #[test]
    fn printable_lines_keeps_tabs_and_line_breaks() {
        for (text, expected) in [
            ("a\tb\r\nc\r", "a\tb\r\nc\r"),
            ("a\rb\x1b[1m\n", "a\\rb\\u{1b}[1m\n"),
            ("\u{202e}\n\u{2028}", "\\u{202e}\n\\u{2028}"),
        ] {
            assert_eq!(printable_lines(text), expected);
        }
    }

    #[test]
    fn printable_json_is_escaped_and_equal() {
        let value =
            serde_json::json!({"a\u{9b}": ["\u{202e}x", "ä\u{200d}😀 \u{e0041}", "\x1b\n\"\\"], "b": 1});
        let mut out = Vec::new();
        write_json(&value, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let expected = r#"{
  "a\u009b": [
    "\u202ex",
    "ä\u200d😀 \udb40\udc41",
    "\u001b\n\"\\"
  ],
  "b": 1
}
"#;
        assert_eq!(text, expected);
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
    }

    #[test]
    fn long_values_are_shortened_between_characters() {
        assert_eq!(shortened("äöü", 3), "äöü");
        assert_eq!(shortened("äöüß", 3), "äöü…");
        assert_eq!(excerpt(&"x".repeat(1_000_000)).chars().count(), MAX_EXCERPT + 1);
    }

    #[test]
    fn terms_of_serde_are_replaced() {
        for (text, expected) in [
            ("invalid type: sequence, expected a string", "expected a string, found a list"),
            ("invalid type: string \"x\", expected a sequence", "expected a list, found string \"x\""),
            ("invalid type: integer `3`, expected struct Entry", "expected a map, found integer `3`"),
            ("missing field `reason`", "missing field `reason`"),
        ] {
            assert_eq!(without_serde_terms(text), expected);
        }
    }

    #[test]
    fn causes_are_told_once() {
        #[derive(Debug)]
        struct Told(&'static str, Option<Box<Told>>);
        impl std::fmt::Display for Told {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.0)
            }
        }
        impl Error for Told {
            fn source(&self) -> Option<&(dyn Error + 'static)> {
                self.1.as_deref().map(|cause| cause as _)
            }
        }
        let error = |outer, inner| with_causes(&Told(outer, Some(Box::new(Told(inner, None)))));
        assert_eq!(error("failed to read a", "not found"), "failed to read a: not found");
        assert_eq!(error("failed to read a: not found", "not found"), "failed to read a: not found");
        assert_eq!(error("failed to read a", "failed to read a: not found"), "failed to read a: not found");
        assert_eq!(error("failed to read a", "a is a directory"), "a is a directory");
        assert_eq!(error("x: failed to read a", "a is a directory"), "x: a is a directory");
        assert_eq!(error("failed to read a", "a:1:2: invalid"), "a:1:2: invalid");
        assert_eq!(error("failed to read a", "a b is bad"), "failed to read a: a b is bad");
        assert_eq!(error("failed to read a", "ab is a directory"), "failed to read a: ab is a directory");
        assert_eq!(error("failed to render a", "a is a directory"), "failed to render a: a is a directory");
        assert_eq!(error("failed to render a", "failed to read a"), "failed to render a");
        assert_eq!(error("failed to render a", "failed to read b"), "failed to render a: failed to read b");
    }

    #[test]
    fn system_errors_have_no_number() {
        let error = io::Error::from_raw_os_error(2);
        assert_eq!(with_causes(&error), "no such file or directory");
        let other = |text| with_causes(&io::Error::other(text));
        assert_eq!(
            other(format!("a: {error}; b: {error}")),
            "a: no such file or directory; b: no such file or directory"
        );
        assert_eq!(other("I/O error (os error 5)".to_owned()), "I/O error");
        assert_eq!(other("a (os error b) (os error ".to_owned()), "a (os error b) (os error ");
    }

    #[test]
    fn xml_is_escaped() {
        assert_eq!(
            xml_escaped("<a b='c' d=\"e\">&\n\t\u{1b}"),
            "&lt;a b=&#39;c&#39; d=&quot;e&quot;&gt;&amp;&#xA; \u{fffd}"
        );
    }

    #[test]
    fn sizes() {
        for (bytes, expected) in
            [(0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1_500_000, "1.4 MiB"), (3 << 40, "3.0 TiB")]
        {
            assert_eq!(size(bytes), expected);
        }
    }
}
