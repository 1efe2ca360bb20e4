//! Bodies of responses: whole, in pieces, and compressed while they are sent.

use std::convert::Infallible;
use std::io::Write as _;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use futures::stream;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::Frame;

/// The body of a response.
pub(in crate::serve) type Body = UnsyncBoxBody<Bytes, Infallible>;

/// How much is compressed at once, so that other requests are answered in between.
const PIECE: usize = 64 << 10;

pub(super) fn full(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).boxed_unsync()
}

/// Returns a body of these pieces, one after the other, without copying them.
pub(super) fn pieces(list: Vec<Bytes>) -> Body {
    StreamBody::new(stream::iter(list.into_iter().map(|piece| Ok(Frame::data(piece))))).boxed_unsync()
}

/// Returns a body that is compressed while the client reads it.
pub(super) fn gzip(list: Vec<Bytes>) -> Body {
    let parts = list.into_iter().flat_map(|piece| {
        (0..piece.len()).step_by(PIECE).map(move |at| piece.slice(at..piece.len().min(at + PIECE)))
    });
    let encoder = GzEncoder::new(Vec::new(), Compression::fast());
    let compressed = stream::unfold((parts, Some(encoder)), |(mut parts, encoder)| async move {
        let mut encoder = encoder?;
        // Writing to memory cannot fail.
        for part in parts.by_ref() {
            let _ = encoder.write_all(&part);
            if !encoder.get_ref().is_empty() {
                let out = std::mem::take(encoder.get_mut());
                return Some((Ok(Frame::data(Bytes::from(out))), (parts, Some(encoder))));
            }
        }
        let out = encoder.finish().unwrap_or_default();
        Some((Ok(Frame::data(Bytes::from(out))), (parts, None)))
    });
    StreamBody::new(compressed).boxed_unsync()
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[tokio::test]
    async fn what_is_compressed_is_the_same() {
        let line: Bytes = (0..300_000).map(|number: u32| number.to_string()).collect::<String>().into();
        let list = vec![line.clone(), Bytes::from_static(b"x"), Bytes::new(), line];
        let compressed = gzip(list.clone()).collect().await.unwrap().to_bytes();
        let mut out = Vec::new();
        flate2::read::GzDecoder::new(compressed.as_ref()).read_to_end(&mut out).unwrap();
        assert_eq!(out, list.concat());
        assert!(compressed.len() < out.len());
    }
}
