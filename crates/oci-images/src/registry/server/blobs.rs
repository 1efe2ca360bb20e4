//! Reading blobs, whole or in ranges, and deleting them.

use std::io::{self, SeekFrom};
use std::sync::Arc;

use bytes::Bytes;
use futures::stream;
use http::header::{ACCEPT_RANGES, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE};
use http::{HeaderValue, StatusCode};
use http_body_util::{BodyExt as _, StreamBody};
use hyper::body::Frame;
use oci_spec::image::Digest;
use tokio::fs::File;
use tokio::io::{AsyncReadExt, AsyncSeekExt};

use super::proxy::{Growing, Proxy};
use super::response::{Code, Failure, Response, digest_header, empty, set};
use super::store::Store;

/// The size of the chunks in which a blob is sent, in bytes.
const CHUNK: usize = 64 << 10;

pub(crate) async fn get(
    store: &Store,
    name: &str,
    digest: &Digest,
    head: bool,
    range: Option<HeaderValue>,
) -> Result<Response, Failure> {
    if !store.has_blob(name, digest) {
        return Err(Failure::unknown_blob(digest));
    }
    let file = File::open(store.content(digest)).await?;
    let size = file.metadata().await?.len();
    let mut response = Part::new(digest, size, range.as_ref())?;
    if !head {
        response.send(file, None).await?;
    }
    Ok(response.response)
}

/// As [`get`], for a registry that fetches what it lacks.
pub(crate) async fn get_through(
    proxy: &Arc<Proxy>,
    store: &Arc<Store>,
    name: &str,
    digest: &Digest,
    head: bool,
    range: Option<HeaderValue>,
) -> Result<Response, Failure> {
    if store.has_blob(name, digest) {
        return get(store, name, digest, head, range).await;
    }
    if head {
        return Ok(Part::new(digest, proxy.blob_size(name, digest).await?, range.as_ref())?.response);
    }
    let Some(mut growing) = proxy.blob(store, name, digest).await? else {
        return get(store, name, digest, head, range).await;
    };
    let mut response = Part::new(digest, growing.size, range.as_ref())?;
    // The last byte is sent when the digest is verified; what has no last byte waits for that.
    let has_last_byte = growing.size > 0 && response.end == growing.size;
    let file = if has_last_byte { growing.open().await? } else { growing.finished().await.map(|()| None)? };
    match file {
        Some(file) => response.send(file, Some(growing)).await?,
        None => response.send(File::open(store.content(digest)).await?, None).await?,
    }
    Ok(response.response)
}

/// A response with a blob or a part of it.
struct Part {
    response: Response,
    start: u64,
    end: u64,
}

impl Part {
    /// Returns the response for the part of a blob that a request asks for, without a body.
    fn new(digest: &Digest, size: u64, range: Option<&HeaderValue>) -> Result<Self, Failure> {
        let range = range.and_then(|range| range.to_str().ok());
        let (start, end, status) = match range.map(|range| parse_range(range, size)) {
            None | Some(Range::Ignored) => (0, size, StatusCode::OK),
            Some(Range::Part { start, end }) => (start, end + 1, StatusCode::PARTIAL_CONTENT),
            Some(Range::Outside) => {
                let message = format!("blob {digest} has {size} bytes");
                return Err(Failure::new(StatusCode::RANGE_NOT_SATISFIABLE, Code::SizeInvalid, message)
                    .with_header(CONTENT_RANGE, format!("bytes */{size}")));
            }
        };
        let mut response = empty(status);
        if status == StatusCode::PARTIAL_CONTENT {
            set(&mut response, CONTENT_RANGE, &format!("bytes {start}-{}/{size}", end - 1));
        }
        set(&mut response, CONTENT_LENGTH, &(end - start).to_string());
        set(&mut response, CONTENT_TYPE, "application/octet-stream");
        set(&mut response, ACCEPT_RANGES, "bytes");
        set(&mut response, digest_header(), digest.as_ref());
        Ok(Self { response, start, end })
    }

