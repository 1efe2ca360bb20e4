//! Bytes with a digest, wherever they are stored.

use std::cmp::Ordering;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::sync::Arc;

use oci_spec::image::{Descriptor, Digest, DigestAlgorithm, MediaType};

use super::digest::{Hashing, sha256};
use super::error::{Error, Quoted};
use super::regular::{open_beneath, open_regular};
use crate::sys;

/// The maximum size in bytes of a document (manifest, configuration, index), which is what registries accept.
pub(crate) const DOCUMENT_LIMIT: u64 = 4 << 20;

/// The maximum size in bytes of the index of a layout, which lists the images of a whole mirror.
pub(crate) const INDEX_LIMIT: u64 = 32 << 20;

/// A part of an image: its descriptor and a way to open its bytes. Cloning is cheap.
#[derive(Debug, Clone)]
pub struct Blob {
    descriptor: Descriptor,
    content: Content,
}

#[derive(Debug, Clone)]
enum Content {
    Memory(Arc<[u8]>),
    /// A temporary file without a name: nothing is left of it however the process ends.
    Temporary(Arc<File>),
    /// A file `name` beneath the directory of an OCI layout.
    File {
        layout: Arc<PathBuf>,
        name: Arc<str>,
    },
    /// A member of an archive that begins at `offset`.
    Member {
        archive: Arc<PathBuf>,
        offset: u64,
    },
    Absent,
}

impl Blob {
    /// Creates a blob from bytes in memory, for small ones such as documents.
    pub fn from_bytes(media_type: MediaType, bytes: impl Into<Arc<[u8]>>) -> Self {
        let bytes = bytes.into();
        let descriptor = Descriptor::new(media_type, bytes.len() as u64, sha256(&bytes));
        Self { descriptor, content: Content::Memory(bytes) }
    }

    /// Creates a blob from a temporary file whose digest and size were computed while it was written.
    pub(crate) fn from_temporary(descriptor: Descriptor, file: File) -> Self {
        Self { descriptor, content: Content::Temporary(Arc::new(file)) }
    }

    /// Creates a blob from the file `name` beneath the directory of an OCI layout, which is verified when it is read.
    pub(crate) fn from_file(descriptor: Descriptor, layout: PathBuf, name: String) -> Self {
        Self { descriptor, content: Content::File { layout: Arc::new(layout), name: name.into() } }
    }

    /// Creates a blob from a member of an archive, which is verified when it is read.
    pub(crate) fn from_member(descriptor: Descriptor, archive: PathBuf, offset: u64) -> Self {
        Self { descriptor, content: Content::Member { archive: Arc::new(archive), offset } }
    }

    /// Creates a blob whose bytes are not available.
    pub(crate) fn absent(descriptor: Descriptor) -> Self {
        Self { descriptor, content: Content::Absent }
    }

    /// Returns the blob with another media type.
    pub(crate) fn with_media_type(mut self, media_type: MediaType) -> Self {
        self.descriptor.set_media_type(media_type);
        self
    }

    /// Returns the blob with annotations, which its bytes do not have.
    #[cfg(feature = "sign")]
    pub(crate) fn with_annotations(mut self, annotations: std::collections::HashMap<String, String>) -> Self {
        self.descriptor.set_annotations(Some(annotations));
        self
    }

    /// Returns the blob with the platform that an index names for it.
    pub(crate) fn with_platform(mut self, platform: oci_spec::image::Platform) -> Self {
        self.descriptor.set_platform(Some(platform));
        self
    }

    /// Returns media type, digest and size.
    #[must_use]
    pub fn descriptor(&self) -> &Descriptor {
        &self.descriptor
    }

    /// Returns the digest of the bytes.
    #[must_use]
    pub fn digest(&self) -> &Digest {
        self.descriptor.digest()
    }

    /// Returns the number of bytes.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.descriptor.size()
    }

    /// Returns whether the bytes can be opened.
    #[must_use]
    pub fn is_present(&self) -> bool {
        !matches!(self.content, Content::Absent)
    }

    /// Opens the bytes.
    ///
    /// The reader verifies size and digest: it returns an error of kind `InvalidData` instead of the last bytes if they
    /// do not match the descriptor.
    ///
    /// # Errors
    ///
    /// [`Error::Read`], [`Error::NotRegular`] and [`Error::Outside`] if the file cannot be opened, [`Error::Mismatch`] if it has another
    /// size, [`Error::Malformed`] if the digest is not a SHA-256 digest, [`Error::Absent`] if the bytes are not
    /// available.
    pub fn open(&self) -> Result<Box<dyn Read + Send>, Error> {
        let reader: Box<dyn Read + Send> = match &self.content {
            // The digest was computed from these bytes.
            Content::Memory(bytes) => return Ok(Box::new(io::Cursor::new(Arc::clone(bytes)))),
            Content::Absent => return Err(Error::Absent { digest: self.digest().to_string() }),
            Content::Temporary(file) => Box::new(Shared { file: Arc::clone(file), offset: 0 }),
            Content::File { layout, name } => {
                let (file, size) = open_beneath(layout, name)?;
                self.check_size(size)?;
                Box::new(file)
            }
            Content::Member { archive, offset } => {
                let (mut file, size) = open_regular(archive)?;
                self.check_size(size.saturating_sub(*offset).min(self.size()))?;
                file.seek(SeekFrom::Start(*offset)).map_err(Error::read(archive))?;
                Box::new(file.take(self.size()))
            }
        };
        if *self.digest().algorithm() != DigestAlgorithm::Sha256 {
            let what = format!("digest {}", Quoted(self.digest().as_ref()));
            return Err(Error::malformed(what, "SHA-256 digest", "other algorithms are not supported"));
        }
        Ok(Box::new(Checked::new(reader, &self.descriptor)))
    }

    /// Returns whether both blobs have the same temporary file.
    #[cfg(test)]
    pub(crate) fn shares_bytes_with(&self, other: &Self) -> bool {
        matches!((&self.content, &other.content), (Content::Temporary(a), Content::Temporary(b)) if Arc::ptr_eq(a, b))
    }

    fn check_size(&self, size: u64) -> Result<(), Error> {
        if size == self.size() {
            return Ok(());
        }
        Err(Error::Mismatch {
            what: format!("blob {}", self.digest()),
            expected: format!("{} bytes", self.size()),
            found: format!("{size} bytes"),
        })
    }

    /// Reads all bytes of a document, at most 4 MiB.
    ///
    /// # Errors
    ///
    /// Those of [`Blob::open`]; [`Error::TooLarge`] for more than 4 MiB; [`Error::Mismatch`] if the bytes do not match
    /// the descriptor.
    pub fn document(&self) -> Result<Vec<u8>, Error> {
        if self.size() > DOCUMENT_LIMIT {
            let what = format!("document {}", self.digest());
            return Err(Error::TooLarge { what, limit: DOCUMENT_LIMIT });
        }
        let mut bytes = Vec::new();
        self.open()?.read_to_end(&mut bytes).map_err(|error| self.error(error))?;
        Ok(bytes)
    }

    /// Turns an I/O error from reading this blob into an [`Error`].
    pub(crate) fn error(&self, error: io::Error) -> Error {
        match error.get_ref().and_then(|inner| inner.downcast_ref::<Difference>()) {
            Some(difference) => Error::Mismatch {
                what: format!("blob {}", self.digest()),
                expected: difference.expected.clone(),
                found: difference.found.clone(),
            },
            None => Error::Read { path: PathBuf::from(self.digest().to_string()), source: error },
        }
    }
}

