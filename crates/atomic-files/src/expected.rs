//! What a caller read before it computed what to write, and what is there when it writes.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::sys;

/// Identifies the bytes of a file without keeping them: two files with the same fingerprint hold the same bytes, unless
/// someone made them so on purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint {
    length: u64,
    /// FNV-1a: it is written to journals, so it must be the same in every version of this crate.
    hash: u64,
}

impl Fingerprint {
    const EMPTY: Self = Self { length: 0, hash: 0xcbf2_9ce4_8422_2325 };
    const PRIME: u64 = 0x0100_0000_01b3;

    /// Returns the fingerprint of a file that holds `bytes`.
    #[must_use]
    pub fn new(bytes: &[u8]) -> Self {
        Self::EMPTY.extended(bytes)
    }

    fn extended(self, bytes: &[u8]) -> Self {
        let add = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(Self::PRIME);
        Self { length: self.length + bytes.len() as u64, hash: bytes.iter().fold(self.hash, add) }
    }

    /// Returns the fingerprint of what `reader` returns up to its end.
    ///
    /// # Errors
    ///
    /// That of `reader`.
    pub fn from_reader(mut reader: impl Read) -> io::Result<Self> {
        let mut buffer = vec![0; 64 << 10];
        let mut fingerprint = Self::EMPTY;
        loop {
            match reader.read(&mut buffer) {
                Ok(0) => return Ok(fingerprint),
                Ok(count) => fingerprint = fingerprint.extended(&buffer[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Returns the fingerprint in the form that [`Fingerprint::parse`] reads.
    pub(crate) fn format(self) -> String {
        format!("{:x}:{:x}", self.length, self.hash)
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (length, hash) = text.split_once(':')?;
        let number = |digits| u64::from_str_radix(digits, 16).ok();
        Some(Self { length: number(length)?, hash: number(hash)? })
    }
}

/// What a file must hold at the moment in which it is replaced or removed. Otherwise, nothing is written and the error is
/// [`Error::Changed`].
///
/// A program that reads a file, computes and writes passes what it read, so that it never overwrites what someone else saved
/// meanwhile: `Some(bytes)` and `None` convert into this type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// Whatever it holds when the write begins, even if it does not exist.
    Anything,
    /// The file does not exist.
    Absent,
    /// The file holds the bytes with this fingerprint. A symbolic link is followed.
    Present(Fingerprint),
}

impl<B: AsRef<[u8]>> From<Option<B>> for Expected {
    fn from(read: Option<B>) -> Self {
        read.map_or(Self::Absent, |bytes| Self::Present(Fingerprint::new(bytes.as_ref())))
    }
}

impl From<Fingerprint> for Expected {
    fn from(read: Fingerprint) -> Self {
        Self::Present(read)
    }
}

/// What a path names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum State {
    Absent,
    File(Fingerprint),
    /// A symbolic link, and the path in it.
    Link(PathBuf),
}

impl State {
    /// Returns what `path` names.
    ///
    /// # Errors
    ///
    /// [`Error`] if it is neither a file nor a symbolic link, or cannot be read.
    pub(crate) fn observe(path: &Path) -> Result<Self, Error> {
        let fail = |error| Error::new("read", path, error);
        match fs::symlink_metadata(path) {
            Ok(metadata) if metadata.is_symlink() => Ok(Self::Link(fs::read_link(path).map_err(fail)?)),
            Ok(metadata) if metadata.is_dir() => {
                Err(Error::new("write", path, io::ErrorKind::IsADirectory.into()))
            }
            Ok(metadata) if metadata.is_file() => {
                let fingerprint = sys::open_regular(path).and_then(Fingerprint::from_reader);
                Ok(Self::File(fingerprint.map_err(fail)?))
            }
            Ok(_) => {
                Err(Error::invalid("write", path, "it is a device, a pipe or a socket; remove it first"))
            }
            Err(error) if is_missing(&error) => Ok(Self::Absent),
            Err(error) => Err(fail(error)),
        }
    }

    /// Returns whether `path` is still what it was when this was observed.
    pub(crate) fn is_at(&self, path: &Path) -> bool {
        Self::observe(path).is_ok_and(|now| now == *self)
    }

    /// Fails if `path`, which was observed as this, is not what the caller expects.
    pub(crate) fn require(&self, path: &Path, expected: Expected) -> Result<(), Error> {
        let is_expected = match (self, expected) {
            (_, Expected::Anything) | (Self::Absent, Expected::Absent) => true,
            (Self::File(now), Expected::Present(read)) => *now == read,
            // The caller read the file that the link leads to.
            (Self::Link(_), Expected::Present(read)) => target_fingerprint(path).is_ok_and(|now| now == read),
            // A link to nothing reads as a file that does not exist.
            (Self::Link(_), Expected::Absent) => fs::metadata(path).is_err_and(|error| is_missing(&error)),
            _ => false,
        };
        if is_expected { Ok(()) } else { Err(Error::changed(path)) }
    }
}

/// Returns the fingerprint of the regular file that a link leads to.
fn target_fingerprint(link: &Path) -> io::Result<Fingerprint> {
    let path = fs::canonicalize(link)?;
    if !fs::metadata(&path)?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    Fingerprint::from_reader(sys::open_regular(&path)?)
}

/// Returns whether a file does not exist, or cannot because one of its parents is a file.
pub(crate) fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Returns whether the regular file `path` holds exactly `bytes`.
pub(crate) fn has_bytes(path: &Path, bytes: &[u8]) -> Result<bool, Error> {
    let mut old = Vec::with_capacity(bytes.len());
    File::open(path)
        .and_then(|file| file.take(bytes.len() as u64 + 1).read_to_end(&mut old))
        .map_err(|error| Error::new("read", path, error))?;
    Ok(old == bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fingerprint_is_fnv_1a_and_survives_a_journal() {
        // Source: the test vectors of draft-eastlake-fnv.
        assert_eq!(Fingerprint::new(b"foobar").hash, 0x8594_4171_f739_67e8);
        let bytes = vec![7; 200_000];
        let whole = Fingerprint::new(&bytes);
        assert_eq!(Fingerprint::from_reader(bytes.as_slice()).unwrap(), whole);
        assert_eq!(Fingerprint::parse(&whole.format()), Some(whole));
        assert_eq!(Fingerprint::parse("12"), None);
    }
}
