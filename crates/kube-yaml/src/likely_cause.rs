//! The likely cause of invalid YAML: merge conflicts, tabs, templates, missing quotes, other encodings. A parser reports what it
//! expected instead, often on a later line.

use memchr::memmem;

use crate::libyaml::BYTE_ORDER_MARK;
use crate::tree_builder::MAX_DEPTH;
use crate::{Position, SyntaxError};

/// How many lines before the place of an error are searched for its cause.
const NEAR: usize = 3;

/// What to do about white space that is neither a space nor a line break.
const SPACES: &str =
    "replace the character with a space; text copied from web pages and word processors often contains it";

/// What to do about a value that is read as the syntax that it begins with or contains.
const QUOTE: &str = "quote the value";

/// The line and the column of a cause, both from zero on.
type Place = (usize, usize);

struct LikelyCause {
    place: Option<Place>,
    message: String,
    help: &'static str,
}

impl LikelyCause {
    fn at(line: usize, column: usize, message: impl Into<String>, help: &'static str) -> Self {
        Self { place: Some((line, column)), message: message.into(), help }
    }

    fn here(message: impl Into<String>, help: &'static str) -> Self {
        Self { place: None, message: message.into(), help }
    }
}

/// Replaces what the parser expected with what usually causes such an error, and adds what to do about it. Takes time in
/// proportion to the text.
pub(crate) fn explain(text: &[u8], error: SyntaxError) -> SyntaxError {
    let Some(cause) = find(text, &error) else { return error };
    let number = |zero_based: usize| u32::try_from(zero_based + 1).unwrap_or(u32::MAX);
    let position = cause
        .place
        .map_or(error.position, |(line, column)| Position { line: number(line), column: number(column) });
    SyntaxError { message: cause.message, position, help: Some(cause.help) }
}

fn find(text: &[u8], error: &SyntaxError) -> Option<LikelyCause> {
    if let Some(cause) = encoding(text, error).or_else(|| conflict(text)) {
        return Some(cause);
    }
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    let message = error.message.as_str();
    if message.contains("flow")
        && let Some((line, column, open)) = unclosed(text, error.position)
    {
        let (open, help) = match open {
            b'[' => ('[', "add the missing `]`"),
            _ => ('{', "add the missing `}`"),
        };
        return Some(LikelyCause::at(line, column, format!("`{open}` is never closed"), help));
    }
    let last = usize::try_from(error.position.line).unwrap_or(usize::MAX);
    let mut near = std::collections::VecDeque::with_capacity(NEAR);
    for line in text.split(|byte| *byte == b'\n').enumerate().take(last) {
        if near.len() == NEAR {
            near.pop_back();
        }
        near.push_front(line);
    }
    let near = near.make_contiguous();
    // What the parser names, before what lines nearby suggest.
    let causes = quotes(near, error).or_else(|| indentation(near)).or_else(|| template(near));
    causes.or_else(|| white_space(near)).or_else(|| directive(text, error))
}

/// Returns the encoding of a text that is not in UTF-8, as far as it can be known.
fn encoding(text: &[u8], error: &SyntaxError) -> Option<LikelyCause> {
    let start = &text[..text.len().min(4)];
    let (name, help) = match start {
        [0xff, 0xfe, 0, 0] | [0, 0, 0xfe, 0xff] => {
            ("UTF-32", "save the file in UTF-8, for example with `iconv -f UTF-32 -t UTF-8`")
        }
        [0, 0, ..] | [_, 0, 0, 0] => return None,
        [0, _, ..] => ("UTF-16", "save the file in UTF-8, for example with `iconv -f UTF-16BE -t UTF-8`"),
        [_, 0, ..] => ("UTF-16", "save the file in UTF-8, for example with `iconv -f UTF-16LE -t UTF-8`"),
        _ if error.message.starts_with("invalid UTF-8") => {
            let help = "save the file in UTF-8, for example with `iconv -f WINDOWS-1252 -t UTF-8`";
            return Some(LikelyCause::here(error.message.clone(), help));
        }
        _ => return None,
    };
    Some(LikelyCause::at(0, 0, format!("the text is encoded in {name}: must be UTF-8"), help))
}

