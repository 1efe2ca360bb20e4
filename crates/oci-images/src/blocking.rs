//! Work that would keep other futures of its task from being polled: disks, hashes, decompression.

use std::future::pending;
use std::panic::resume_unwind;

/// Runs `work` on a thread that may block. It is not interrupted if the future is dropped.
pub(crate) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) if error.is_panic() => resume_unwind(error.into_panic()),
        // The runtime ends, and this future with it.
        Err(_) => pending().await,
    }
}
