//! Windows, where reading a stream or a device within a time needs unsafe code.

use std::fs::{File, Metadata};
use std::io;
use std::time::Duration;

/// Always fails.
pub(super) fn read_special(
    _file: File,
    _metadata: &Metadata,
    _limit: u64,
    _timeout: Duration,
) -> io::Result<Vec<u8>> {
    let reason = "streams and devices are not supported on Windows; use a regular file";
    Err(io::Error::new(io::ErrorKind::Unsupported, reason))
}
