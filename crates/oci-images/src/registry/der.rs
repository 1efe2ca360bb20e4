//! Values in distinguished encoding (X.690): certificates and timestamps.

pub(super) const BOOLEAN: u8 = 0x01;
pub(super) const INTEGER: u8 = 0x02;
pub(super) const OCTET_STRING: u8 = 0x04;
pub(super) const OBJECT: u8 = 0x06;
pub(super) const UTF8_STRING: u8 = 0x0c;
pub(super) const GENERALIZED_TIME: u8 = 0x18;
pub(super) const SEQUENCE: u8 = 0x30;
pub(super) const SET: u8 = 0x31;

/// Returns the tag of the constructed value with this number in the structure that it is in.
pub(super) const fn numbered(number: u8) -> u8 {
    0xa0 | number
}

/// Values, one after the other.
pub(super) struct Der<'a>(pub(super) &'a [u8]);

impl<'a> Der<'a> {
    /// Returns the tag and the content of the next value.
    pub(super) fn next(&mut self) -> Option<(u8, &'a [u8])> {
        let (&[tag, first], rest) = self.0.split_first_chunk::<2>()?;
        let (length, rest) = match first {
            0..=0x7f => (usize::from(first), rest),
            0x81..=0x83 => {
                let (bytes, rest) = rest.split_at_checked(usize::from(first - 0x80))?;
                (bytes.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)), rest)
            }
            _ => return None,
        };
        let (value, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some((tag, value))
    }

    /// Returns the content of the next value, which has this tag.
    pub(super) fn value(&mut self, tag: u8) -> Option<&'a [u8]> {
        self.next().filter(|(found, _)| *found == tag).map(|(_, value)| value)
    }

    /// Returns the next value as it is encoded, with its tag and its length.
    pub(super) fn encoded(&mut self) -> Option<&'a [u8]> {
        let before = self.0;
        self.next()?;
        before.get(..before.len() - self.0.len())
    }
}
