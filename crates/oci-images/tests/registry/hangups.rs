//! Connections that end anywhere in a small transfer.

use std::net::SocketAddr;
use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use oci_images::layout::{Platform, Wanted, open_archive};
use oci_images::location::{Copier, ImageLocation};
use oci_images::registry::{Backoff, Options, Parallel, Progress, Repository};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};

use crate::hostile::{bundle, good};
use crate::raw::{self, Log};
use crate::{LONG, anonymous, reference};

/// The step between the numbers of bytes after which connections end: each header ends in several places.
const STEP: usize = 3;

/// How many transfers run at once.
const WORKERS: usize = 4;

/// Which bytes are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    Requests,
    Responses,
}

/// Which connections end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// The one that reaches the number; it counts the bytes of all.
    First,
    /// Every one that reaches the number.
    Each,
}

/// The number of bytes that may pass; no limit without.
type Limit = Arc<Mutex<Option<usize>>>;

/// A connection that is closed after exactly as many bytes as its limit.
struct Cut {
    stream: TcpStream,
    direction: Direction,
    limit: Limit,
    is_closed: bool,
}

impl Cut {
    /// Moves up to `wanted` bytes in `direction`, as many as the limit allows; `None` if the connection is closed.
    fn pass(
        &mut self,
        direction: Direction,
        wanted: usize,
        pass: impl FnOnce(Pin<&mut TcpStream>, usize) -> Poll<std::io::Result<usize>>,
    ) -> Option<Poll<std::io::Result<usize>>> {
        if self.is_closed {
            return None;
        }
        let stream = Pin::new(&mut self.stream);
        if direction != self.direction {
            return Some(pass(stream, wanted));
        }
        // Held, so that what is passed is counted before the test sees its effect.
        let mut limit = self.limit.lock().unwrap();
        let allowed = limit.unwrap_or(wanted).min(wanted);
        if allowed == 0 && wanted > 0 {
            *limit = None;
            self.is_closed = true;
            return None;
        }
        let passed = pass(stream, allowed);
        if let (Poll::Ready(Ok(passed)), Some(left)) = (&passed, &mut *limit) {
            *left -= passed;
        }
        Some(passed)
    }
}

impl AsyncRead for Cut {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let mut bytes = [0; 4096];
        let wanted = buffer.remaining().min(bytes.len());
        let read = self.pass(Direction::Requests, wanted, |stream, allowed| {
            let mut part = ReadBuf::new(&mut bytes[..allowed]);
            stream.poll_read(context, &mut part).map_ok(|()| part.filled().len())
        });
        read.unwrap_or(Poll::Ready(Ok(0))).map_ok(|read| buffer.put_slice(&bytes[..read]))
    }
}

impl AsyncWrite for Cut {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        let written = self.pass(Direction::Responses, bytes.len(), |stream, allowed| {
            stream.poll_write(context, &bytes[..allowed])
        });
        written.unwrap_or_else(|| Poll::Ready(Err(std::io::ErrorKind::BrokenPipe.into())))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// A registry whose connections end as the test says.
struct Registry {
    address: SocketAddr,
    limit: Limit,
    log: Log,
}

async fn serve(direction: Direction, ending: Ending) -> Registry {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (limit, log) = (Limit::default(), Log::default());
    let (shared, observed) = (Arc::clone(&limit), log.clone());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            stream.set_nodelay(true).unwrap();
            let limit = match ending {
                Ending::First => Arc::clone(&shared),
                Ending::Each => Arc::new(Mutex::new(*shared.lock().unwrap())),
            };
            let (log, cut) = (observed.clone(), Cut { stream, direction, limit, is_closed: false });
            tokio::spawn(async move { raw::connection(cut, &log, good).await });
        }
    });
    Registry { address, limit, log }
}

fn options(attempts: u32) -> Options {
    let mut options = crate::options();
    options.backoff = Backoff::new(attempts, Duration::ZERO);
    // One request after the other, so that every number of bytes stands for one place.
    options.parallel = Parallel(1);
    options
}

/// What is done at a registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operation {
    Pull,
    Push,
}

impl Operation {
    /// Reads or writes an image.
    async fn run(self, repository: &Repository) -> Result<(), String> {
        let progress = Progress::hidden();
        let done = match self {
            Self::Push => repository.push(&bundle(), None, &progress).await.map(drop),
            Self::Pull => {
                let read = async {
                    repository.with_blobs(repository.artifact(&Wanted::All).await?, &progress).await
                };
                read.await.map(|artifact| {
                    assert_eq!(artifact.digest(), bundle().digest());
                    assert!(artifact.blobs().iter().all(|blob| blob.document().is_ok()));
                })
            }
        };
        done.map_err(|error| error.to_string())
    }

