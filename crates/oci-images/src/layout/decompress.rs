//! The bytes of a layer: decompressed, counted, and verified to the end.

use std::cell::Cell;
use std::io::{self, BufRead, BufReader, Read};
use std::rc::Rc;

use flate2::read::MultiGzDecoder;

use super::{Blob, Error};

/// Opens a layer and returns its tar archive.
///
/// The format is recognized by its first bytes and not by the media type, which is often wrong.
///
/// # Errors
///
/// [`Error::Malformed`] for formats that are not supported, errors of [`Blob::open`] otherwise.
pub(super) fn decompressed(layer: &Blob, what: &str) -> Result<Box<dyn Read>, Error> {
    let mut reader = BufReader::new(layer.open()?);
    let start = reader.fill_buf().map_err(|error| layer.error(error))?;
    match start {
        [0x1f, 0x8b, ..] => Ok(Box::new(MultiGzDecoder::new(reader))),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => {
            Err(Error::malformed(what, "layer", "zstd compression is not supported (push it with gzip)"))
        }
        _ => Ok(Box::new(reader)),
    }
}

/// A budget of bytes was exceeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Exceeded {
    /// The part of an entry that `tar` keeps in memory: long names and attributes.
    #[error("the header of an entry is too large")]
    Header,
    /// All layers together.
    #[error("the layers are too large")]
    Total,
}

impl Exceeded {
    /// Returns the budget that `error` is about.
    pub(super) fn of(error: &io::Error) -> Option<Self> {
        error.get_ref()?.downcast_ref().copied()
    }
}

/// The budgets of a [`Metered`] reader, shared with its owner.
#[derive(Debug, Clone, Default)]
pub(super) struct Meter {
    /// The bytes that may be read before the owner sees the next entry.
    pub(super) entry: Rc<Cell<u64>>,
    /// The bytes that may be read in all.
    pub(super) total: Rc<Cell<u64>>,
}

/// A reader with budgets.
pub(super) struct Metered<R> {
    pub(super) reader: R,
    pub(super) meter: Meter,
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
