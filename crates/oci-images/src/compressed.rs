//! Recognizes compressed files by their first bytes.

/// Returns whether a file begins as one that is compressed with gzip, Zstandard, xz or bzip2.
#[must_use]
pub fn is_compressed(head: &[u8]) -> bool {
    matches!(
        head,
        [0x1f, 0x8b, ..]
            | [0x28, 0xb5, 0x2f, 0xfd, ..]
            | [0xfd, b'7', b'z', b'X', b'Z', 0, ..]
            | [b'B', b'Z', b'h', b'1'..=b'9', ..]
    )
}