    /// Adds the part of `file` as the body, as far as it is there.
    async fn send(&mut self, mut file: File, growing: Option<Growing>) -> Result<(), Failure> {
        file.seek(SeekFrom::Start(self.start)).await?;
        let chunks = Chunks { file, growing, position: self.start, end: self.end };
        *self.response.body_mut() = StreamBody::new(chunks.stream()).boxed_unsync();
        Ok(())
    }
}

/// The bytes of a file in chunks.
struct Chunks {
    file: File,
    /// The file is being written.
    growing: Option<Growing>,
    position: u64,
    end: u64,
}

impl Chunks {
    fn stream(self) -> impl futures::Stream<Item = io::Result<Frame<Bytes>>> + Send + 'static {
        stream::try_unfold(self, |mut chunks| async move {
            let chunk = chunks.next().await?;
            Ok((!chunk.is_empty()).then_some((Frame::data(chunk), chunks)))
        })
    }

    /// Returns the next bytes, or none at the end.
    async fn next(&mut self) -> io::Result<Bytes> {
        while self.position < self.end {
            let available = match &mut self.growing {
                Some(growing) => growing.available(self.position).await?.min(self.end),
                None => self.end,
            };
            let mut chunk = Vec::with_capacity(CHUNK);
            let count = (&mut self.file).take(available - self.position).read_buf(&mut chunk).await?;
            let Some(growing) = &mut self.growing else {
                self.position += count as u64;
                return Ok(Bytes::from(chunk));
            };
            if count > 0 && growing.deliver() {
                self.position += count as u64;
                return Ok(Bytes::from(chunk));
            }
            // The download began again: the file is shorter for a moment, or what was read may be of both attempts.
            self.file.seek(SeekFrom::Start(self.position)).await?;
            tokio::task::yield_now().await;
        }
        Ok(Bytes::new())
    }
}

pub(crate) fn delete(store: &Store, name: &str, digest: &Digest) -> Result<Response, Failure> {
    if store.unlink_blob(name, digest)? {
        Ok(empty(StatusCode::ACCEPTED))
    } else {
        Err(Failure::unknown_blob(digest))
    }
}

/// The part of a blob that a Range header names.
#[derive(Debug, PartialEq, Eq)]
enum Range {
    /// Several ranges, or an unknown form: the response is the whole blob (RFC 9110, 14.2).
    Ignored,
    Part {
        start: u64,
        end: u64,
    },
    Outside,
}

fn parse_range(header: &str, size: u64) -> Range {
    let Some((first, last)) = header.strip_prefix("bytes=").and_then(|range| range.split_once('-')) else {
        return Range::Ignored;
    };
    match (first.parse::<u64>(), last.parse::<u64>()) {
        (Ok(start), _) if start >= size => Range::Outside,
        (Ok(start), Ok(end)) if end >= start => Range::Part { start, end: end.min(size - 1) },
        (Ok(start), Err(_)) if last.is_empty() => Range::Part { start, end: size - 1 },
        (Err(_), Ok(0)) if first.is_empty() => Range::Outside,
        (Err(_), Ok(count)) if first.is_empty() && size > 0 => {
            Range::Part { start: size.saturating_sub(count), end: size - 1 }
        }
        _ => Range::Ignored,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn range_headers() {
        let part = |start, end| Range::Part { start, end };
        for (header, expected) in [
            ("bytes=0-3", part(0, 3)),
            ("bytes=4-", part(4, 9)),
            ("bytes=-4", part(6, 9)),
            ("bytes=-40", part(0, 9)),
            ("bytes=8-40", part(8, 9)),
            ("bytes=10-", Range::Outside),
            ("bytes=-0", Range::Outside),
            ("bytes=3-1", Range::Ignored),
            ("bytes=0-1,3-4", Range::Ignored),
            ("lines=0-1", Range::Ignored),
        ] {
            assert_eq!(parse_range(header, 10), expected, "{header}");
        }
        assert_eq!(parse_range("bytes=-1", 0), Range::Ignored);
    }
}