/// Bytes do not match their descriptor.
#[derive(Debug, thiserror::Error)]
#[error("expected {expected}, got {found}")]
struct Difference {
    expected: String,
    found: String,
}

/// A reader that verifies size and digest against a descriptor.
///
/// The digest is compared when the last expected byte arrives and not at the end of the stream, so that a caller that
/// reads exactly the expected number of bytes gets verified bytes too.
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
        if buffer.is_empty() {
            return Ok(0);
        }
        let count = reader.read(buffer)?;
        let size = reader.size();
        let difference = match size.cmp(&self.size) {
            Ordering::Greater => {
                Difference { expected: format!("{} bytes", self.size), found: "more".to_owned() }
            }
            Ordering::Less if count > 0 => return Ok(count),
            Ordering::Less => {
                Difference { expected: format!("{} bytes", self.size), found: format!("{size} bytes") }
            }
            Ordering::Equal => {
                let digest = reader.digest();
                if digest == self.digest {
                    if count == 0 {
                        self.reader = None;
                    }
                    return Ok(count);
                }
                Difference { expected: self.digest.to_string(), found: digest.to_string() }
            }
        };
        self.reader = None;
        Err(io::Error::new(io::ErrorKind::InvalidData, difference))
    }
}

/// A reader of a file that others read too, each from its own position.
struct Shared {
    file: Arc<File>,
    offset: u64,
}

impl Read for Shared {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = sys::read_at(&self.file, buffer, self.offset)?;
        self.offset += count as u64;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn descriptor(bytes: &[u8]) -> Descriptor {
        Blob::from_bytes(MediaType::ImageConfig, bytes.to_vec()).descriptor().clone()
    }

    fn document(bytes: &[u8], expected: &Descriptor) -> Result<Vec<u8>, Error> {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("blob"), bytes).unwrap();
        Blob::from_file(expected.clone(), dir.path().to_owned(), "blob".to_owned()).document()
    }

    #[test]
    fn bytes_are_verified_while_they_are_read() {
        let expected = descriptor(b"{\"a\":1}");
        assert_eq!(document(b"{\"a\":1}", &expected).unwrap(), b"{\"a\":1}");
        for wrong in [&b"{\"a\":2}"[..], b"{\"a\"", b"", b"{\"a\":1}, and more"] {
            let error = document(wrong, &expected).unwrap_err();
            assert!(matches!(error, Error::Mismatch { .. }), "{error}");
        }
        let empty = descriptor(b"");
        assert_eq!(document(b"", &empty).unwrap(), b"");
    }

    #[test]
    fn too_many_bytes_are_an_error_before_the_end() {
        let mut read = Vec::new();
        let error = Checked::new(io::repeat(b'x'), &descriptor(b"short")).read_to_end(&mut read).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    }

    #[test]
    fn caller_that_does_not_read_past_the_last_byte_notices_a_wrong_digest() {
        let mut reader = Checked::new(&b"wrong"[..], &descriptor(b"right"));
        assert!(reader.read_exact(&mut [0; 5]).is_err());
    }

    #[test]
    fn other_digest_algorithms_are_rejected() {
        let digest: Digest = format!("sha512:{}", "a".repeat(128)).parse().unwrap();
        let error = document(b"x", &Descriptor::new(MediaType::ImageConfig, 1_u64, digest)).unwrap_err();
        assert!(
            error.to_string().ends_with("is not a valid SHA-256 digest: other algorithms are not supported")
        );
    }

    #[test]
    fn fifo_as_a_blob_does_not_block() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("blob");
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        let blob = Blob::from_file(descriptor(b"x"), dir.path().to_owned(), "blob".to_owned());
        assert!(matches!(blob.document(), Err(Error::NotRegular { .. })));
        let blob = Blob::from_member(descriptor(b"x"), path, 0);
        assert!(matches!(blob.document(), Err(Error::NotRegular { .. })));
    }
}
