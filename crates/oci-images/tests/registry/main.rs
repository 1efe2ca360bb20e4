//! Images to a registry and back: against the registry of this crate, with plain HTTP and with the
//! client, and against registries that lie.

// Helpers of tests fail as tests do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod attach;
mod conformance;
mod copy;
mod hangups;
mod hostile;
mod http;
mod lies;
mod lying;
mod proxy;
mod raw;
mod secure;
mod server;
mod sign;
mod token;
mod transfer;

use std::net::SocketAddr;
use std::time::Duration;

use oci_images::layout::{File, FileMap, Image, ImageBuilder, Source, layer};
use oci_images::registry::server::{Options as ServerOptions, Server};
use oci_images::registry::{Backoff, Options, Reference, Resolver};

/// Longer than anything here takes on a slow machine.
const LONG: Duration = Duration::from_mins(1);

/// An image with one layer for each list of files.
fn image(layers: &[&[(&str, &str)]]) -> Image {
    let layers = layers.iter().map(|files| {
        let mut map = FileMap::new();
        for (path, text) in *files {
            map.add(path, File { source: Source::Bytes(text.as_bytes().to_vec()), executable: false })
                .unwrap();
        }
        layer(&map, 0).unwrap()
    });
    let labels = [("operators.operatorframework.io.bundle.package.v1".to_owned(), "gizmo".to_owned())];
    ImageBuilder { layers: layers.collect(), labels: labels.into(), ..ImageBuilder::default() }
        .build()
        .unwrap()
}

/// Options for a registry on loopback, with short pauses.
fn options() -> Options {
    let mut options = Options::default();
    options.plain_http = true;
    options.backoff = Backoff::new(4, Duration::from_millis(1));
    options
}

/// No credentials, whatever the environment of the tests.
fn anonymous() -> Resolver {
    Resolver::from_variables(|_| None)
}

fn reference(address: SocketAddr, name: &str) -> Reference {
    format!("{address}/{name}").parse().unwrap()
}

/// The registry of this crate, until it is dropped.
struct Running {
    address: SocketAddr,
    directory: tempfile::TempDir,
    stop: Option<tokio::sync::oneshot::Sender<()>>,
    task: tokio::task::JoinHandle<()>,
}

impl Running {
    async fn start() -> Self {
        Self::start_with(|_| {}).await
    }

    /// Starts it with other options.
    async fn start_with(change: impl FnOnce(&mut ServerOptions)) -> Self {
        Self::start_in(tempfile::tempdir().unwrap(), change).await
    }

    /// Starts it in a directory.
    async fn start_in(directory: tempfile::TempDir, change: impl FnOnce(&mut ServerOptions)) -> Self {
        let mut options = ServerOptions::new("127.0.0.1:0".parse().unwrap(), directory.path());
        // A client of a test may be kept waiting for a processor.
        options.limits.http.header_timeout = LONG;
        change(&mut options);
        let server = Server::bind(options).await.unwrap();
        let address = server.address();
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let task = tokio::spawn(async move {
            let stopped = async {
                let _ = stopped.await;
            };
            server.serve(stopped).await;
        });
        Self { address, directory, stop: Some(stop), task }
    }

    /// Stops it gracefully and returns its directory.
    async fn stop(mut self) -> tempfile::TempDir {
        drop(self.stop.take());
        tokio::time::timeout(LONG, self.task).await.expect("it does not stop").unwrap();
        self.directory
    }
}
