//! libyaml-safer: its positions and errors as ours, and what its scanner cannot handle, checked beforehand.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io::{self, BufRead, Read};
use std::ops::Range;

use libyaml_safer::{Mark, Scanner, Token, TokenData};

use crate::tree_builder::MAX_DEPTH;
use crate::{Position, SyntaxError, is_refused};

pub(crate) fn position(mark: Mark) -> Position {
    let number = |zero_based: u64| u32::try_from(zero_based).unwrap_or(u32::MAX - 1).saturating_add(1);
    Position { line: number(mark.line), column: number(mark.column) }
}

pub(crate) fn index(mark: Mark) -> usize {
    usize::try_from(mark.index).unwrap_or(usize::MAX)
}

pub(crate) const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// The maximum number of `%TAG` directives of a document. Each node's tag is looked for among them.
pub const MAX_TAG_DIRECTIVES: usize = 64;

/// The maximum number of bytes of a `%TAG` directive's handle and prefix, which each node with such a tag repeats.
pub const MAX_TAG_DIRECTIVE_BYTES: usize = 1024;

/// Feeds a text to the scanner in pieces, after a byte order mark. Given all at once, it would be decoded into four bytes of
/// memory a character; without a mark, a first character from U+F000 on would be taken for a broken one.
pub(crate) struct Chunks<'t> {
    piece: &'t [u8],
    rest: &'t [u8],
    size: usize,
}

impl<'t> Chunks<'t> {
    /// Returns the pieces of a text without a byte order mark.
    pub(crate) fn new(text: &'t [u8]) -> Self {
        Self { piece: BYTE_ORDER_MARK, rest: text, size: 16 << 10 }
    }
}

impl Read for Chunks<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.fill_buf()?.read(buffer)?;
        self.consume(length);
        Ok(length)
    }
}

impl BufRead for Chunks<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.piece.is_empty() {
            (self.piece, self.rest) = self.rest.split_at(self.rest.len().min(self.size));
        }
        Ok(self.piece)
    }

    fn consume(&mut self, length: usize) {
        self.piece = &self.piece[length.min(self.piece.len())..];
    }
}

pub(crate) fn syntax_error(error: &libyaml_safer::Error) -> SyntaxError {
    if error.problem() == "found unexpected end of stream"
        && error.context().is_some_and(|context| context.contains("quoted scalar"))
    {
        let start = error.context_mark().map_or(Position::START, position);
        return SyntaxError::new("quoted value is never closed", start);
    }
    let context = error.context().filter(|context| !context.is_empty());
    let problem = match error.problem() {
        "" => "unexpected end of the text",
        problem => problem,
    };
    let message = context.map_or_else(|| problem.to_owned(), |context| format!("{problem} {context}"));
    SyntaxError::new(message, error.problem_mark().map_or(Position::START, position))
}

/// Returns the text in UTF-8: as YAML has it, one that begins with a byte order mark may be in UTF-16.
pub(crate) fn utf8(text: &[u8]) -> Result<Cow<'_, [u8]>, SyntaxError> {
    let (unit, text): (fn([u8; 2]) -> u16, _) = match text {
        [0xff, 0xfe, rest @ ..] => (u16::from_le_bytes, rest),
        [0xfe, 0xff, rest @ ..] => (u16::from_be_bytes, rest),
        _ => return Ok(Cow::Borrowed(text)),
    };
    let (pairs, rest) = text.as_chunks::<2>();
    let mut decoded = String::with_capacity(text.len() / 2);
    let mut offset = 2;
    for char in char::decode_utf16(pairs.iter().map(|&pair| unit(pair))) {
        let Ok(char) = char else { return Err(invalid("UTF-16", offset, decoded.as_bytes())) };
        decoded.push(char);
        offset += 2 * char.len_utf16();
    }
    if rest.is_empty() {
        Ok(Cow::Owned(decoded.into_bytes()))
    } else {
        Err(invalid("UTF-16", offset, decoded.as_bytes()))
    }
}

fn invalid(encoding: &str, offset: usize, before: &[u8]) -> SyntaxError {
    SyntaxError::new(format!("invalid {encoding} at byte offset {offset}"), Position::behind(before))
}

const BLOCK: usize = 256;

