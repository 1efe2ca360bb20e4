//! Positions in a file.

/// A position in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Position {
    /// The line, from 1.
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
}

impl Position {
    /// The beginning of a file.
    pub const START: Self = Self { line: 1, column: 1 };

    /// Returns the position after a text.
    #[must_use]
    pub fn behind(text: &[u8]) -> Self {
        let line_start = text.iter().rposition(|&byte| byte == b'\n').map_or(0, |newline| newline + 1);
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX - 1) + 1;
        Self {
            line: number(text.split(|&byte| byte == b'\n').skip(1).count()),
            column: number(String::from_utf8_lossy(&text[line_start..]).chars().count()),
        }
    }
}
