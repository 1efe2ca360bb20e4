//! Compression with gzip on several processors, with the same bytes whatever their number.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use flate2::{Compress, Compression, Crc, FlushCompress, Status};

/// Bytes that are compressed together, so that other processors compress the next ones meanwhile.
const BLOCK: usize = 128 << 10;

/// How far back a match can be: the bytes before a block that its compressor needs.
const WINDOW: usize = 32 << 10;

/// Maximum number of processors to use: more would wait for the one that reads, hashes and writes.
const MAX_WORKERS: usize = 8;

const LEVEL: Compression = Compression::new(6);

/// The header of [RFC 1952](https://www.rfc-editor.org/rfc/rfc1952#section-2.3): deflate, and neither a time nor a name nor
/// an operating system.
const HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];

/// A writer that compresses what it is given into `inner`, as one member.
///
/// Blocks of a fixed size are compressed independently, each with the end of the one before it as its dictionary, and joined by
/// empty stored blocks. The output depends on the input alone, and with up to one block it is that of one compressor.
pub(super) struct Gzip<W: Write> {
    inner: W,
    block: Vec<u8>,
    dictionary: Vec<u8>,
    checksum: Crc,
    workers: Option<Workers>,
}

impl<W: Write> Gzip<W> {
    /// Writes the header into `inner`.
    pub(super) fn new(mut inner: W) -> io::Result<Self> {
        inner.write_all(&HEADER)?;
        Ok(Self { inner, block: Vec::new(), dictionary: Vec::new(), checksum: Crc::new(), workers: None })
    }

    /// Writes what is left and the trailer, and returns the inner writer.
    pub(super) fn finish(mut self) -> io::Result<W> {
        let last = Job { block: self.block, dictionary: self.dictionary, flush: FlushCompress::Finish };
        match self.workers.take() {
            Some(mut workers) => {
                workers.compress(last, &mut self.inner)?;
                workers.finish(&mut self.inner)?;
            }
            None => self.inner.write_all(&last.run()?)?,
        }
        self.inner.write_all(&self.checksum.sum().to_le_bytes())?;
        // The size modulo 2³².
        self.inner.write_all(&self.checksum.amount().to_le_bytes())?;
        Ok(self.inner)
    }
}

impl<W: Write> Write for Gzip<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // A full block stays until more comes: the last one ends the stream.
        if self.block.len() == BLOCK && !bytes.is_empty() {
            let block = std::mem::replace(&mut self.block, Vec::with_capacity(BLOCK));
            let dictionary = block[BLOCK - WINDOW..].to_vec();
            let dictionary = std::mem::replace(&mut self.dictionary, dictionary);
            let job = Job { block, dictionary, flush: FlushCompress::Sync };
            let workers = match &mut self.workers {
                Some(workers) => workers,
                None => self.workers.insert(Workers::start()?),
            };
            workers.compress(job, &mut self.inner)?;
        }
        let count = bytes.len().min(BLOCK - self.block.len());
        self.block.extend_from_slice(&bytes[..count]);
        self.checksum.update(&bytes[..count]);
        Ok(count)
    }

    /// Does nothing: only whole blocks are compressed.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A block, and what precedes it.
struct Job {
    block: Vec<u8>,
    dictionary: Vec<u8>,
    flush: FlushCompress,
}

impl Job {
    fn run(&self) -> io::Result<Vec<u8>> {
        // A new one each time: what a compressor has read before can change its output even after a reset.
        let mut compressor = Compress::new(LEVEL, false);
        if !self.dictionary.is_empty() {
            compressor.set_dictionary(&self.dictionary)?;
        }
        let mut out = Vec::with_capacity(self.block.len() / 2 + 64);
        let mut rest = self.block.as_slice();
        loop {
            let before = compressor.total_in();
            let status = compressor.compress_vec(rest, &mut out, self.flush)?;
            // At most as many bytes as `rest` has.
            rest = &rest[(compressor.total_in() - before) as usize..];
            // With space left, nothing is pending in the compressor.
            let is_flushed = rest.is_empty() && out.len() < out.capacity();
            if status == Status::StreamEnd || (is_flushed && !matches!(self.flush, FlushCompress::Finish)) {
                return Ok(out);
            }
            out.reserve(rest.len() / 2 + 64);
        }
    }
}

type Compressed = io::Result<Vec<u8>>;
type Queued = (Job, SyncSender<Compressed>);

/// Threads that compress blocks, and what they have not returned yet. They end when this is dropped.
struct Workers {
    jobs: SyncSender<Queued>,
    /// In the order of the blocks.
    pending: VecDeque<Receiver<Compressed>>,
    max_pending: usize,
}

