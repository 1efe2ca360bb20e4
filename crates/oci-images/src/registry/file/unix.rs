//! Streams and devices of Linux and other Unix systems.

use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::io::{self, Read as _};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::within_limit;

/// What was read from streams, by device and inode. A stream can be read once, and a file is needed for each repository.
static STREAMS: Mutex<BTreeMap<(u64, u64), Vec<u8>>> = Mutex::new(BTreeMap::new());

/// Reads what is neither a regular file nor a directory.
pub(super) fn read_special(
    mut file: File,
    metadata: &Metadata,
    limit: u64,
    timeout: Duration,
) -> io::Result<Vec<u8>> {
    if !metadata.file_type().is_fifo() {
        return read_stream(&mut file, limit, timeout);
    }
    // Held while it is read, so that another thread does not get the rest.
    let mut streams = STREAMS.lock().unwrap_or_else(PoisonError::into_inner);
    let key = (metadata.dev(), metadata.ino());
    if let Some(bytes) = streams.get(&key) {
        return within_limit(bytes.clone(), limit);
    }
    let bytes = read_stream(&mut file, limit, timeout)?;
    streams.insert(key, bytes.clone());
    Ok(bytes)
}

/// Reads a stream or a device to its end.
fn read_stream(file: &mut File, limit: u64, timeout: Duration) -> io::Result<Vec<u8>> {
    let deadline = Instant::now() + timeout;
    let (mut bytes, mut part) = (Vec::new(), [0; 8 << 10]);
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let left = Timespec::try_from(left).map_err(io::Error::other)?;
        // A FIFO without a writer would look as if it had ended.
        if poll(&mut [PollFd::new(file, PollFlags::IN)], Some(&left))? == 0 {
            let reason = format!("the stream did not end within {} seconds", timeout.as_secs_f64());
            return Err(io::Error::new(io::ErrorKind::TimedOut, reason));
        }
        match file.read(&mut part) {
            Ok(0) => return Ok(bytes),
            Ok(count) => bytes.extend_from_slice(&part[..count]),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
            Err(error) => return Err(error),
        }
        bytes = within_limit(bytes, limit)?;
    }
}
