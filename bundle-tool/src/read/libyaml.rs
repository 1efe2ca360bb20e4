//! libyaml-safer: its places and errors as ours, and what its scanner cannot do, done before the text gets there.

use std::borrow::Cow;

use libyaml_safer::{Mark, Scanner, TokenData};

use crate::model::yaml::{Position, SyntaxError};

pub(super) const START: Position = Position { line: 1, column: 1 };

pub(super) fn position(mark: Mark) -> Position {
    let number = |zero_based: u64| u32::try_from(zero_based).unwrap_or(u32::MAX - 1).saturating_add(1);
    Position { line: number(mark.line), column: number(mark.column) }
}

pub(super) fn index(mark: Mark) -> usize {
    usize::try_from(mark.index).unwrap_or(usize::MAX)
}

pub(super) const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

pub(super) fn syntax_error(error: &libyaml_safer::Error) -> SyntaxError {
    let context = error.context().filter(|context| !context.is_empty());
    let problem = match error.problem() {
        "" => "the text is not UTF-8, or holds control characters",
        problem => problem,
    };
    let message = context.map_or_else(|| problem.to_owned(), |context| format!("{problem} {context}"));
    SyntaxError { message, position: error.problem_mark().map_or(START, position) }
}

/// The text in UTF-8: as YAML has it, one that begins with a byte order mark may be in UTF-16.
pub(super) fn utf8(text: &[u8]) -> Result<Cow<'_, [u8]>, SyntaxError> {
    let (unit, text): (fn([u8; 2]) -> u16, _) = match text {
        [0xff, 0xfe, rest @ ..] => (u16::from_le_bytes, rest),
        [0xfe, 0xff, rest @ ..] => (u16::from_be_bytes, rest),
        _ => return Ok(Cow::Borrowed(text)),
    };
    let (pairs, rest) = text.as_chunks::<2>();
    let decoded: Result<String, _> = char::decode_utf16(pairs.iter().map(|&pair| unit(pair))).collect();
    match decoded {
        Ok(decoded) if rest.is_empty() => Ok(Cow::Owned(decoded.into_bytes())),
        _ => Err(SyntaxError { message: "the text is not UTF-16, as it says".to_owned(), position: START }),
    }
}

/// That a tag has a comma behind it without a space, and where the documents before it end. go-yaml refuses it;
/// libyaml-safer's scanner does not know what to do with it, and ends the program.
///
/// The text is scanned with a space behind all that may be such a tag, which changes nothing else of it. Where that finds
/// another error first, it is returned.
pub(super) fn tag_before_comma(text: &[u8]) -> Option<(usize, SyntaxError)> {
    let mark = text.len() - text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text).len();
    let text = &text[mark..];
    let ends = ends_of_tags(text);
    if ends.is_empty() {
        return None;
    }
    let mut spaced = Vec::with_capacity(text.len() + ends.len());
    let mut inserted = Vec::with_capacity(ends.len());
    let mut from = 0;
    for &end in &ends {
        spaced.extend_from_slice(&text[from..end]);
        inserted.push(spaced.len());
        spaced.push(b' ');
        from = end;
    }
    spaced.extend_from_slice(&text[from..]);
    let spaced = ended(&spaced);
    let mut input = &*spaced;
    let mut scanner = Scanner::new();
    scanner.set_input_string(&mut input);
    let unspaced = |place: Mark| {
        let place = index(place);
        place.saturating_sub(inserted.partition_point(|&at| at < place)).min(text.len())
    };
    let mut end = 0;
    for token in scanner {
        let token = match token {
            Ok(token) => token,
            Err(error) => return Some((end, syntax_error(&error))),
        };
        match token.data {
            TokenData::DocumentStart => end = mark + unspaced(token.start_mark),
            TokenData::Tag { .. } if inserted.binary_search(&index(token.end_mark)).is_ok() => {
                let message =
                    "did not find expected whitespace or line break while scanning a tag".to_owned();
                let position = Position::behind(&text[..unspaced(token.start_mark)]);
                return Some((end, SyntaxError { message, position }));
            }
            _ => {}
        }
    }
    None
}

/// Where what may be a tag with a comma behind it ends: `!`, and anything but spaces, brackets and commas, or `!<…>`.
/// Colons at the end are left out: with a space behind, they would mean something.
fn ends_of_tags(text: &[u8]) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut from = 0;
    while let Some(start) = text[from..].iter().position(|&byte| byte == b'!') {
        let start = from + start;
        let tag = &text[start..];
        let length = if tag.starts_with(b"!<") {
            let is_end = |byte: &u8| *byte == b'>' || byte.is_ascii_whitespace();
            tag.iter().position(is_end).map(|end| end + 1)
        } else {
            let is_end = |byte: &u8| byte.is_ascii_whitespace() || b",[]{}".contains(byte);
            tag.iter().position(is_end)
        };
        from = length.map_or(text.len(), |length| start + length);
        if text.get(from) == Some(&b',') {
            let colons = text[start..from].iter().rev().take_while(|&&byte| byte == b':').count();
            ends.push(from - colons);
        }
    }
    ends
}

/// The text with a line break at its end, which libyaml-safer's scanners of block scalars and of escapes cannot do
/// without. Spaces alone on the last line are no line.
pub(super) fn ended(text: &[u8]) -> Cow<'_, [u8]> {
    // YAML 1.1 knows more of them.
    let other = ["\r", "\u{85}", "\u{2028}", "\u{2029}"].iter().any(|other| text.ends_with(other.as_bytes()));
    let is_needed = || text.ends_with(b"\\") || text.iter().any(|byte| matches!(byte, b'|' | b'>'));
    if other || text.ends_with(b"\n") || !is_needed() {
        return Cow::Borrowed(text);
    }
    let without_spaces = text.iter().rposition(|&byte| byte != b' ').map_or(0, |last| last + 1);
    if text[..without_spaces].ends_with(b"\n") {
        return Cow::Borrowed(&text[..without_spaces]);
    }
    Cow::Owned([text, b"\n"].concat())
}
