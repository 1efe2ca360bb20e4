//! The index of a catalog: one file from which the catalog is served, read in place by position.
//!
//! `docs/index-format.md` describes the format. The file names the digest of the catalog that it was made of and its own
//! digest; [`Index::open`] checks both before anything is served from it. Of its content only the tables with the
//! upgrade graph stay in memory; the bundles are read when they are asked for.

mod tables;
mod write;

use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use flate2::Decompress;
use flate2::FlushDecompress;
use sha2::{Digest as _, Sha256};

pub(super) use tables::{Row, Table, Tables};
pub(super) use write::{Prepared, prepare, push_field, write};

/// The first bytes of an index.
const MAGIC: [u8; 16] = *b"bundle-tool/idx\n";

/// The version of the format that this program reads and writes.
pub const VERSION: u32 = 1;

/// The length of the header in bytes.
const HEADER: usize = 128;

/// The maximum size of an index in bytes.
const MAX_SIZE: u64 = 4 << 30;

/// The maximum size of the tables in bytes.
const MAX_TABLES: u64 = 1 << 30;

/// The maximum size of one blob in bytes: that of a document of a catalog, with room for another encoding.
const MAX_BLOB: u32 = 256 << 20;

/// A SHA-256 digest.
pub type Digest = [u8; 32];

