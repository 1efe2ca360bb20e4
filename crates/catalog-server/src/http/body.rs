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
use tokio::sync::OwnedSemaphorePermit;

/// The body of a response.
pub(crate) type Body = UnsyncBoxBody<Bytes, Infallible>;

/// How much is compressed at once, so that other requests are answered in between.
const PIECE: usize = 64 << 10;

pub(crate) fn full(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).boxed_unsync()
}

/// Returns a body of these pieces, one after the other, without copying them.
///
/// A piece is taken when the client has read those before it.
pub(crate) fn pieces(list: impl Iterator<Item = Bytes> + Send + 'static) -> Body {
    StreamBody::new(stream::iter(list.map(|piece| Ok(Frame::data(piece))))).boxed_unsync()
}

/// Returns a body that is compressed while the client reads it. `permit` is kept until then.
pub(crate) fn gzip(list: impl Iterator<Item = Bytes> + Send + 'static, permit: OwnedSemaphorePermit) -> Body {
    let parts = list.flat_map(|piece| {
        (0..piece.len()).step_by(PIECE).map(move |at| piece.slice(at..piece.len().min(at + PIECE)))
    });
    let encoder = GzEncoder::new(Vec::new(), Compression::fast());
    let compressed = stream::unfold((parts, Some((encoder, permit))), |(mut parts, encoder)| async move {
        let (mut encoder, permit) = encoder?;
        // Writing to memory cannot fail.
        for part in parts.by_ref() {
            let _ = encoder.write_all(&part);
            if !encoder.get_ref().is_empty() {
                let out = std::mem::take(encoder.get_mut());
                return Some((Ok(Frame::data(Bytes::from(out))), (parts, Some((encoder, permit)))));
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
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;
    use std::sync::atomic::Ordering::Relaxed;

    use tokio::sync::Semaphore;

    use super::*;

    #[tokio::test]
    async fn pieces_are_taken_when_they_are_sent() {
        let taken = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&taken);
        let pieces_taken = (0..1000).map(move |_| {
            counter.fetch_add(1, Relaxed);
            Bytes::from_static(b"x")
        });
        let mut body = pieces(pieces_taken);
        assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), "x");
        assert_eq!(taken.load(Relaxed), 1);
    }

    #[tokio::test]
    async fn what_is_compressed_is_the_same() {
        let line: Bytes = (0..300_000).map(|number: u32| number.to_string()).collect::<String>().into();
        let list = vec![line.clone(), Bytes::from_static(b"x"), Bytes::new(), line];
        let permit = Arc::new(Semaphore::new(1)).acquire_owned().await.unwrap();
        let compressed = gzip(list.clone().into_iter(), permit).collect().await.unwrap().to_bytes();
        let mut out = Vec::new();
        flate2::read::GzDecoder::new(compressed.as_ref()).read_to_end(&mut out).unwrap();
        assert_eq!(out, list.concat());
        assert!(compressed.len() < out.len());
    }
}
