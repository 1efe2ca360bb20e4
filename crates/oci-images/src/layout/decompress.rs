//! The bytes of a layer: decompressed, counted, and verified to the end.

use std::cell::Cell;
use std::io::{self, BufRead, BufReader, Read};
use std::rc::Rc;

use flate2::read::MultiGzDecoder;
use ruzstd::decoding::{FrameDecoder, StreamingDecoder};

use super::blob::Blob;
use super::error::Error;

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

/// A reader of zstd frames, one after the other. Windows may have 100 MiB (a limit of the decoder).
struct Zstd<R: BufRead> {
    /// `None` after the last frame or an error.
    frame: Option<StreamingDecoder<R, FrameDecoder>>,
}

impl<R: BufRead> Zstd<R> {
    fn new(reader: R) -> io::Result<Self> {
        Ok(Self { frame: next_frame(reader)? })
    }
}

/// Returns the next frame with content; `None` at the end.
fn next_frame<R: BufRead>(mut reader: R) -> io::Result<Option<StreamingDecoder<R, FrameDecoder>>> {
    const SKIPPABLE: std::ops::RangeInclusive<u32> = 0x184d_2a50..=0x184d_2a5f;
    loop {
        let start = reader.fill_buf()?;
        if start.is_empty() {
            return Ok(None);
        }
        let word = |bytes: &[u8]| bytes.first_chunk().map(|bytes| u32::from_le_bytes(*bytes));
        if !word(start).is_some_and(|magic| SKIPPABLE.contains(&magic)) {
            return StreamingDecoder::new(reader).map(Some).map_err(io::Error::other);
        }
        let mut header = [0; 8];
        reader.read_exact(&mut header)?;
        let length = word(&header[4..]).unwrap_or_default();
        if io::copy(&mut (&mut reader).take(length.into()), &mut io::sink())? != u64::from(length) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
}

impl<R: BufRead> Read for Zstd<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        while let Some(mut frame) = self.frame.take() {
            let count = frame.read(buffer)?;
            if count > 0 {
                self.frame = Some(frame);
                return Ok(count);
            }
            self.frame = next_frame(frame.into_inner())?;
        }
        Ok(0)
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
    pub(crate) fn of(error: &io::Error) -> Option<Self> {
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
