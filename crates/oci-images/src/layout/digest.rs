//! SHA-256 digests of bytes in memory and of bytes in transit.

use std::fmt::Write as _;
use std::io::{self, Read, Write};

use oci_spec::image::{Digest, Sha256Digest};
use sha2::{Digest as _, Sha256};

/// Returns the digest of `bytes`.
#[must_use]
pub fn sha256(bytes: &[u8]) -> Digest {
    let mut hasher = Hashing::new(());
    hasher.count(bytes);
    hasher.digest()
}

/// Returns bytes as lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let mut hex = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        // Writing to a string cannot fail.
        let _ = write!(hex, "{byte:02x}");
    }
    hex
}

/// A reader or writer that counts and hashes the bytes that pass through it.
#[derive(Debug)]
pub struct Hashing<T> {
    inner: T,
    hasher: Sha256,
    size: u64,
}

impl<T> Hashing<T> {
    /// Wraps a reader or writer; nothing is counted yet.
    pub fn new(inner: T) -> Self {
        Self { inner, hasher: Sha256::new(), size: 0 }
    }

    /// Returns the number of bytes so far.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Returns the digest of the bytes so far.
    #[must_use]
    pub fn digest(&self) -> Digest {
        let hex = hex(&self.hasher.clone().finalize());
        // The string has 64 lower-case hexadecimal digits by construction.
        let digest = hex.parse::<Sha256Digest>().map(Digest::from);
        digest.unwrap_or_else(|_| unreachable!("{hex} is a SHA-256 digest"))
    }

    /// Returns the digest and the number of the bytes, and the wrapped reader or writer.
    pub fn finish(self) -> (Digest, u64, T) {
        (self.digest(), self.size, self.inner)
    }

    /// Counts and hashes `bytes` without passing them on.
    pub fn count(&mut self, bytes: &[u8]) {
        self.hasher.update(bytes);
        self.size += bytes.len() as u64;
    }
}

impl<R: Read> Read for Hashing<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.count(&buffer[..count]);
        Ok(count)
    }
}

impl<W: Write> Write for Hashing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.inner.write(bytes)?;
        self.count(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_digest() {
        // The digest of `{}` in the OCI image specification.
        assert_eq!(
            sha256(b"{}").to_string(),
            "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
        );
    }

    #[test]
    fn readers_and_writers_count_the_same_bytes() {
        let mut reader = Hashing::new(&b"some bytes"[..]);
        let mut writer = Hashing::new(Vec::new());
        io::copy(&mut reader, &mut writer).unwrap();
        let (read, size, _) = reader.finish();
        let (written, length, bytes) = writer.finish();
        assert_eq!((&read, size), (&written, length));
        assert_eq!(read, sha256(&bytes));
    }
}
