//! Putting blobs into a layout.

use std::sync::Arc;

use futures::stream::{self, FuturesUnordered, StreamExt};

use crate::blocking::blocking;
use crate::error::Error;
use crate::keyed_locks::KeyedLocks;
use crate::layout::{Blob, DirectoryWriter};
use crate::registry::{Progress, Repository};

/// Puts blobs into a layout, `parallel` at a time, each as soon as it was read. Those without bytes are in the repository `source`, and
/// are fetched to the disk of the layout: the directory for temporary files may be too small, or memory. A blob that another task puts
/// into the layout meanwhile is not fetched again: both have the same `locks`.
pub(crate) async fn fetch_into(
    writer: &Arc<DirectoryWriter>,
    blobs: Vec<Blob>,
    source: Option<&Repository>,
    locks: &KeyedLocks,
    parallel: usize,
    progress: &Progress,
) -> Result<(), Error> {
    let mut fetched = stream::iter(blobs)
        .map(|blob| async move {
            let Some(source) = source else { return Ok(Some((blob, None))) };
            let lock = locks.lock(blob.digest().to_string()).await;
            let (stored, wanted) = (Arc::clone(writer), blob.clone());
            if blocking(move || stored.has(&wanted)).await {
                return Ok(None);
            }
            match source.fetch_in(&blob, writer.directory(), progress).await {
                Ok(fetched) => Ok::<_, Error>(Some((fetched, Some(lock)))),
                Err(error) => {
                    lock.fail();
                    Err(error.into())
                }
            }
        })
        .buffer_unordered(parallel);
    let mut adding = FuturesUnordered::new();
    let added = loop {
        tokio::select! {
            Some(blob) = fetched.next(), if adding.len() < parallel => match blob {
                Ok(None) => {}
                Ok(Some((blob, lock))) => {
                    let writer = Arc::clone(writer);
                    adding.push(blocking(move || {
                        let added = writer.add(&blob);
                        match lock {
                            Some(lock) if added.is_err() => lock.fail(),
                            lock => drop(lock),
                        }
                        added
                    }));
                }
                Err(error) => break Err(error),
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