/// Rejects what libyaml rejects wherever it stands: bytes that are not UTF-8, and control characters.
pub(crate) fn check_characters(text: &[u8]) -> Result<(), SyntaxError> {
    let is_plain = |byte: &u8| matches!(byte, b' '..=b'~' | b'\t' | b'\n' | b'\r');
    // Whole blocks without a branch are compared many bytes at a time.
    let is_special = |block: &[u8]| block.iter().fold(false, |special, byte| special | !is_plain(byte));
    let Some(block) = text.chunks(BLOCK).position(is_special) else { return Ok(()) };
    let in_block = text[block * BLOCK..].iter().position(|byte| !is_plain(byte)).unwrap_or_default();
    let special = block * BLOCK + in_block;
    // No character spans the boundary: a plain byte is one by itself.
    let (plain, rest) = text.split_at(special);
    let (valid, is_valid) = match std::str::from_utf8(rest) {
        Ok(valid) => (valid, true),
        Err(error) => {
            let (valid, _) = rest.split_at(error.valid_up_to());
            (std::str::from_utf8(valid).unwrap_or_default(), false)
        }
    };
    let is_allowed = |char: char| match char {
        '\0'..='\u{7f}' => u8::try_from(char).is_ok_and(|byte| is_plain(&byte)),
        '\u{85}' => true,
        char => !is_refused(char),
    };
    if let Some((at, char)) = valid.char_indices().find(|&(_, char)| !is_allowed(char)) {
        let offset = plain.len() + at;
        let code = u32::from(char);
        let message = format!("control character U+{code:04X} at byte offset {offset}");
        return Err(SyntaxError::new(message, Position::behind(&text[..offset])));
    }
    let end = plain.len() + valid.len();
    if is_valid { Ok(()) } else { Err(invalid("UTF-8", end, &text[..end])) }
}

/// How many collections are open: for each token, the scanner looks at all that are in flow style.
#[derive(Default)]
struct Depth(usize);

impl Depth {
    fn follow(&mut self, token: &Token) -> Result<(), SyntaxError> {
        match token.data {
            TokenData::FlowSequenceStart
            | TokenData::FlowMappingStart
            | TokenData::BlockSequenceStart
            | TokenData::BlockMappingStart => self.0 += 1,
            TokenData::FlowSequenceEnd | TokenData::FlowMappingEnd | TokenData::BlockEnd => {
                self.0 = self.0.saturating_sub(1);
            }
            _ => {}
        }
        if self.0 <= MAX_DEPTH {
            return Ok(());
        }
        let position = position(token.start_mark);
        Err(SyntaxError::new(format!("nested deeper than {MAX_DEPTH} levels"), position))
    }
}

/// Returns where the documents end before one that has more `%TAG` directives than [`MAX_TAG_DIRECTIVES`], or longer ones
/// than [`MAX_TAG_DIRECTIVE_BYTES`], which libyaml-safer's parser compares pair by pair and repeats for each node.
pub(crate) fn excessive_directives(text: &[u8]) -> Option<(usize, SyntaxError)> {
    if !text.split(|&byte| byte == b'\n' || byte == b'\r').any(|line| line.starts_with(b"%TAG")) {
        return None;
    }
    let text = ended(text);
    let mut scanner = Scanner::new();
    scanner.set_input(Chunks::new(&text));
    let (mut start, mut count) = (0, 0);
    let mut depth = Depth::default();
    // The parser meets the same error.
    for token in scanner.map_while(Result::ok) {
        // The parser reports this.
        depth.follow(&token).ok()?;
        match token.data {
            TokenData::TagDirective { handle, prefix } => {
                if count == 0 {
                    start = index(token.start_mark);
                }
                count += 1;
                let message = if count > MAX_TAG_DIRECTIVES {
                    format!("more than {MAX_TAG_DIRECTIVES} %TAG directives")
                } else if handle.len() + prefix.len() > MAX_TAG_DIRECTIVE_BYTES {
                    format!("%TAG directive of more than {MAX_TAG_DIRECTIVE_BYTES} bytes")
                } else {
                    continue;
                };
                return Some((start, SyntaxError::new(message, position(token.start_mark))));
            }
            TokenData::VersionDirective { .. } => {}
            _ => count = 0,
        }
    }
    None
}

/// Returns where a tag is followed by a comma without a space, and where the documents before it end. go-yaml rejects it;
/// libyaml-safer's scanner panics.
///
/// The text is scanned with a space after everything that may be such a tag, which changes nothing else of it, unless a key becomes too
/// long. If that finds another error first, it is returned.
pub(crate) fn tag_before_comma(text: &[u8]) -> Option<(usize, SyntaxError)> {
    let mut ends = ends_of_tags(text);
    if ends.is_empty() {
        return None;
    }
    for _ in 0..=MAX_VERBATIM {
        match scan_with_spaces(text, &ends) {
            Scanned::Valid => return None,
            Scanned::Invalid(end, error) => return Some((end, error)),
            Scanned::Verbatim(tag) => ends.retain(|end| !tag.contains(end)),
        }
    }
    let message = format!("more than {MAX_VERBATIM} tags `!<…>` that contain `!` and `,`");
    Some((0, SyntaxError::new(message, Position::START)))
}

/// How many verbatim tags with what may be a tag before a comma in them are read, each of which needs another scan.
const MAX_VERBATIM: usize = 4;

enum Scanned {
    Valid,
    /// Where the documents before the error end.
    Invalid(usize, SyntaxError),
    /// The inside of a verbatim tag, which a space has made invalid.
    Verbatim(Range<usize>),
}

