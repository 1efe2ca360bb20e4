//! Reading blobs, whole or in ranges, and deleting them.

use std::io::SeekFrom;

use axum::body::{Body, Bytes};
use axum::http::header::{ACCEPT_RANGES, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use futures::stream;
use oci_spec::image::Digest;
use tokio::io::{AsyncReadExt, AsyncSeekExt};

use super::response::{Code, Failure, digest_header, empty, set};
use super::store::Store;

pub(super) async fn get(
    store: &Store,
    name: &str,
    digest: &Digest,
    head: bool,
    range: Option<HeaderValue>,
) -> Result<Response, Failure> {
    if !store.has_blob(name, digest) {
        return Err(unknown(digest));
    }
    let mut file = tokio::fs::File::open(store.content(digest)).await?;
    let size = file.metadata().await?.len();
    let range = range.as_ref().and_then(|range| range.to_str().ok());
    let (start, length, status) = match range.map(|range| parse_range(range, size)) {
        None | Some(Range::Ignored) => (0, size, StatusCode::OK),
        Some(Range::Part { start, end }) => (start, end - start + 1, StatusCode::PARTIAL_CONTENT),
        Some(Range::Outside) => {
            let message = format!("blob {digest} has {size} bytes");
            return Err(Failure::new(StatusCode::RANGE_NOT_SATISFIABLE, Code::SizeInvalid, message)
                .with_header(CONTENT_RANGE, format!("bytes */{size}")));
        }
    };
    let body = if head {
        Body::empty()
    } else {
        file.seek(SeekFrom::Start(start)).await?;
        Body::from_stream(chunks(file.take(length)))
    };
    let mut response = Response::new(body);
    *response.status_mut() = status;
    if status == StatusCode::PARTIAL_CONTENT {
        set(&mut response, CONTENT_RANGE, &format!("bytes {start}-{}/{size}", start + length - 1));
    }
    set(&mut response, CONTENT_LENGTH, &length.to_string());
    set(&mut response, CONTENT_TYPE, "application/octet-stream");
    set(&mut response, ACCEPT_RANGES, "bytes");
    set(&mut response, digest_header(), digest.as_ref());
    Ok(response)
}

pub(super) fn delete(store: &Store, name: &str, digest: &Digest) -> Result<Response, Failure> {
    if store.unlink_blob(name, digest)? { Ok(empty(StatusCode::ACCEPTED)) } else { Err(unknown(digest)) }
}

fn unknown(digest: &Digest) -> Failure {
    Failure::not_found(Code::BlobUnknown, format!("blob {digest} is not in this repository"))
}

fn chunks(
    reader: tokio::io::Take<tokio::fs::File>,
) -> impl futures::Stream<Item = std::io::Result<Bytes>> + Send + 'static {
    stream::try_unfold(reader, |mut reader| async move {
        let mut chunk = Vec::with_capacity(64 << 10);
        let count = reader.read_buf(&mut chunk).await?;
        Ok((count > 0).then(|| (Bytes::from(chunk), reader)))
    })
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