    /// Connects to the registry, and copies an image from it to an archive, or writes one.
    async fn connect_and_run(self, address: SocketAddr, directory: &Path) -> Result<(), String> {
        let name = reference(address, "a:v1");
        if self == Self::Push {
            let repository = Repository::for_writing(&name, &options(2), &anonymous()).await;
            return self.run(&repository.map_err(|error| error.to_string())?).await;
        }
        let copier = Copier { options: options(2), resolver: anonymous(), platform: None };
        let archive = directory.join("a.tar");
        let to = ImageLocation::Archive(archive.clone(), None);
        let done = copier.copy(&ImageLocation::Registry(name), &to, &Progress::hidden()).await;
        let left = std::fs::read_dir(directory).unwrap().count();
        if let Err(error) = done {
            assert_eq!(left, 0, "{error}");
            return Err(error.to_string());
        }
        let image = open_archive(&archive).unwrap().image(None, &Platform::default()).unwrap();
        assert_eq!((left, image.digest()), (1, bundle().digest()));
        std::fs::remove_file(archive).unwrap();
        Ok(())
    }
}

async fn in_time<T>(transfer: impl Future<Output = T>) -> T {
    tokio::time::timeout(LONG, transfer).await.expect("the transfer does not end")
}

/// Runs a transfer for each [`STEP`] of bytes after which one connection ends. It succeeds with the next one.
async fn one_connection_ends(operation: Operation, direction: Direction) {
    let workers = (0..WORKERS).map(|worker| async move {
        let registry = serve(direction, Ending::First).await;
        let name = reference(registry.address, "a:v1");
        // Besides the one that ends, the pool may have connections that have ended since the last transfer.
        let repository = Repository::for_writing(&name, &options(5), &anonymous()).await.unwrap();
        *registry.limit.lock().unwrap() = Some(usize::MAX);
        in_time(operation.run(&repository)).await.unwrap();
        let total = usize::MAX - registry.limit.lock().unwrap().unwrap();
        assert!(total > 300, "{total}");
        for bytes in (worker * STEP..total).step_by(WORKERS * STEP) {
            *registry.limit.lock().unwrap() = Some(bytes);
            let done = in_time(operation.run(&repository)).await;
            done.unwrap_or_else(|error| panic!("{bytes} bytes: {error}"));
            assert_eq!(*registry.limit.lock().unwrap(), None, "{bytes} bytes: no connection ended");
        }
    });
    futures::future::join_all(workers.map(tokio::spawn)).await.into_iter().for_each(Result::unwrap);
}

/// Runs a transfer for numbers of bytes after which every connection ends, until they do for the whole transfer. One that does
/// not succeed is an error, and leaves nothing.
async fn every_connection_ends(operation: Operation, direction: Direction) {
    // In memory, if possible: many files are flushed.
    let directory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let registry = serve(direction, Ending::Each).await;
    let mut failed = 0;
    for bytes in (0..).step_by(STEP) {
        *registry.limit.lock().unwrap() = Some(bytes);
        let before = registry.log.requests().len();
        let done = in_time(operation.connect_and_run(registry.address, directory.path())).await;
        let Err(error) = done else { break };
        failed += 1;
        assert!(error.contains(&registry.address.to_string()), "{bytes} bytes: {error}");
        // An image has no name before it is complete.
        let requests = registry.log.requests().split_off(before);
        let puts = |part: &str| {
            let puts = requests.iter().filter(|request| request.method == "PUT");
            puts.filter(|request| request.path.contains(part)).count()
        };
        assert!(puts("/manifests/") == 0 || puts("/uploads/") >= 2, "{bytes} bytes: {error}");
    }
    assert!(failed > 5, "{failed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn pull_continues_after_a_response_that_ends_anywhere() {
    one_connection_ends(Operation::Pull, Direction::Responses).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pull_continues_after_a_request_that_ends_anywhere() {
    one_connection_ends(Operation::Pull, Direction::Requests).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn push_continues_after_a_response_that_ends_anywhere() {
    one_connection_ends(Operation::Push, Direction::Responses).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn push_continues_after_a_request_that_ends_anywhere() {
    one_connection_ends(Operation::Push, Direction::Requests).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_that_always_end_are_errors() {
    for operation in [Operation::Pull, Operation::Push] {
        for direction in [Direction::Responses, Direction::Requests] {
            every_connection_ends(operation, direction).await;
        }
    }
}