impl Workers {
    fn start() -> io::Result<Self> {
        let count = thread::available_parallelism().map_or(1, usize::from).min(MAX_WORKERS);
        let (jobs, queue) = sync_channel::<Queued>(count);
        let queue = Arc::new(Mutex::new(queue));
        for _ in 0..count {
            let queue = Arc::clone(&queue);
            thread::Builder::new().spawn(move || work(&queue))?;
        }
        Ok(Self { jobs, pending: VecDeque::new(), max_pending: 2 * count })
    }

    /// Compresses a block; those before it are written when they are compressed, at the latest when there are too many.
    fn compress(&mut self, job: Job, out: &mut impl Write) -> io::Result<()> {
        if self.pending.len() == self.max_pending {
            self.write_next(out)?;
        }
        let (done, result) = sync_channel(1);
        self.jobs.send((job, done)).map_err(|_| ended())?;
        self.pending.push_back(result);
        Ok(())
    }

    fn finish(mut self, out: &mut impl Write) -> io::Result<()> {
        while !self.pending.is_empty() {
            self.write_next(out)?;
        }
        Ok(())
    }

    fn write_next(&mut self, out: &mut impl Write) -> io::Result<()> {
        let Some(next) = self.pending.pop_front() else { return Ok(()) };
        out.write_all(&next.recv().map_err(|_| ended())??)
    }
}

/// Compresses blocks until nobody can send any.
fn work(queue: &Mutex<Receiver<Queued>>) {
    loop {
        let next = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok((job, done)) = next else { break };
        // Nobody waits for it if another block failed.
        let _ = done.send(job.run());
    }
}

fn ended() -> io::Error {
    io::Error::other("a thread that compresses has ended")
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::GzBuilder;
    use flate2::read::GzDecoder;

    use super::*;

    /// Bytes that are compressed to about a third.
    fn sample(size: usize) -> Vec<u8> {
        let mut state: u64 = 1;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            b"abcdefgh"[(state >> 61) as usize]
        };
        std::iter::repeat_with(&mut next).take(size).collect()
    }

    fn compressed(bytes: &[u8], piece: usize) -> Vec<u8> {
        let mut gzip = Gzip::new(Vec::new()).unwrap();
        for piece in bytes.chunks(piece) {
            gzip.write_all(piece).unwrap();
        }
        gzip.finish().unwrap()
    }

    /// `GzDecoder` reads one member, so that more than one would be an error here.
    fn decompressed(bytes: &[u8]) -> Vec<u8> {
        let mut decoder = GzDecoder::new(bytes);
        let mut out = Vec::new();
        decoder.read_to_end(&mut out).unwrap();
        assert_eq!(decoder.into_inner(), b"");
        out
    }

    #[test]
    fn what_is_compressed_is_the_same_around_the_ends_of_blocks() {
        for size in [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK, 3 * BLOCK + 7, 40 * BLOCK + 1] {
            let bytes = sample(size);
            assert!(decompressed(&compressed(&bytes, usize::MAX)) == bytes, "{size}");
        }
    }

    #[test]
    fn bytes_that_cannot_be_compressed_are_read_back() {
        let (mut state, mut bytes) = (1_u64, Vec::new());
        for _ in 0..BLOCK / 2 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            bytes.extend_from_slice(&state.to_be_bytes()[..5]);
        }
        assert!(decompressed(&compressed(&bytes, 1000)) == bytes);
    }

    #[test]
    fn the_output_depends_on_the_bytes_alone() {
        let bytes = sample(5 * BLOCK + 3);
        let whole = compressed(&bytes, usize::MAX);
        for piece in [512, 8192, BLOCK, BLOCK + 1] {
            assert!(compressed(&bytes, piece) == whole, "{piece}");
        }
    }

    #[test]
    fn a_block_is_compressed_as_by_one_compressor() {
        for size in [0, 1000, BLOCK] {
            let bytes = sample(size);
            let mut encoder = GzBuilder::new().mtime(0).write(Vec::new(), LEVEL);
            encoder.write_all(&bytes).unwrap();
            assert!(compressed(&bytes, usize::MAX) == encoder.finish().unwrap(), "{size}");
        }
    }

    #[test]
    fn repetitions_across_blocks_are_found() {
        let repeated = sample(WINDOW / 2).repeat(2 * BLOCK / WINDOW * 4);
        let alone = compressed(&repeated[..BLOCK], usize::MAX).len();
        let all = compressed(&repeated, usize::MAX).len();
        assert!(all < 2 * alone, "{alone} bytes for the first block, {all} for four");
    }

    #[test]
    fn an_error_of_the_inner_writer_is_returned() {
        struct Full(usize);
        impl Write for Full {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
                Ok(bytes.len())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let bytes = sample(40 * BLOCK);
        for space in [0, 10, 100_000, 1_000_000] {
            let written = Gzip::new(Full(space)).and_then(|mut gzip| {
                gzip.write_all(&bytes)?;
                gzip.finish().map(drop)
            });
            assert_eq!(written.unwrap_err().kind(), io::ErrorKind::StorageFull, "{space}");
        }
    }
}
