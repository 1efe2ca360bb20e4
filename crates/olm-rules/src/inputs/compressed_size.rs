//! The size of a bundle as OLM counts it.

use std::io::{self, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use rayon::prelude::*;

use olm_model::Bundle;
use olm_model::bundle::ANNOTATIONS_FILE;
use olm_model::file::{Content, File, MANIFESTS, METADATA};

/// Maximum size in bytes of the `ConfigMap` that OLM unpacks a bundle into.
pub(crate) const MAX_BUNDLE_SIZE: u64 = 1 << 20;

/// Size in bytes above which a bundle is close to the limit.
pub(crate) const LARGE_BUNDLE_SIZE: u64 = MAX_BUNDLE_SIZE / 100 * 85;

/// Up to this plain size, in bytes, the compressed size cannot reach a limit and is not computed.
const MIN_SIZE_TO_COMPRESS: u64 = 512 << 10;

/// From this plain size on, [`QUICK`] hardly ever rules out that a limit is reached.
const MAX_SIZE_TO_COMPRESS_QUICKLY: u64 = 4 << 20;

/// Up to this size, compressed with [`QUICK`], the size that OLM counts is not computed: it is smaller, and far from the limit.
const MIN_COMPRESSED: u64 = 768 << 10;

/// A quarter of the time of [`CLOSEST_TO_GO`], and 1.4 to 2 times its size over published bundles.
const QUICK: Compression = Compression::fast();

/// Half the time of [`CLOSEST_TO_GO`]. Over published bundles of more than 3 MB, from 0.3 % smaller to 3.2 % larger.
const ESTIMATE: Compression = Compression::new(6);

/// Of this compressor's levels the one that comes closest to Go's default: within half a percent over published bundles.
const CLOSEST_TO_GO: Compression = Compression::new(7);

/// Returns the size of all files in `manifests/` and `metadata/` in bytes, each compressed with gzip and encoded in base64,
/// as OLM adds them up when it unpacks a bundle; nothing if it is far below [`LARGE_BUNDLE_SIZE`]. It is off by up to half a
/// percent, and by up to 4 % where that does not matter to a comparison with [`LARGE_BUNDLE_SIZE`] and [`MAX_BUNDLE_SIZE`].
pub(crate) fn compressed_size(bundle: &Bundle) -> Option<u64> {
    let unpacked: Vec<_> = bundle.files.iter().filter(|file| is_unpacked(file)).collect();
    let plain = unpacked.iter().map(|file| file.size).sum::<u64>();
    let size = |level| unpacked.par_iter().map(|file| compressed(file, level)).sum::<u64>();
    if plain <= MIN_SIZE_TO_COMPRESS {
        None
    } else if plain <= MAX_SIZE_TO_COMPRESS_QUICKLY {
        (size(QUICK) > MIN_COMPRESSED).then(|| size(CLOSEST_TO_GO))
    } else {
        let estimate = size(ESTIMATE);
        Some(if is_decisive(estimate) { estimate } else { size(CLOSEST_TO_GO) })
    }
}

/// Returns whether an estimate tells on which side of [`LARGE_BUNDLE_SIZE`] the size is. Beyond [`MAX_BUNDLE_SIZE`], a message
/// states the size, so that no estimate suffices.
fn is_decisive(estimate: u64) -> bool {
    let (min, max) = (estimate / 100 * 96, estimate / 100 * 102);
    max <= LARGE_BUNDLE_SIZE || (min > LARGE_BUNDLE_SIZE && max <= MAX_BUNDLE_SIZE)
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

#[cfg(test)]
mod tests {
    use super::*;
    use olm_model::read;

    /// Returns the size of a bundle with `noise` bytes that cannot be compressed, and 5 MB that can.
    fn size_with_noise(noise_bytes: usize) -> u64 {
        let mut state: u64 = 1;
        let noise = std::iter::repeat_with(|| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            state.to_be_bytes()[0]
        });
        let noise = noise.take(noise_bytes).collect();
        let text = b"- text\n".repeat(1 << 18);
        let files = ["manifests/a", "manifests/b", "manifests/c"].map(|path| (path.to_owned(), text.clone()));
        let mut files = std::collections::BTreeMap::from(files);
        files.insert("manifests/noise".to_owned(), noise);
        compressed_size(&read::bundle::files("large", &files)).unwrap()
    }

    #[test]
    fn the_sizes_of_large_bundles_are_on_the_right_side_of_the_limits() {
        assert!(size_with_noise(600_000) < LARGE_BUNDLE_SIZE);
        assert!((LARGE_BUNDLE_SIZE + 1..MAX_BUNDLE_SIZE).contains(&size_with_noise(700_000)));
        assert!(size_with_noise(790_000) > MAX_BUNDLE_SIZE);
    }

    #[test]
    fn an_estimate_is_decisive_if_no_limit_is_near() {
        for (percent, expected) in [
            (0, true),
            (83, true),
            (84, false),
            (88, false),
            (89, true),
            (98, true),
            (99, false),
            (150, false),
        ] {
            assert_eq!(is_decisive(MAX_BUNDLE_SIZE / 100 * percent), expected, "{percent} %");
        }
    }
}