fn conflict(text: &[u8]) -> Option<LikelyCause> {
    let is_conflict = |line: &[u8]| {
        let line = line.trim_ascii_end();
        let marker =
            |marker: &[u8]| line.strip_prefix(marker).is_some_and(|rest| rest.is_empty() || rest[0] == b' ');
        marker(b"<<<<<<<") || marker(b"|||||||") || marker(b">>>>>>>")
    };
    let (line, _) = text.split(|byte| *byte == b'\n').enumerate().find(|(_, line)| is_conflict(line))?;
    let help = "resolve the conflict, and remove the lines with `<<<<<<<`, `=======` and `>>>>>>>`";
    Some(LikelyCause::at(line, 0, "unresolved merge conflict", help))
}

/// Finds white space in the indentation that is no space. `near` are lines before the error, the nearest first.
fn indentation(near: &[(usize, &[u8])]) -> Option<LikelyCause> {
    let (line, column, char) = near.iter().find_map(|(line, text)| {
        let text = str::from_utf8(text).ok()?;
        let indent = text.chars().take_while(|char| char.is_whitespace() || is_invisible(*char));
        let (column, char) = indent.enumerate().find(|(_, char)| !matches!(char, ' ' | '\r'))?;
        Some((*line, column, char))
    })?;
    Some(match char {
        '\t' => LikelyCause::at(line, column, "tab in the indentation", "indent with spaces instead of tabs"),
        char => LikelyCause::at(line, column, format!("{} in the indentation", named(char)), SPACES),
    })
}

fn template(near: &[(usize, &[u8])]) -> Option<LikelyCause> {
    let (line, column) = near.iter().find_map(|(line, text)| {
        let at = memmem::find(text, b"{{").or_else(|| memmem::find(text, b"{%"))?;
        Some((*line, String::from_utf8_lossy(&text[..at]).chars().count()))
    })?;
    let help = "render the template first, for example with `helm template`";
    Some(LikelyCause::at(line, column, "unrendered template", help))
}

/// Finds other white space than spaces behind a `:` or a `-`, where it is part of the text.
fn white_space(near: &[(usize, &[u8])]) -> Option<LikelyCause> {
    near.iter().find_map(|(line, text)| {
        let mut before = ' ';
        for (column, char) in str::from_utf8(text).ok()?.chars().enumerate() {
            let is_odd = !char.is_ascii() && (char.is_whitespace() || is_invisible(char));
            if is_odd && matches!(before, ':' | '-') {
                let message = format!("{} after `{before}`", named(char));
                return Some(LikelyCause::at(*line, column, message, SPACES));
            }
            before = char;
        }
        None
    })
}

