//! The bytes of a blob on their way to a registry.

use std::io::{self, Read};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use futures::channel::mpsc;
use futures::{StreamExt, stream};

use super::progress::Progress;
use crate::layout::{self, Blob};

/// How much of a blob is in memory at a time.
const CHUNK: usize = 1 << 20;

/// A blob that is sent, from `offset` on.
#[derive(Debug, Clone)]
pub(crate) struct Upload {
    blob: Blob,
    offset: u64,
    length: u64,
    progress: Progress,
}

impl Upload {
    /// The bytes of `blob` from `offset` on.
    pub(crate) fn from(blob: Blob, offset: u64, progress: Progress) -> Self {
        let length = blob.size().saturating_sub(offset);
        Self { blob, offset, length, progress }
    }

    /// Returns the number of bytes that are sent.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// Returns the bytes in chunks, read on a thread that may block. `moved` counts them, `failed` is set if the blob
    /// cannot be read; the stream then ends with an error.
    pub(crate) fn stream(
        &self,
        moved: Arc<AtomicU64>,
        failed: Arc<Mutex<Option<layout::Error>>>,
    ) -> Result<impl futures::Stream<Item = io::Result<Bytes>> + Send + 'static, layout::Error> {
        let reader = self.blob.open()?;
        // Read and not skipped: the reader compares the digest of all bytes.
        let mut skip = self.offset;
        let (blob, length) = (self.blob.clone(), self.length);
        let sent = PartSent::new(self.progress.clone(), length);
        Ok(stream::unfold(Some((reader, sent)), move |state| {
            let (blob, moved, failed) = (blob.clone(), Arc::clone(&moved), Arc::clone(&failed));
            let to_skip = std::mem::take(&mut skip);
            async move {
                let (mut reader, mut sent) = state?;
                let left = length - sent.bytes;
                let read = tokio::task::spawn_blocking(move || {
                    let mut chunk = Vec::with_capacity(CHUNK);
                    if let Err(error) = io::copy(&mut (&mut reader).take(to_skip), &mut io::sink()) {
                        return (reader, Err(error));
                    }
                    // One byte more at the end: the reader compares digest and size when it is drained.
                    let limit = (CHUNK as u64).min(left.saturating_add(1));
                    let result = (&mut reader).take(limit).read_to_end(&mut chunk);
                    (reader, result.map(|_| chunk))
                });
                match read.await {
                    Ok((_, Ok(chunk))) if chunk.is_empty() => None,
                    Ok((reader, Ok(chunk))) => {
                        moved.fetch_add(chunk.len() as u64, Ordering::Relaxed);
                        sent.add(chunk.len() as u64);
                        Some((Ok(Bytes::from(chunk)), Some((reader, sent))))
                    }
                    Ok((_, Err(error))) => {
                        let text = error.to_string();
                        *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(blob.error(error));
                        Some((Err(io::Error::other(text)), None))
                    }
                    Err(error) => Some((Err(io::Error::other(error)), None)),
                }
            }
        }))
    }
}

/// The bytes of a blob that is fetched while it is sent. They can be sent once.
#[derive(Debug)]
pub(crate) struct PassedOn {
    chunks: Mutex<Option<mpsc::Receiver<Bytes>>>,
    length: u64,
}

impl PassedOn {
    pub(crate) fn new(chunks: mpsc::Receiver<Bytes>, length: u64) -> Self {
        Self { chunks: Mutex::new(Some(chunks)), length }
    }

    /// Returns the number of bytes that are sent.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// Returns the bytes, which `moved` counts; `None` if they were sent already. The stream is too short if they cannot be fetched.
    pub(crate) fn stream(
        &self,
        moved: Arc<AtomicU64>,
    ) -> Option<impl futures::Stream<Item = io::Result<Bytes>> + Send + 'static> {
        let chunks = self.chunks.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        Some(chunks.map(move |chunk| {
            moved.fetch_add(chunk.len() as u64, Ordering::Relaxed);
            Ok(chunk)
        }))
    }
}

/// Counts what was sent, and takes it back from the progress bar if that was not all.
pub(crate) struct PartSent {
    progress: Progress,
    bytes: u64,
    length: u64,
}

impl PartSent {
    pub(crate) fn new(progress: Progress, length: u64) -> Self {
        Self { progress, bytes: 0, length }
    }

    pub(crate) fn add(&mut self, bytes: u64) {
        self.bytes += bytes;
        self.progress.advance(bytes);
    }
}

impl Drop for PartSent {
    fn drop(&mut self) {
        if self.bytes < self.length {
            self.progress.take_back(self.bytes);
        }
    }
}
