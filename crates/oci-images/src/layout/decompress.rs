//! The bytes of a layer: decompressed, counted, and verified to the end.

use std::cell::Cell;
use std::io::{self, BufRead as _, BufReader, Read};
use std::rc::Rc;

use flate2::read::MultiGzDecoder;

use super::blob::Blob;
use super::error::Error;
use crate::zstd::Zstd;

/// Opens a layer and returns its tar archive.
///
/// The format is recognized by its first bytes and not by the media type, which is often wrong.
///
/// # Errors
///
/// [`Error::Malformed`] for formats that are not supported, errors of [`Blob::open`] otherwise.
pub(crate) fn decompressed(layer: &Blob, what: &str) -> Result<Box<dyn Read>, Error> {
    let mut reader = BufReader::new(layer.open()?);
    let start = reader.fill_buf().map_err(|error| layer.error(error))?;
    match start {
        [0x1f, 0x8b, ..] => Ok(Box::new(MultiGzDecoder::new(reader))),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => {
            Zstd::new(reader).map(|reader| Box::new(reader) as _).map_err(|error| match layer.error(error) {
                Error::Read { source, .. } => Error::malformed(what, "layer", &source),
                error => error,
            })
        }
        _ => Ok(Box::new(reader)),
    }
}

/// A budget of bytes was exceeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Exceeded {
    /// The part of an entry that `tar` keeps in memory: long names and attributes.
    #[error("the header of an entry is too large")]
    Header,
    /// All layers together.
    #[error("the layers are too large")]
    Total,
}

impl Exceeded {
    /// Returns the budget that `error` is about.
    pub(crate) fn find_in(error: &io::Error) -> Option<Self> {
        error.get_ref()?.downcast_ref().copied()
    }
}

/// The budgets of a [`Metered`] reader, shared with its owner.
#[derive(Debug, Clone, Default)]
pub(crate) struct Meter {
    /// The bytes that may be read before the owner sees the next entry.
    pub(crate) entry: Rc<Cell<u64>>,
    /// The bytes that may be read in all.
    pub(crate) total: Rc<Cell<u64>>,
}

/// A reader with budgets.
pub(crate) struct Metered<R> {
    pub(crate) reader: R,
    pub(crate) meter: Meter,
}

impl<R: Read> Read for Metered<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        for (budget, exceeded) in
            [(&self.meter.total, Exceeded::Total), (&self.meter.entry, Exceeded::Header)]
        {
            match budget.get().checked_sub(count as u64) {
                Some(left) => budget.set(left),
                None => return Err(io::Error::other(exceeded)),
            }
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use oci_spec::image::MediaType;

    use super::*;

    /// `printf 'hello ' | zstd` and `printf 'world' | zstd`, with a skippable frame of three bytes between them.
    const FRAMES: &[u8] = b"\x28\xb5\x2f\xfd\x20\x06\x31\x00\x00hello \x50\x2a\x4d\x18\x03\x00\x00\x00abc\x28\xb5\x2f\xfd\x20\x05\x29\x00\x00world";

    #[test]
    fn zstd_frames_are_read_one_after_the_other() {
        let read = |bytes: &[u8]| {
            let layer = Blob::from_bytes(MediaType::ImageLayerZstd, bytes.to_vec());
            let mut text = String::new();
            decompressed(&layer, "it").map_err(io::Error::other)?.read_to_string(&mut text).map(|_| text)
        };
        assert_eq!(read(FRAMES).unwrap(), "hello world");
        for end in 4..FRAMES.len() {
            // Between two frames, nothing is missing.
            let whole = matches!(end, 15 | 26);
            assert_eq!(read(&FRAMES[..end]).is_ok(), whole, "{end}");
        }
    }
}
