//! Images to a registry and back: against the registry of this tool, spoken to by hand and by the client, and against
//! one that lies.

// Helpers of tests fail as tests do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod hand;
mod lies;
mod lying;
mod server;
mod transfer;

use std::net::SocketAddr;
use std::time::Duration;

use oci_images::layout::{File, FileMap, Image, Recipe, Source, layer};
use oci_images::registry::server::Server;
use oci_images::registry::{Backoff, Options, Reference, Resolver};

/// Nothing here takes longer, be the machine as slow as it may.
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
    Recipe { layers: layers.collect(), labels: labels.into(), ..Recipe::default() }.build().unwrap()
}

/// Ways to a registry on loopback, without patience.
fn options() -> Options {
    let backoff = Backoff { attempts: 4, first: Duration::from_millis(1) };
    Options { plain_http: true, backoff, ..Options::default() }
}

/// Nobody's credentials, whatever the environment of the tests.
fn nobody() -> Resolver {
    Resolver::from_variables(|_| None)
}

fn reference(address: SocketAddr, name: &str) -> Reference {
    format!("{address}/{name}").parse().unwrap()
}

/// The tool's own registry, until it is dropped.
struct Running {
    address: SocketAddr,
    folder: tempfile::TempDir,
    stop: Option<tokio::sync::oneshot::Sender<()>>,
    task: tokio::task::JoinHandle<()>,
}

impl Running {
    async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let server = Server::bind("127.0.0.1:0".parse().unwrap(), folder.path(), false).await.unwrap();
        let address = server.address();
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let task = tokio::spawn(async move {
            let stopped = async {
                let _ = stopped.await;
            };
            server.serve(stopped).await.unwrap();
        });
        Self { address, folder, stop: Some(stop), task }
    }

    /// Stops it gracefully and keeps what it stored.
    async fn stop(mut self) -> tempfile::TempDir {
        drop(self.stop.take());
        tokio::time::timeout(LONG, self.task).await.expect("it does not stop").unwrap();
        self.folder
    }
}
