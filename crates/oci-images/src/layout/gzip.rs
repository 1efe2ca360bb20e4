//! Gzip compression on several threads; the output does not depend on their number.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use flate2::{Compress, Compression, Crc, FlushCompress, Status};

/// Size in bytes of the blocks that are compressed independently.
const BLOCK: usize = 128 << 10;

/// How many bytes back a match can be: what a block's compressor needs of the block before it.
const WINDOW: usize = 32 << 10;

/// Maximum number of threads; more would wait for the thread that reads, hashes and writes.
const MAX_THREADS: usize = 8;

const LEVEL: Compression = Compression::new(6);

/// The header of [RFC 1952](https://www.rfc-editor.org/rfc/rfc1952#section-2.3): deflate, and neither a time nor a name nor
/// an operating system.
const HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];

/// A writer that compresses what it is given into `inner`, as one member.
///
/// Blocks of a fixed size are compressed independently, each with the end of the one before it as its dictionary, and joined by
/// empty stored blocks. The output depends on the input alone, not on how it is written.
pub(crate) struct Gzip<W: Write> {
    inner: W,
    block: Vec<u8>,
    dictionary: Vec<u8>,
    checksum: Crc,
    /// The number of threads to start.
    threads: usize,
    workers: Option<Workers>,
}

impl<W: Write> Gzip<W> {
    /// Writes the header into `inner`.
    pub(crate) fn new(inner: W) -> io::Result<Self> {
        let threads = thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS);
        Self::with_threads(inner, threads)
    }

    fn with_threads(mut inner: W, threads: usize) -> io::Result<Self> {
        inner.write_all(&HEADER)?;
        let (block, dictionary, checksum) = (Vec::new(), Vec::new(), Crc::new());
        Ok(Self { inner, block, dictionary, checksum, threads, workers: None })
    }

    /// Writes what is left and the trailer, and returns the inner writer.
    pub(crate) fn finish(mut self) -> io::Result<W> {
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
            let workers = self.workers.get_or_insert_with(|| Workers::start(self.threads));
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

/// A block, and the end of the one before it.
struct Job {
    block: Vec<u8>,
    dictionary: Vec<u8>,
    flush: FlushCompress,
}

impl Job {
    fn run(&self) -> io::Result<Vec<u8>> {
        // A new compressor for each block: zlib-rs's `reset` keeps state that changes the output.
        let mut compressor = Compress::new(LEVEL, false);
        if !self.dictionary.is_empty() {
            compressor.set_dictionary(&self.dictionary)?;
        }
        let before = compressor.total_in();
        // Larger than any output, because one that fills the buffer depends on the size of the buffer.
        let mut out = Vec::with_capacity(self.block.len() + self.block.len() / 8 + 1024);
        let status = compressor.compress_vec(&self.block, &mut out, self.flush)?;
        let is_whole = match self.flush {
            FlushCompress::Finish => status == Status::StreamEnd,
            _ => out.len() < out.capacity(),
        };
        if !is_whole || compressor.total_in() - before != self.block.len() as u64 {
            return Err(io::Error::other("a block was compressed to more than an eighth above its size"));
        }
        Ok(out)
    }
}

type Compressed = io::Result<Vec<u8>>;
type Queued = (Job, SyncSender<Compressed>);

/// Threads that compress blocks, and what they have not returned yet. They end when this is dropped.
struct Workers {
    jobs: Sender<Queued>,
    /// In the order of the blocks.
    pending: VecDeque<Receiver<Compressed>>,
    threads: usize,
}

impl Workers {
    /// Starts up to `count` threads: as many as the system permits, which can be none.
    fn start(count: usize) -> Self {
        let (jobs, queue) = channel::<Queued>();
        let queue = Arc::new(Mutex::new(queue));
        let start = |_: &usize| {
            let queue = Arc::clone(&queue);
            thread::Builder::new().name("gzip".to_owned()).spawn(move || work(&queue)).is_ok()
        };
        let threads = (0..count).take_while(start).count();
        Self { jobs, pending: VecDeque::new(), threads }
    }

    /// Compresses a block. Those before it are written when there are two for each thread, so that memory is bounded.
    fn compress(&mut self, job: Job, out: &mut impl Write) -> io::Result<()> {
        if self.threads == 0 {
            return out.write_all(&job.run()?);
        }
        if self.pending.len() == 2 * self.threads {
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

/// Compresses blocks until the sender is dropped.
fn work(queue: &Mutex<Receiver<Queued>>) {
    loop {
        // One thread waits for the next block, and the others for that thread.
        let next = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok((job, done)) = next else { break };
        // The receiver is gone if writing failed.
        let _ = done.send(job.run());
    }
}

fn ended() -> io::Error {
    io::Error::other("a compression thread ended unexpectedly")
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::GzDecoder;

    use super::super::digest::sha256;
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
    fn blocks_round_trip_at_their_boundaries() {
        for size in [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK, 3 * BLOCK + 7, 40 * BLOCK + 1] {
            let bytes = sample(size);
            assert!(decompressed(&compressed(&bytes, usize::MAX)) == bytes, "{size}");
        }
    }

    /// Bytes that cannot be compressed.
    fn noise(size: usize) -> Vec<u8> {
        let mut state: u64 = 1;
        let mut bytes = Vec::with_capacity(size + 4);
        while bytes.len() < size {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            bytes.extend_from_slice(&state.to_be_bytes()[..4]);
        }
        bytes.truncate(size);
        bytes
    }

    #[test]
    fn incompressible_bytes_round_trip() {
        let bytes = noise(3 * BLOCK + 1);
        assert!(decompressed(&compressed(&bytes, 1000)) == bytes);
    }

    #[test]
    fn output_depends_on_the_bytes_alone() {
        let bytes = [sample(BLOCK + 3), noise(BLOCK), sample(3 * BLOCK)].concat();
        let whole = compressed(&bytes, usize::MAX);
        // Pinned: with another digest, everybody's images change with the next release.
        assert_eq!(
            sha256(&whole).as_ref(),
            "sha256:fdc3a97049c1ecbb5fa62c6c9baccb1c80faf2403ca315e19d9ce189f0390283"
        );
        for piece in [512, 8192, BLOCK, BLOCK + 1] {
            assert!(compressed(&bytes, piece) == whole, "{piece}");
        }
        for threads in [0, 1, 2, 8] {
            let mut gzip = Gzip::with_threads(Vec::new(), threads).unwrap();
            gzip.write_all(&bytes).unwrap();
            assert!(gzip.finish().unwrap() == whole, "{threads} threads");
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
    fn error_of_the_inner_writer_is_returned() {
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