/// Scans the text with a space at each of the ends.
fn scan_with_spaces(text: &[u8], ends: &[usize]) -> Scanned {
    let mut spaced = Vec::with_capacity(text.len() + ends.len());
    let mut inserted = Vec::with_capacity(ends.len());
    let mut from = 0;
    for &end in ends {
        spaced.extend_from_slice(&text[from..end]);
        inserted.push(spaced.len());
        spaced.push(b' ');
        from = end;
    }
    spaced.extend_from_slice(&text[from..]);
    let spaced = ended(&spaced);
    let mut scanner = Scanner::new();
    scanner.set_input(Chunks::new(&spaced));
    let unspaced = |place: Mark| {
        let place = index(place);
        place.saturating_sub(inserted.partition_point(|&at| at < place)).min(text.len())
    };
    let mut end = 0;
    let mut depth = Depth::default();
    for token in scanner {
        let token = match token {
            Ok(token) => token,
            Err(error) => {
                let start = error.context_mark().map_or(0, unspaced);
                let verbatim = start + 1..start + verbatim_length(&text[start..]).unwrap_or(1);
                return if ends.iter().any(|end| verbatim.contains(end)) {
                    Scanned::Verbatim(verbatim)
                } else {
                    Scanned::Invalid(end, syntax_error(&error))
                };
            }
        };
        if let Err(error) = depth.follow(&token) {
            return Scanned::Invalid(end, error);
        }
        match token.data {
            TokenData::DocumentStart => end = unspaced(token.start_mark),
            TokenData::Tag { .. } if inserted.binary_search(&index(token.end_mark)).is_ok() => {
                let message =
                    "did not find expected whitespace or line break while scanning a tag".to_owned();
                let position = Position::behind(&text[..unspaced(token.start_mark)]);
                return Scanned::Invalid(end, SyntaxError::new(message, position));
            }
            _ => {}
        }
    }
    Scanned::Valid
}

/// Returns the ends of what may be tags before a comma, in order: `!`, and anything but spaces, brackets and commas, or `!<…>`.
/// Colons at the end are excluded: before a space, they have a meaning.
///
/// What is in `!<…>` may be tags, too: in `[a!<b[!c,d>]`, a plain scalar comes before a bracket and a tag.
fn ends_of_tags(text: &[u8]) -> Vec<usize> {
    let mut ends = BTreeSet::new();
    // Where the last tag of each form ended: all that begin before it end there, too.
    let (mut plain, mut verbatim) = (0, 0);
    for (start, _) in text.iter().enumerate().filter(|&(_, &byte)| byte == b'!') {
        let rest = &text[start..];
        let is_verbatim = rest.starts_with(b"!<");
        let end = if is_verbatim { &mut verbatim } else { &mut plain };
        if *end > start {
            continue;
        }
        let length = if is_verbatim {
            verbatim_length(rest)
        } else {
            rest.iter().position(|byte| byte.is_ascii_whitespace() || b",[]{}".contains(byte))
        };
        *end = length.map_or(text.len(), |length| start + length);
        if text.get(*end) == Some(&b',') {
            let colons = text[start..*end].iter().rev().take_while(|&&byte| byte == b':').count();
            ends.insert(*end - colons);
        }
    }
    ends.into_iter().collect()
}

/// Returns the length of a tag `!<…>`, or of what comes before a space in it.
fn verbatim_length(text: &[u8]) -> Option<usize> {
    let is_end = |byte: &u8| *byte == b'>' || byte.is_ascii_whitespace();
    text.starts_with(b"!<").then(|| text.iter().position(is_end))?.map(|end| end + 1)
}

/// Returns the text with a line break at its end, which libyaml-safer's scanners of block scalars and of escapes require.
/// Spaces alone on the last line are not a line.
pub(crate) fn ended(text: &[u8]) -> Cow<'_, [u8]> {
    // YAML 1.1 has more of them.
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

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;

    const PIECES: [&str; 33] = [
        "a",
        ": ",
        "- ",
        "? ",
        "---",
        "...",
        "\n",
        "\n  ",
        "\r\n",
        " ",
        "|",
        "|2-",
        ">",
        "\"",
        "'",
        "\\",
        "\\\n",
        "\\u00e4",
        "&a",
        "*a",
        "!a",
        "!!str",
        "!<a>",
        "!<",
        "%TAG !a! b",
        "[",
        "]",
        "{",
        "}",
        ",",
        "#",
        "ä",
        "\u{85}",
    ];

    fn tokens(text: &[u8], size: usize) -> Vec<String> {
        let mut scanner = Scanner::new();
        scanner.set_input(Chunks { size, ..Chunks::new(text) });
        let mut tokens = Vec::new();
        for token in scanner {
            let is_error = token.is_err();
            tokens.push(format!("{token:?}"));
            if is_error {
                break;
            }
        }
        tokens
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(5_000) })]

        #[test]
        fn the_size_of_pieces_makes_no_difference(pieces in vec(select(&PIECES[..]), 0..20)) {
            let text = pieces.concat().into_bytes();
            prop_assume!(tag_before_comma(&text).is_none());
            let text = ended(&text);
            let whole = tokens(&text, usize::MAX);
            for size in 1..6 {
                prop_assert_eq!(&tokens(&text, size), &whole, "{}", size);
            }
        }
    }
}
