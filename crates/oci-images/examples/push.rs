//! Builds an image, pushes it to a registry that runs in this process, and pulls it again.

use std::error::Error;
use std::future::pending;

use oci_images::layout::{File, FileMap, ImageBuilder, Source, layer};
use oci_images::registry::server::{Options as ServerOptions, Server};
use oci_images::registry::{Options, Progress, Repository, Resolver, pull};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut files = FileMap::new();
    files.add("app/hello.txt", File { source: Source::Bytes(b"hello".to_vec()), executable: false })?;
    let image = ImageBuilder {
        layers: vec![layer(&files, 0)?],
        labels: [("org.opencontainers.image.title".to_owned(), "hello".to_owned())].into(),
        ..ImageBuilder::default()
    }
    .build()?;

    // On loopback, without TLS.
    let directory = tempfile::tempdir()?;
    let server = Server::bind(ServerOptions::new("127.0.0.1:0".parse()?, directory.path())).await?;
    let name = Repository::parse(&format!("{}/team/hello:v1", server.address()))?;
    tokio::spawn(server.serve(pending()));

    let mut options = Options::default();
    options.plain_http = true;
    let credentials = Resolver::from_env();
    let repository = Repository::for_writing(&name, &options, &credentials).await?;
    let pushed = repository.push(&image, None, &Progress::hidden()).await?;
    println!("pushed {}", pushed.reference);

    let contents = pull(&name, &options, &credentials, &Progress::hidden()).await?;
    println!("pulled {}", contents.labels["org.opencontainers.image.title"]);
    Ok(())
}