/// Finds what is missing on the line of the error, or on the line before it: quotes, spaces, a closing quote.
fn quotes(near: &[(usize, &[u8])], error: &SyntaxError) -> Option<LikelyCause> {
    let message = error.message.as_str();
    let (_, text) = near.first()?;
    let text = str::from_utf8(text).ok()?;
    let column = usize::try_from(error.position.column).unwrap_or(usize::MAX).saturating_sub(1);
    let before = || text.chars().take(column);
    if message.contains("cannot start any token") {
        let char = text.chars().nth(column).filter(|char| matches!(char, '@' | '`' | '%'))?;
        return Some(LikelyCause::here(format!("`{char}` cannot begin an unquoted value"), QUOTE));
    }
    if message.contains("mapping values are not allowed") {
        let key = before().collect::<String>();
        return key.contains(": ").then(|| LikelyCause::here("`: ` in an unquoted value", QUOTE));
    }
    if message.contains("while scanning a block scalar") {
        let begin = before().filter(|char| matches!(char, '|' | '>')).last()?;
        return Some(LikelyCause::here(format!("`{begin}` starts a block scalar"), QUOTE));
    }
    if message.starts_with("unknown anchor") {
        return Some(LikelyCause::here(message, "quote the value if `*` is part of it"));
    }
    if message.contains("never closed") {
        return Some(LikelyCause::here(message, "add the missing quote"));
    }
    if message.contains("could not find expected ':'") {
        return near.iter().find_map(|(line, text)| {
            let colon = colon_without_space(text)?;
            Some(LikelyCause::at(*line, colon, "missing space after `:`", "add a space after the `:`"))
        });
    }
    if message.contains("did not find expected") && message.contains("while parsing a block") {
        if before().all(|char| char == ' ') {
            let message = format!("indentation of {column} spaces does not match any line above");
            let help = "indent the line like the other lines of its map or list";
            return (column > 0).then(|| LikelyCause::here(message, help));
        }
        let quote = before().filter(|char| *char != ' ').last().filter(|char| matches!(char, '\'' | '"'));
        return quote.map(|quote| {
            let help = match quote {
                '\'' => "write `''` for a single quote in the value, or quote the whole value",
                _ => "write `\\\"` for a double quote in the value, or quote the whole value",
            };
            LikelyCause::here("unexpected text after a quoted value", help)
        });
    }
    None
}

/// Finds a directive before a document: Kubernetes cuts texts at `---`, so that it stands alone.
fn directive(text: &[u8], error: &SyntaxError) -> Option<LikelyCause> {
    if !error.message.contains("<document start>") {
        return None;
    }
    let (line, _) = text
        .split(|byte| *byte == b'\n')
        .enumerate()
        .take(usize::try_from(error.position.line).unwrap_or(usize::MAX))
        .find(|(_, line)| line.starts_with(b"%"))?;
    Some(LikelyCause::at(
        line,
        0,
        "directive before `---`: Kubernetes does not support YAML directives",
        "remove the line",
    ))
}

/// Returns where a key is directly followed by its value, as in `key:value`.
fn colon_without_space(text: &[u8]) -> Option<usize> {
    let text = str::from_utf8(text).ok()?;
    let (key, value) = text.split_once(':')?;
    let is_key = |key: &str| {
        let key = key.trim_start_matches([' ', '-']);
        !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-./".contains(&byte))
    };
    let is_value = |value: &str| {
        !value.is_empty()
            && !value.starts_with(|char: char| char.is_whitespace() || is_invisible(char))
            && !value.contains(": ")
            && !value.ends_with(':')
    };
    (is_key(key) && is_value(value)).then_some(key.len())
}

/// Returns the line, the column and the bracket of the innermost list or map in flow style that is open at `position`.
fn unclosed(bytes: &[u8], position: Position) -> Option<(usize, usize, u8)> {
    let last = usize::try_from(position.line).unwrap_or(usize::MAX);
    let at = usize::try_from(position.column).unwrap_or(usize::MAX);
    let mut open = Vec::new();
    let mut quote = None;
    for (line, text) in bytes.split(|byte| *byte == b'\n').take(last).enumerate() {
        if text.starts_with(b"---") {
            open.clear();
        }
        let (mut before, mut column) = (b' ', 0);
        for byte in text.iter().copied() {
            if line + 1 == last && column + 1 >= at {
                break;
            }
            let starts = matches!(before, b' ' | b'\t' | b'[' | b'{' | b',' | b':');
            match (quote, byte) {
                (Some(end), _) => quote = (byte != end).then_some(end),
                (None, b'\'' | b'"') if starts => quote = Some(byte),
                (None, b'#') if matches!(before, b' ' | b'\t') => break,
                (None, b'[' | b'{') if starts && open.len() >= MAX_DEPTH => return None,
                (None, b'[' | b'{') if starts => open.push((line, column, byte)),
                (None, b']' | b'}') => {
                    open.pop();
                }
                _ => {}
            }
            before = byte;
            // Columns are those of characters.
            column += usize::from(byte & 0xc0 != 0x80);
        }
    }
    open.pop()
}

