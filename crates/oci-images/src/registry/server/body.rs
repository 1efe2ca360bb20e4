//! The body of a request, read with time limits.

use std::time::Duration;

use axum::body::{Body, BodyDataStream, Bytes};
use axum::http::StatusCode;
use futures::StreamExt;
use tokio::time::{Instant, timeout_at};

use super::limits::Limits;
use super::response::{Code, Failure};

/// A request's body.
pub(super) struct Incoming {
    chunks: BodyDataStream,
    timeout: Duration,
    started: Instant,
    bytes: u64,
}

impl Incoming {
    pub(super) fn new(body: Body, limits: &Limits) -> Self {
        let chunks = body.into_data_stream();
        Self { chunks, timeout: limits.body_timeout, started: Instant::now(), bytes: 0 }
    }

    /// Returns the next bytes; `None` at the end.
    ///
    /// # Errors
    ///
    /// The connection breaks, or the bytes arrive too slowly.
    pub(super) async fn next(&mut self) -> Result<Option<Bytes>, Failure> {
        let idle = Instant::now() + self.timeout;
        let earned = Duration::from_secs(self.bytes / Limits::MIN_BYTES_PER_SECOND);
        let slow = self.started + self.timeout + earned;
        match timeout_at(idle.min(slow), self.chunks.next()).await {
            Ok(None) => Ok(None),
            Ok(Some(Ok(chunk))) => {
                self.bytes += chunk.len() as u64;
                Ok(Some(chunk))
            }
            Ok(Some(Err(_))) => Err(Failure::bad(Code::BlobUploadInvalid, "the request body is incomplete")),
            Err(_) => {
                let message = "the request body arrives too slowly";
                Err(Failure::new(StatusCode::REQUEST_TIMEOUT, Code::BlobUploadInvalid, message))
            }
        }
    }

    /// Reads the whole body; `None` if it has more than `limit` bytes.
    pub(super) async fn read(mut self, limit: u64) -> Result<Option<Vec<u8>>, Failure> {
        let mut bytes = Vec::new();
        while let Some(chunk) = self.next().await? {
            if (bytes.len() + chunk.len()) as u64 > limit {
                return Ok(None);
            }
            bytes.extend_from_slice(&chunk);
        }
        Ok(Some(bytes))
    }
}
