//! Positions: findings count lines as YAML does and columns in characters from 1, the protocol counts lines as editors do
//! and columns in the units of an encoding from 0.

use serde::{Deserialize, Serialize};

/// The byte order mark.
const MARK: char = '\u{feff}';

/// What columns are counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encoding {
    Utf8,
    Utf16,
}

impl Encoding {
    /// Chooses from what a client offers; UTF-16 is what all clients know.
    pub(crate) fn negotiated(offered: &[String]) -> Self {
        if offered.iter().any(|name| name == Self::Utf8.name()) { Self::Utf8 } else { Self::Utf16 }
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Utf8 => "utf-8",
            Self::Utf16 => "utf-16",
        }
    }

    fn width(self, char: char) -> u32 {
        let width = match self {
            Self::Utf8 => char.len_utf8(),
            Self::Utf16 => char.len_utf16(),
        };
        u32::try_from(width).unwrap_or(u32::MAX)
    }
}

/// A position of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub(crate) struct Position {
    pub(crate) line: u32,
    pub(crate) character: u32,
}

/// A range of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Range {
    pub(crate) start: Position,
    pub(crate) end: Position,
}

impl Range {
    /// Returns whether two ranges overlap or touch.
    pub(crate) fn touches(self, other: Self) -> bool {
        self.start <= other.end && other.start <= self.end
    }
}

impl Position {
    /// Returns the position in a document whose first line begins with a byte order mark of this width.
    pub(crate) fn behind(self, mark: u32) -> Self {
        if self.line == 0 { Self { character: self.character.saturating_add(mark), ..self } } else { self }
    }
}

/// Returns the width of the byte order mark that a text begins with; 0 without one. Most editors keep the mark of a file out of
/// their documents, but some do not.
pub(crate) fn mark(text: &[u8], encoding: Encoding) -> u32 {
    if text.starts_with(MARK.to_string().as_bytes()) { encoding.width(MARK) } else { 0 }
}

/// Returns a text without its byte order mark, or `None` if it is not UTF-8.
pub(crate) fn shown(text: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(text).ok()?;
    Some(text.strip_prefix(MARK).unwrap_or(text))
}

/// Returns the positions of places (line and column), in their order. A place behind the end of its line is at that end.
///
/// One pass over the text, however many places there are. In a text that is not UTF-8, columns stay as they are.
pub(crate) fn of_places(text: &[u8], places: &[(u32, u32)], encoding: Encoding) -> Vec<Position> {
    let Some(text) = shown(text) else {
        let plain = |(line, column): &(u32, u32)| Position {
            line: line.saturating_sub(1),
            character: column.saturating_sub(1),
        };
        return places.iter().map(plain).collect();
    };
    let mut order: Vec<usize> = (0..places.len()).collect();
    order.sort_unstable_by_key(|index| places[*index]);
    let mut wanted = order.into_iter().peekable();
    let mut found = vec![Position::default(); places.len()];
    let mut place = (1, 1);
    let mut here = Position::default();
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        let ends_line = matches!(char, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}');
        let until = if ends_line { (place.0, u32::MAX) } else { place };
        while let Some(index) = wanted.next_if(|index| places[*index] <= until) {
            found[index] = here;
        }
        if wanted.peek().is_none() {
            break;
        }
        if char == '\r' && chars.peek() == Some(&'\n') {
            continue;
        }
        place = if ends_line { (place.0 + 1, 1) } else { (place.0, place.1 + 1) };
        here = if matches!(char, '\n' | '\r') {
            Position { line: here.line + 1, character: 0 }
        } else {
            Position { character: here.character + encoding.width(char), ..here }
        };
    }
    for index in wanted {
        found[index] = here;
    }
    found
}

/// Returns the position of a byte in a text.
pub(crate) fn of_offset(text: &str, offset: usize, encoding: Encoding) -> Position {
    let before = text.get(..offset).unwrap_or(text);
    let mut position = Position::default();
    let mut chars = before.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '\r' if chars.peek() == Some(&'\n') => {}
            '\n' | '\r' => position = Position { line: position.line + 1, character: 0 },
            _ => position.character += encoding.width(char),
        }
    }
    position
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use olm_model::report::Lines;

    fn position(line: u32, character: u32) -> Position {
        Position { line, character }
    }

    #[test]
    fn columns_are_counted_in_the_units_of_the_encoding() {
        let text = "\u{feff}a: \"ä😀b\"\r\nc: d\u{85}e: f\rg: h\n";
        let places = [(3, 4), (1, 1), (1, 8), (1, 6), (2, 99), (4, 2), (9, 9)];
        let utf16 = of_places(text.as_bytes(), &places, Encoding::Utf16);
        let expected = [(1, 8), (0, 0), (0, 8), (0, 5), (1, 4), (2, 1), (3, 0)];
        assert_eq!(utf16, expected.map(|(line, character)| position(line, character)));
        let utf8 = of_places(text.as_bytes(), &places, Encoding::Utf8);
        let expected = [(1, 9), (0, 0), (0, 11), (0, 6), (1, 4), (2, 1), (3, 0)];
        assert_eq!(utf8, expected.map(|(line, character)| position(line, character)));
        assert_eq!(of_places(b"\xff", &[(3, 4)], Encoding::Utf8), [position(2, 3)]);
    }

    #[test]
    fn the_first_known_encoding_is_chosen() {
        let chosen = |names: &[&str]| {
            Encoding::negotiated(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()).name()
        };
        assert_eq!(chosen(&["utf-32", "utf-8", "utf-16"]), "utf-8");
        assert_eq!((chosen(&["utf-16"]), chosen(&[]), chosen(&["utf-32"])), ("utf-16", "utf-16", "utf-16"));
    }

    proptest! {
        #[test]
        fn places_and_offsets_agree(text in "[aä😀\n\r\u{85}\u{2028}]{0,40}", utf8: bool) {
            let encoding = if utf8 { Encoding::Utf8 } else { Encoding::Utf16 };
            let (mut places, mut expected) = (Vec::new(), Vec::new());
            for (index, (start, line)) in Lines::new(text.as_bytes()).iter().enumerate() {
                let line = std::str::from_utf8(line).unwrap();
                for (column, (at, _)) in line.char_indices().chain([(line.len(), ' ')]).enumerate() {
                    places.push((u32::try_from(index).unwrap() + 1, u32::try_from(column).unwrap() + 1));
                    expected.push(of_offset(&text, start + at, encoding));
                }
            }
            prop_assert_eq!(of_places(text.as_bytes(), &places, encoding), expected);
        }
    }
}
