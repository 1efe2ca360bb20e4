//! Compressed archives and layers: gzip of several members, as lazily pulled images have it, and zstd. Browsers decompress neither.

use std::io::{self, Read};

use flate2::bufread::MultiGzDecoder;
use oci_images::zstd::Zstd;

/// Returns the bytes without gzip or zstd; nothing if there are more of them than `limit`.
///
/// # Errors
/// The bytes are damaged.
pub fn decompressed(bytes: &[u8], limit: usize) -> io::Result<Option<Vec<u8>>> {
    match bytes {
        [0x1f, 0x8b, ..] => read(MultiGzDecoder::new(bytes), limit),
        _ => read(Zstd::new(bytes)?, limit),
    }
}

fn read(mut reader: impl Read, limit: usize) -> io::Result<Option<Vec<u8>>> {
    let mut plain = Vec::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        let count = reader.read(&mut buffer)?;
        if count == 0 {
            return Ok(Some(plain));
        }
        if plain.len() + count > limit {
            return Ok(None);
        }
        if plain.capacity() - plain.len() < count {
            // By a quarter, not by twice: a browser has little memory.
            plain.reserve_exact((plain.len() / 4).max(1 << 20));
        }
        plain.extend_from_slice(&buffer[..count]);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    /// `printf 'hello ' | zstd`
    const HELLO: &[u8] = b"\x28\xb5\x2f\xfd\x20\x06\x31\x00\x00hello ";

    #[test]
    fn bytes_are_decompressed_up_to_a_limit() {
        assert_eq!(decompressed(HELLO, 6).unwrap().unwrap(), b"hello ");
        assert!(decompressed(HELLO, 5).unwrap().is_none());
        assert!(decompressed(&HELLO[..12], 6).is_err());
        assert!(decompressed(b"\x28\xb5\x2f\xfd", 6).is_err());
        let member = |text: &str| {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
            encoder.write_all(text.as_bytes()).unwrap();
            encoder.finish().unwrap()
        };
        let members = [member("hello "), member("world")].concat();
        assert_eq!(decompressed(&members, 11).unwrap().unwrap(), b"hello world");
        assert!(decompressed(&members, 10).unwrap().is_none());
        assert!(decompressed(&members[..members.len() - 1], 11).is_err());
    }
}
