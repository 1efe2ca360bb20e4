//! Decodes zstd, as layers of images are compressed with it.

use std::fmt;
use std::io::{self, BufRead, Read};

use ruzstd::decoding::{FrameDecoder, StreamingDecoder};

/// A reader of zstd frames, one after the other. Windows may have 100 MiB (a limit of the decoder).
pub struct Zstd<R: BufRead> {
    /// `None` after the last frame or an error.
    frame: Option<StreamingDecoder<R, FrameDecoder>>,
}

impl<R: BufRead> Zstd<R> {
    /// Reads the header of the first frame.
    ///
    /// # Errors
    /// There is none, or the reader fails.
    pub fn new(reader: R) -> io::Result<Self> {
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

impl<R: BufRead> fmt::Debug for Zstd<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Zstd").field("is_at_end", &self.frame.is_none()).finish()
    }
}
