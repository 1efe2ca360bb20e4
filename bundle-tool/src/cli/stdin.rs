//! Standard input.

use std::io::{self, Read as _};

use anyhow::{Result, bail};

/// The maximum size of a catalog or an image on standard input, in bytes.
pub(crate) const MAX_CATALOG: u64 = 512 << 20;

/// Reads standard input to its end, at most `limit` bytes.
pub(crate) fn read(limit: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    io::stdin().lock().take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        bail!("standard input exceeds the limit of {limit} bytes");
    }
    Ok(bytes)
}
