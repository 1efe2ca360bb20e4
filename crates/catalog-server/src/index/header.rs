//! The header of an index.

use sha2::{Digest as _, Sha256};

use super::error::{IndexError, VERSION};

/// The first bytes of an index.
const MAGIC: [u8; 16] = *b"bundle-tool/idx\n";

/// The length of the header in bytes.
pub(crate) const HEADER: usize = 128;

/// The maximum size of an index in bytes.
pub(crate) const MAX_SIZE: u64 = 4 << 30;

/// The maximum size of the tables in bytes.
pub(crate) const MAX_TABLES: u64 = 1 << 30;

/// A SHA-256 digest.
pub type Digest = [u8; 32];

/// What the header says.
pub(crate) struct Header {
    pub(crate) size: u64,
    pub(crate) catalog: Digest,
    pub(crate) content: Digest,
    pub(crate) tables_offset: u64,
    pub(crate) tables_length: u64,
}

impl Header {
    pub(crate) fn to_bytes(&self) -> [u8; HEADER] {
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

    pub(crate) fn parse(bytes: &[u8; HEADER]) -> Result<Self, IndexError> {
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
pub(crate) fn content_digest(header: &Header) -> Sha256 {
    let mut hash = Sha256::new();
    hash.update(Header { content: Digest::default(), ..*header }.to_bytes());
    hash
}
