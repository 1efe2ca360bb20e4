//! An index that is read.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use flate2::{Decompress, FlushDecompress};
use sha2::Digest as _;

use super::error::IndexError;
use super::header::{Digest, HEADER, Header, content_digest};
use super::tables::{MAX_BLOB, Table, Tables};
use super::write::Made;
use olm_model::disk;

/// Where the blobs of an index are.
#[derive(Debug)]
enum Storage {
    File(File),
    /// By their numbers.
    Memory(Vec<Vec<u8>>),
}

/// An open index: a file whose digest was checked, or in memory.
#[derive(Debug)]
pub struct Index {
    /// The digest of the catalog that a file belongs to.
    catalog: Option<Digest>,
    storage: Storage,
    tables: Tables,
}

impl Index {
    /// Opens the index at `path` and checks that it is whole and belongs to the catalog with this digest.
    ///
    /// # Errors
    /// The file cannot be read, is not an index, is damaged, or belongs to another catalog.
    pub fn open(path: &Path, catalog: &Digest) -> Result<Self, IndexError> {
        let (file, size) = disk::file::open(path)?;
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
        let length = usize::try_from(header.tables_length).map_err(|_| IndexError::Damaged("tables"))?;
        let tables = Tables::new(read_at(&file, header.tables_offset, length)?)?;
        Ok(Self { catalog: Some(*catalog), storage: Storage::File(file), tables })
    }

    /// Returns the index that was made, which stays in memory.
    pub(crate) fn in_memory(made: Made) -> Result<Self, IndexError> {
        let tables = Tables::new(made.tables)?;
        Ok(Self { catalog: None, storage: Storage::Memory(made.blobs), tables })
    }

    /// Returns the digest of the catalog that the index was opened for; nothing if it is in memory.
    pub(crate) fn catalog(&self) -> Option<&Digest> {
        self.catalog.as_ref()
    }

    /// Returns the tables.
    pub(crate) fn tables(&self) -> &Tables {
        &self.tables
    }

    /// Reads a blob.
    pub(crate) fn blob(&self, number: u32) -> Result<Vec<u8>, IndexError> {
        let row = self.tables.row(Table::Blobs, number)?;
        let offset = u64::from(row.word(0)) | u64::from(row.word(1)) << 32;
        let (stored, raw) = (row.word(2), row.word(3));
        if raw > MAX_BLOB || stored > raw {
            return Err(IndexError::Damaged("blob"));
        }
        let length = |number: u32| usize::try_from(number).map_err(|_| IndexError::Damaged("blob"));
        let bytes = match &self.storage {
            Storage::File(file) => Cow::Owned(read_at(file, offset, length(stored)?)?),
            Storage::Memory(blobs) => {
                Cow::Borrowed(&**blobs.get(length(number)?).ok_or(IndexError::Damaged("blob"))?)
            }
        };
        if stored == raw {
            return Ok(bytes.into_owned());
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

fn read_at(file: &File, offset: u64, length: usize) -> Result<Vec<u8>, IndexError> {
    let mut bytes = vec![0; length];
    read_exact_at(file, &mut bytes, offset)?;
    Ok(bytes)
}

#[cfg(unix)]
fn read_exact_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, offset)
}

#[cfg(windows)]
fn read_exact_at(file: &File, mut bytes: &mut [u8], mut offset: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, bytes, offset)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            length => {
                bytes = &mut bytes[length..];
                offset += length as u64;
            }
        }
    }
    Ok(())
}