/// Why an index cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IndexError {
    /// The file cannot be opened or read.
    #[error("failed to read the index: {0}")]
    Read(#[from] io::Error),
    /// The file is not an index.
    #[error("not an index of bundle-tool")]
    Foreign,
    /// The file is an index in another version of the format.
    #[error("the index has format version {0}, expected {VERSION}")]
    Version(u32),
    /// The file is not as it was written.
    #[error("the index is damaged: {0}")]
    Damaged(&'static str),
    /// The index was made of another catalog, or of another state of it.
    #[error("the index belongs to another catalog or to an earlier state of this one")]
    Stale,
    /// The catalog has more than an index can hold.
    #[error("the catalog exceeds the limit of {limit} {unit} of an index")]
    TooLarge {
        /// The limit.
        limit: u64,
        /// What is counted.
        unit: &'static str,
    },
    /// The catalog was not validated before.
    #[error("{0}")]
    Unlinked(String),
}

/// Where the bytes of an index are.
#[derive(Debug)]
enum Storage {
    File(File),
    Memory(Vec<u8>),
}

impl Storage {
    fn read_at(&self, offset: u64, length: usize) -> Result<Vec<u8>, IndexError> {
        match self {
            Self::File(file) => {
                let mut bytes = vec![0; length];
                file.read_exact_at(&mut bytes, offset)?;
                Ok(bytes)
            }
            Self::Memory(bytes) => {
                let start = usize::try_from(offset).map_err(|_| IndexError::Damaged("position"))?;
                let found = start.checked_add(length).and_then(|end| bytes.get(start..end));
                Ok(found.ok_or(IndexError::Damaged("position"))?.to_vec())
            }
        }
    }
}

/// An open index whose digest was checked.
#[derive(Debug)]
pub struct Index {
    storage: Storage,
    tables: Tables,
}

/// What the header says.
struct Header {
    size: u64,
    catalog: Digest,
    content: Digest,
    tables_offset: u64,
    tables_length: u64,
}

impl Header {
    fn to_bytes(&self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        bytes[..16].copy_from_slice(&MAGIC);
        bytes[16..20].copy_from_slice(&VERSION.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.size.to_le_bytes());
        bytes[32..64].copy_from_slice(&self.catalog);
        bytes[64..96].copy_from_slice(&self.content);
        bytes[96..104].copy_from_slice(&self.tables_offset.to_le_bytes());
        bytes[104..112].copy_from_slice(&self.tables_length.to_le_bytes());
        bytes
    }

    fn parse(bytes: &[u8; HEADER]) -> Result<Self, IndexError> {
        if bytes[..16] != MAGIC {
            return Err(IndexError::Foreign);
        }
        let u32_at = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let u64_at = |at: usize| u64::from(u32_at(at)) | u64::from(u32_at(at + 4)) << 32;
        let digest_at = |at: usize| {
            let mut digest = Digest::default();
            digest.copy_from_slice(&bytes[at..at + 32]);
            digest
        };
        match u32_at(16) {
            VERSION => {}
            other => return Err(IndexError::Version(other)),
        }
        if u32_at(20) != 0 || bytes[112..].iter().any(|byte| *byte != 0) {
            return Err(IndexError::Damaged("header"));
        }
        let header = Self {
            size: u64_at(24),
            catalog: digest_at(32),
            content: digest_at(64),
            tables_offset: u64_at(96),
            tables_length: u64_at(104),
        };
        let end = header.tables_offset.checked_add(header.tables_length);
        let is_plausible = header.size <= MAX_SIZE
            && header.tables_offset >= HEADER as u64
            && header.tables_length <= MAX_TABLES
            && end.is_some_and(|end| end == header.size);
        if is_plausible { Ok(header) } else { Err(IndexError::Damaged("header")) }
    }
}

/// The digest of what the header says beside the content's digest, and of all that follows the header.
fn content_digest(header: &Header) -> Sha256 {
    let mut hash = Sha256::new();
    hash.update(&Header { content: Digest::default(), ..*header }.to_bytes());
    hash
}

impl Index {
    /// Opens the index at `path` and checks that it is whole and belongs to the catalog with this digest.
    ///
    /// # Errors
    /// The file cannot be read, is not an index, is damaged, or belongs to another catalog.
    pub fn open(path: &Path, catalog: &Digest) -> Result<Self, IndexError> {
        let file = File::open(path)?;
        let size = file.metadata()?;
        if !size.is_file() {
            return Err(IndexError::Foreign);
        }
        let mut bytes = [0; HEADER];
        match (&file).read_exact(&mut bytes) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Err(IndexError::Foreign),
            result => result?,
        }
        let header = Header::parse(&bytes)?;
        if size.len() != header.size {
            return Err(IndexError::Damaged("size"));
        }
        if header.catalog != *catalog {
            return Err(IndexError::Stale);
        }
        let mut hash = content_digest(&header);
        let mut buffer = vec![0; 256 << 10];
        loop {
            match (&file).read(&mut buffer)? {
                0 => break,
                length => hash.update(&buffer[..length]),
            }
        }
        if hash.finalize()[..] != header.content {
            return Err(IndexError::Damaged("digest"));
        }
        Self::of(Storage::File(file), &header)
    }

    /// Returns the index in `bytes`, which [`write`] returned.
    ///
    /// # Errors
    /// The bytes are not an index.
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self, IndexError> {
        let header = bytes.first_chunk().ok_or(IndexError::Foreign)?;
        let header = Header::parse(header)?;
        Self::of(Storage::Memory(bytes), &header)
    }

    fn of(storage: Storage, header: &Header) -> Result<Self, IndexError> {
        let length = usize::try_from(header.tables_length).map_err(|_| IndexError::Damaged("tables"))?;
        let tables = Tables::new(storage.read_at(header.tables_offset, length)?)?;
        Ok(Self { storage, tables })
    }

    /// Returns the tables.
    pub(super) fn tables(&self) -> &Tables {
        &self.tables
    }

    /// Reads a blob.
    pub(super) fn blob(&self, number: u32) -> Result<Vec<u8>, IndexError> {
        let row = self.tables.row(Table::Blobs, number)?;
        let offset = u64::from(row.word(0)) | u64::from(row.word(1)) << 32;
        let (stored, raw) = (row.word(2), row.word(3));
        if raw > MAX_BLOB || stored > raw {
            return Err(IndexError::Damaged("blob"));
        }
        let length = |number: u32| usize::try_from(number).map_err(|_| IndexError::Damaged("blob"));
        let bytes = self.storage.read_at(offset, length(stored)?)?;
        if stored == raw {
            return Ok(bytes);
        }
        let mut out = Vec::with_capacity(length(raw)?);
        let mut inflate = Decompress::new(false);
        let result = inflate.decompress_vec(&bytes, &mut out, FlushDecompress::Finish);
        match result {
            Ok(flate2::Status::StreamEnd) if out.len() == length(raw)? => Ok(out),
            _ => Err(IndexError::Damaged("blob")),
        }
    }
}
