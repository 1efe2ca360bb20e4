//! Layers that are compressed with zstd, which browsers do not decompress.

use std::io::{self, Read as _};

use oci_images::zstd::Zstd;

/// Returns the bytes without zstd; nothing if there are more of them than `limit`.
///
/// # Errors
/// The bytes are damaged.
pub fn without_zstd(bytes: &[u8], limit: usize) -> io::Result<Option<Vec<u8>>> {
    let mut plain = Vec::new();
    Zstd::new(bytes)?.take((limit as u64).saturating_add(1)).read_to_end(&mut plain)?;
    Ok((plain.len() <= limit).then_some(plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `printf 'hello ' | zstd`
    const HELLO: &[u8] = b"\x28\xb5\x2f\xfd\x20\x06\x31\x00\x00hello ";

    #[test]
    fn bytes_are_decompressed_up_to_a_limit() {
        assert_eq!(without_zstd(HELLO, 6).unwrap().unwrap(), b"hello ");
        assert!(without_zstd(HELLO, 5).unwrap().is_none());
        assert!(without_zstd(&HELLO[..12], 6).is_err());
        assert!(without_zstd(b"\x28\xb5\x2f\xfd", 6).is_err());
    }
}
