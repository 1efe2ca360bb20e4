//! The body of a request, read in chunks or as a whole.

use bytes::Bytes;
use http::StatusCode;
use http_body_util::BodyExt as _;
use limited_http::{RequestBody, RequestBodyError};

use super::response::{Code, Failure};

/// Reads a request's body.
pub(crate) struct RequestReader {
    body: RequestBody,
}

impl RequestReader {
    pub(crate) fn new(body: RequestBody) -> Self {
        Self { body }
    }

    /// Returns the next bytes; `None` at the end.
    ///
    /// # Errors
    ///
    /// The connection breaks, or the bytes arrive too slowly.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, Failure> {
        while let Some(frame) = self.body.frame().await {
            // Trailers have no meaning here.
            if let Ok(data) = frame?.into_data() {
                return Ok(Some(data));
            }
        }
        Ok(None)
    }

    /// Reads the whole body; `None` if it has more than `limit` bytes.
    pub(crate) async fn read(mut self, limit: u64) -> Result<Option<Vec<u8>>, Failure> {
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

impl From<RequestBodyError> for Failure {
    fn from(error: RequestBodyError) -> Self {
        let status = match error {
            RequestBodyError::TooSlow => StatusCode::REQUEST_TIMEOUT,
            _ => StatusCode::BAD_REQUEST,
        };
        Self::new(status, Code::BlobUploadInvalid, error.to_string())
    }
}
