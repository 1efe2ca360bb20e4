//! Bytes with a digest, wherever they lie.

use std::fs;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::sync::Arc;

use oci_spec::image::{Descriptor, Digest, MediaType};
use tempfile::TempPath;

use super::{Error, Hashing, sha256};

/// Documents (manifests, configurations, indexes) are read up to this size, as registries accept them.
pub(crate) const DOCUMENT_LIMIT: u64 = 4 << 20;

/// A part of an image: its descriptor, and a way to its bytes. Cloning is cheap.
#[derive(Debug, Clone)]
pub struct Blob {
    descriptor: Descriptor,
    content: Content,
}

#[derive(Debug, Clone)]
enum Content {
    Memory(Arc<[u8]>),
    /// A temporary file, removed with the last blob that uses it.
    Temporary(Arc<TempPath>),
    /// A part of a file: all of it in an OCI layout, a member of an archive.
    Part {
        path: Arc<PathBuf>,
        offset: u64,
    },
    Absent,
}

impl Blob {
    /// Bytes in memory: documents, which are small.
    pub fn from_bytes(media_type: MediaType, bytes: impl Into<Arc<[u8]>>) -> Self {
        let bytes = bytes.into();
        let descriptor = Descriptor::new(media_type, bytes.len() as u64, sha256(&bytes));
        Self { descriptor, content: Content::Memory(bytes) }
    }

    /// Bytes in a temporary file, whose digest and size were counted as it was written.
    pub(crate) fn from_temporary(descriptor: Descriptor, path: TempPath) -> Self {
        Self { descriptor, content: Content::Temporary(Arc::new(path)) }
    }

    /// Bytes in a file, beginning at `offset`; checked against the descriptor as they are read.
    pub(crate) fn from_part(descriptor: Descriptor, path: PathBuf, offset: u64) -> Self {
        Self { descriptor, content: Content::Part { path: Arc::new(path), offset } }
    }

    /// A blob that is only named so far.
    pub(crate) fn absent(descriptor: Descriptor) -> Self {
        Self { descriptor, content: Content::Absent }
    }

    /// Media type, digest and size.
    #[must_use]
    pub fn descriptor(&self) -> &Descriptor {
        &self.descriptor
    }

    /// The digest of the bytes.
    #[must_use]
    pub fn digest(&self) -> &Digest {
        self.descriptor.digest()
    }

    /// The number of bytes.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.descriptor.size()
    }

    /// True where the bytes can be opened here.
    #[must_use]
    pub fn is_present(&self) -> bool {
        !matches!(self.content, Content::Absent)
    }

    /// Opens the bytes. Reading to the end gives an error of kind `InvalidData` where they are not what the
    /// descriptor promises.
    ///
    /// # Errors
    ///
    /// [`Error::Read`] where the file cannot be opened, [`Error::Absent`] where the bytes are elsewhere.
    pub fn open(&self) -> Result<Box<dyn Read + Send>, Error> {
        let reader: Box<dyn Read + Send> = match &self.content {
            // Made here, so there is nothing to check.
            Content::Memory(bytes) => return Ok(Box::new(io::Cursor::new(Arc::clone(bytes)))),
            Content::Temporary(path) => {
                let path: &std::path::Path = path;
                Box::new(fs::File::open(path).map_err(Error::read(path))?)
            }
            Content::Part { path, offset } => {
                let mut file = fs::File::open(&**path).map_err(Error::read(path))?;
                file.seek(SeekFrom::Start(*offset)).map_err(Error::read(path))?;
                Box::new(file.take(self.size()))
            }
            Content::Absent => return Err(Error::Absent { digest: self.digest().to_string() }),
        };
        Ok(Box::new(Checked::new(reader, &self.descriptor)))
    }

    /// All bytes of a document.
    ///
    /// # Errors
    ///
    /// As [`Blob::open`]; [`Error::TooLarge`] where it is larger than registries accept; [`Error::Mismatch`] where
    /// the bytes are not what the descriptor promises.
    pub fn document(&self) -> Result<Vec<u8>, Error> {
        if self.size() > DOCUMENT_LIMIT {
            return Err(Error::TooLarge {
                what: format!("the document {}", self.digest()),
                limit: DOCUMENT_LIMIT,
            });
        }
        let mut bytes = Vec::new();
        self.open()?.read_to_end(&mut bytes).map_err(|error| self.error(error))?;
        Ok(bytes)
    }

    /// What an I/O error while reading this blob means.
    pub(crate) fn error(&self, error: io::Error) -> Error {
        match error.get_ref().and_then(|inner| inner.downcast_ref::<Difference>()) {
            Some(difference) => Error::Mismatch {
                what: format!("the blob {}", self.digest()),
                expected: difference.expected.clone(),
                found: difference.found.clone(),
            },
            None => Error::Read { path: PathBuf::from(self.digest().to_string()), source: error },
        }
    }
}

/// Bytes are not what their descriptor promises.
#[derive(Debug, thiserror::Error)]
#[error("expected {expected}, found {found}")]
struct Difference {
    expected: String,
    found: String,
}

/// A reader that fails at the end where size or digest differ from a descriptor's.
struct Checked<R> {
    reader: Option<Hashing<R>>,
    size: u64,
    digest: Digest,
}

impl<R: Read> Checked<R> {
    fn new(reader: R, descriptor: &Descriptor) -> Self {
        let digest = descriptor.digest().clone();
        Self { reader: Some(Hashing::new(reader)), size: descriptor.size(), digest }
    }
}

impl<R: Read> Read for Checked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(reader) = &mut self.reader else { return Ok(0) };
        let count = reader.read(buffer)?;
        if count > 0 && reader.size() <= self.size {
            return Ok(count);
        }
        if count == 0 && buffer.is_empty() {
            return Ok(0);
        }
        let Some(reader) = self.reader.take() else { return Ok(0) };
        let (digest, size, _) = reader.finish();
        let difference = if size != self.size {
            let found = if size > self.size { "more".to_owned() } else { format!("{size} bytes") };
            Difference { expected: format!("{} bytes", self.size), found }
        } else if digest != self.digest {
            Difference { expected: self.digest.to_string(), found: digest.to_string() }
        } else {
            return Ok(0);
        };
        Err(io::Error::new(io::ErrorKind::InvalidData, difference))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(bytes: &[u8], promised: &Descriptor) -> Result<Vec<u8>, Error> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("blob");
        fs::write(&path, bytes).unwrap();
        Blob::from_part(promised.clone(), path, 0).document()
    }

    #[test]
    fn bytes_are_checked_as_they_are_read() {
        let promised = Blob::from_bytes(MediaType::ImageConfig, *b"{\"a\":1}").descriptor().clone();
        assert_eq!(part(b"{\"a\":1}", &promised).unwrap(), b"{\"a\":1}");
        assert_eq!(
            part(b"{\"a\":1}, and more", &promised).unwrap(),
            b"{\"a\":1}",
            "a part ends with its size"
        );
        for wrong in [&b"{\"a\":2}"[..], b"{\"a\"", b""] {
            let error = part(wrong, &promised).unwrap_err();
            assert!(matches!(error, Error::Mismatch { .. }), "{error}");
        }
    }

    #[test]
    fn too_much_is_noticed_before_the_end() {
        let descriptor = Blob::from_bytes(MediaType::ImageConfig, *b"short").descriptor().clone();
        let mut read = Vec::new();
        let error = Checked::new(io::repeat(b'x'), &descriptor).read_to_end(&mut read).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    }
}
