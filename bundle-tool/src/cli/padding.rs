//! Cells of tables whose widths come from data. Rust's own width specifiers panic if a width exceeds 65,535.

use std::fmt;

/// A text with spaces up to a width.
pub(crate) struct Padded<'t> {
    text: &'t str,
    width: usize,
}

/// Returns a text that is displayed with spaces up to `width` characters.
pub(crate) fn padded(text: &str, width: usize) -> Padded<'_> {
    Padded { text, width }
}

impl fmt::Display for Padded<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SPACES: &str = "                                                                ";
        f.write_str(self.text)?;
        let mut missing = self.width.saturating_sub(self.text.chars().count());
        while missing > 0 {
            let count = missing.min(SPACES.len());
            f.write_str(&SPACES[..count])?;
            missing -= count;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_padded_to_any_width() {
        assert_eq!(format!("{}|{}|{}", padded("ä", 3), padded("abc", 2), padded("", 0)), "ä  |abc|");
        for width in [65_535, 65_536, 200_000] {
            assert_eq!(padded("a", width).to_string().len(), width);
        }
    }
}
