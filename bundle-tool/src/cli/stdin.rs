//! Standard input.

use std::io::{self, Read as _};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context as _, Result, bail};

/// The maximum size of a catalog or an image on standard input, in bytes.
pub(crate) const MAX_CATALOG: u64 = 512 << 20;

/// Whether standard input has been read, or is being read.
static IS_READ: AtomicBool = AtomicBool::new(false);

/// Reads standard input to its end, at most `limit` bytes; `expected` says what it contains, with an article.
///
/// # Errors
/// It cannot be read, exceeds the limit, contains nothing, as behind a command that failed, or was read before.
pub(crate) fn read(limit: u64, expected: &str) -> Result<Vec<u8>> {
    if IS_READ.swap(true, Ordering::Relaxed) {
        bail!("standard input can be read only once: pass `-` for one input, and a file for the others");
    }
    let mut bytes = Vec::new();
    let mut input = io::stdin().lock().take(limit.saturating_add(1));
    input.read_to_end(&mut bytes).context("failed to read standard input")?;
    if bytes.len() as u64 > limit {
        bail!("standard input exceeds the limit of {limit} bytes");
    }
    if bytes.trim_ascii().is_empty() {
        bail!("standard input is empty: expected {expected}");
    }
    Ok(bytes)
}
