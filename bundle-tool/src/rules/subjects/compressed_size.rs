//! The size of a bundle as OLM counts it.

use std::io::{self, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use rayon::prelude::*;

use crate::model::Bundle;
use crate::model::bundle::ANNOTATIONS_FILE;
use crate::model::file::{Content, File, MANIFESTS, METADATA};

/// Up to this plain size, in bytes, the compressed size cannot reach a limit and is not computed.
const MIN_SIZE_TO_COMPRESS: u64 = 512 << 10;

/// Up to this size, compressed quickly, the size that OLM counts is not computed: it is smaller, and far from the limit.
const MIN_COMPRESSED: u64 = 768 << 10;

/// Of this compressor's levels the one that comes nearest to Go's default: within half a percent over published bundles.
const LEVEL: Compression = Compression::new(7);

/// Returns the size of all files in `manifests/` and `metadata/` in bytes, each compressed with gzip and encoded in base64,
/// as OLM adds them up when it unpacks a bundle, if it may be more than three quarters of OLM's limit.
pub(super) fn compressed_size(bundle: &Bundle) -> Option<u64> {
    let unpacked: Vec<_> = bundle.files.iter().filter(|file| is_unpacked(file)).collect();
    if unpacked.iter().map(|file| file.size).sum::<u64>() <= MIN_SIZE_TO_COMPRESS {
        return None;
    }
    let size = |level| unpacked.par_iter().map(|file| compressed(file, level)).sum::<u64>();
    (size(Compression::fast()) > MIN_COMPRESSED).then(|| size(LEVEL))
}

fn is_unpacked(file: &File) -> bool {
    file.path != ANNOTATIONS_FILE && (file.path.starts_with(MANIFESTS) || file.path.starts_with(METADATA))
}

/// Returns the size of a file in OLM's `ConfigMap`, in bytes.
fn compressed(file: &File, level: Compression) -> u64 {
    if file.bytes.is_empty() && matches!(file.content, Content::Unreadable(_)) {
        // As large as it is at least, so that a bundle that is too large is reported as such.
        return file.size;
    }
    let mut gzip = GzEncoder::new(Counter(0), level);
    let counted = gzip.write_all(&file.bytes).and_then(|()| gzip.finish());
    // Writing into a counter cannot fail.
    counted.map_or(0, |Counter(size)| size.div_ceil(3) * 4)
}

struct Counter(u64);

impl Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