fn named(char: char) -> String {
    let name = if char == '\u{a0}' { "non-breaking space" } else { "character" };
    format!("{name} U+{:04X}", u32::from(char))
}

/// Returns whether a character is not shown, although it is no white space.
fn is_invisible(char: char) -> bool {
    matches!(char, '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use crate::parse;

    fn error(text: impl AsRef<[u8]>) -> String {
        let Some(error) = parse(text.as_ref()).error else { return "valid".into() };
        let place = format!("{}:{}", error.position.line, error.position.column);
        format!("{place} {}; {}", error.message, error.help.unwrap_or("no help"))
    }

    #[test]
    fn likely_causes_are_named_with_their_place() {
        let texts = [
            ("a: 1\n<<<<<<< HEAD\nb: 2\n=======\nb: 3\n>>>>>>> other\n", "2:1 unresolved merge conflict"),
            ("a: 1\n||||||| base\nb: 2\n", "2:1 unresolved merge conflict"),
            ("a:\n\tb: 1\n", "2:1 tab in the indentation"),
            ("a:\n\u{a0}\u{a0}b: 1\n  c: {}\n", "2:1 non-breaking space U+00A0 in the indentation"),
            ("a: b\nc:\u{a0}d\ne: f\n", "2:3 non-breaking space U+00A0 after `:`"),
            ("a: {{ .Values.a }}\n", "1:4 unrendered template"),
            ("a: [1, 2\nb: 3\n", "1:4 `[` is never closed"),
            ("a: b: c\n", "1:5 `: ` in an unquoted value; quote the value"),
            ("a: @b\n", "1:4 `@` cannot begin an unquoted value; quote the value"),
            ("a: `b`\n", "1:4 ``` cannot begin an unquoted value; quote the value"),
            ("a: %b\n", "1:4 `%` cannot begin an unquoted value; quote the value"),
            ("a: >=1.0.0 <2.0.0\n", "1:5 `>` starts a block scalar; quote the value"),
            ("a: *b\n", "1:4 unknown anchor `b`; quote the value if `*` is part of it"),
            ("a: \"b\nc: d\n", "1:4 quoted value is never closed; add the missing quote"),
            ("a: 'It's b'\n", "1:8 unexpected text after a quoted value; write `''` for a single quote"),
            ("a: b\nc:d\ne: f\n", "2:2 missing space after `:`"),
            ("a:\n    b: 1\n   c: 2\n", "3:4 indentation of 3 spaces does not match any line above"),
            ("a: \"{{ x }}\"\nb: @c\n", "2:4 `@` cannot begin an unquoted value"),
            ("a: {b: [1, 2}\n", "1:8 `[` is never closed"),
            ("%YAML 1.2\n---\na: b\n", "1:1 directive before `---`"),
        ];
        for (text, expected) in texts {
            assert!(error(text).starts_with(expected), "{text:?}: {}", error(text));
        }
    }

    #[test]
    fn other_encodings_are_named() {
        let utf_16 = |bytes: fn(u16) -> [u8; 2]| "a: b\n".encode_utf16().flat_map(bytes).collect::<Vec<_>>();
        assert!(error(utf_16(u16::to_le_bytes)).contains("UTF-16: must be UTF-8"));
        assert!(error(utf_16(u16::to_be_bytes)).contains("UTF-16BE"));
        let utf_32: Vec<u8> = "\u{feff}a".chars().flat_map(|char| u32::from(char).to_le_bytes()).collect();
        assert!(error(utf_32).contains("UTF-32"));
        assert!(error(b"a: \xe4\n").contains("WINDOWS-1252"));
    }

    #[test]
    fn other_errors_are_those_of_the_parser() {
        assert_eq!(
            error("a: 1\nb\n"),
            "3:1 could not find expected ':' while scanning a simple key; no help"
        );
    }
}
