//! Putting blobs into a layout.

use std::sync::Arc;

use futures::stream::{self, FuturesUnordered, StreamExt};

use crate::blocking::blocking;
use crate::layout::{Blob, DirectoryWriter};
use crate::location::Error;
use crate::registry::{Progress, Repository};

/// Puts blobs into a layout, `parallel` at a time, each as soon as it was read. Those without bytes are in the repository `source`, and
/// are fetched to the disk of the layout: the directory for temporary files may be too small, or memory.
pub(crate) async fn fetch_into(
    writer: &Arc<DirectoryWriter>,
    blobs: Vec<Blob>,
    source: Option<&Repository>,
    parallel: usize,
    progress: &Progress,
) -> Result<(), Error> {
    let mut fetched = stream::iter(blobs)
        .map(|blob| async move {
            match source {
                Some(source) => source.fetch_in(&blob, writer.directory(), progress).await,
                None => Ok(blob),
            }
        })
        .buffer_unordered(parallel);
    let mut adding = FuturesUnordered::new();
    let added = loop {
        tokio::select! {
            Some(blob) = fetched.next(), if adding.len() < parallel => match blob {
                Ok(blob) => {
                    let writer = Arc::clone(writer);
                    adding.push(blocking(move || writer.add(&blob)));
                }
                Err(error) => break Err(Error::from(error)),
            },
            Some(added) = adding.next() => if let Err(error) = added {
                break Err(error.into());
            },
            else => break Ok(()),
        }
    };
    drop(fetched);
    // What the writer created is removed when nothing uses it any more.
    while adding.next().await.is_some() {}
    added
}
