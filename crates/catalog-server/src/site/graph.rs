//! The upgrade graphs of packages, drawn on request.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use tokio::sync::Semaphore;
use tokio::task::{JoinError, spawn_blocking};

use olm_catalog::graph::{DrawError, Drawing, svg};
use olm_catalog::validate::{Blob, resolve};

/// The maximum number of graphs that are drawn at a time. Each takes a processor, for seconds where a package has tens of
/// thousands of entries.
const MAX_DRAWINGS: usize = 1;

/// The graphs of a catalog. Each is drawn once, on a thread where it delays no other call.
#[derive(Debug)]
pub(crate) struct Graphs {
    packages: BTreeMap<String, Arc<Graph>>,
    drawings: Arc<Semaphore>,
}

/// The graph of one package.
#[derive(Debug, Default)]
struct Graph {
    /// What it is drawn of: the names and edges.
    blobs: Vec<Blob>,
    drawing: OnceLock<Result<Bytes, DrawError>>,
}

/// Why there is no drawing.
#[derive(Debug, thiserror::Error)]
pub(crate) enum GraphError {
    /// The package cannot be drawn.
    #[error(transparent)]
    Draw(#[from] DrawError),
    /// Drawing was cut off.
    #[error("failed to draw the graph")]
    Thread(#[from] JoinError),
}

impl Graphs {
    /// Groups the blobs of a valid catalog by package.
    pub(crate) fn new(blobs: Vec<Blob>) -> Self {
        let mut packages: BTreeMap<String, Graph> = BTreeMap::new();
        for blob in blobs {
            let package = match &blob {
                Blob::Package(package) => &package.name,
                Blob::Channel(channel) => &channel.package,
                Blob::Bundle(bundle) => &bundle.package,
                Blob::Deprecations(deprecations) => &deprecations.package,
                _ => continue,
            };
            packages.entry(package.clone()).or_default().blobs.push(blob);
        }
        let packages = packages.into_iter().map(|(name, graph)| (name, Arc::new(graph))).collect();
        Self { packages, drawings: Arc::new(Semaphore::new(MAX_DRAWINGS)) }
    }

    /// Returns the drawing of a package as SVG; nothing if there is no package of this name.
    ///
    /// # Errors
    /// It is too large to draw.
    pub(crate) async fn svg(&self, package: &str) -> Result<Option<Bytes>, GraphError> {
        let Some(graph) = self.packages.get(package) else { return Ok(None) };
        if let Some(drawing) = graph.drawing.get() {
            return Ok(Some(drawing.clone()?));
        }
        // The semaphore is never closed. The thread holds its permit, also where the client has gone meanwhile.
        let permit = Arc::clone(&self.drawings).acquire_owned().await.ok();
        let (graph, package) = (Arc::clone(graph), package.to_owned());
        let drawing = spawn_blocking(move || {
            let drawing = graph.drawing.get_or_init(|| draw(&graph.blobs, &package)).clone();
            drop(permit);
            drawing
        });
        Ok(Some(drawing.await??))
    }
}

fn draw(blobs: &[Blob], package: &str) -> Result<Bytes, DrawError> {
    let (packages, _) = resolve(blobs);
    let drawing = packages.get(package).map(|linked| svg(linked, &Drawing::default())).transpose()?;
    Ok(drawing.unwrap_or_default().into())
}

#[cfg(test)]
mod tests {
    use std::future::Future as _;
    use std::pin::pin;
    use std::task::{Context, Waker};

    use super::*;
    use kube_yaml::Position;
    use olm_catalog::validate::SourcePosition;

    fn package(name: &str) -> Blob {
        let position = Position { line: 1, column: 1 };
        let place = SourcePosition { file: "catalog.yaml".into(), position };
        Blob::Package(Box::new(olm_catalog::validate::Package {
            name: name.to_owned(),
            default_channel: String::new(),
            default_channel_place: place.clone(),
            place,
            is_incomplete: false,
        }))
    }

    #[test]
    fn a_graph_is_drawn_once_and_not_on_the_thread_of_the_calls() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let graphs = Graphs::new(vec![package("gizmo"), package("gadget")]);
            assert!(graphs.svg("widget").await.unwrap().is_none());
            let mut context = Context::from_waker(Waker::noop());
            let held = Arc::clone(&graphs.drawings).acquire_owned().await.unwrap();
            let mut waiting = pin!(graphs.svg("gizmo"));
            assert!(waiting.as_mut().poll(&mut context).is_pending());
            drop(held);
            let first = waiting.await.unwrap().unwrap();
            assert!(first.starts_with(b"<svg"));
            // From now on, there is nothing to wait for.
            let _held = Arc::clone(&graphs.drawings).acquire_owned().await.unwrap();
            let again = graphs.svg("gizmo").await.unwrap().unwrap();
            assert_eq!(again.as_ptr(), first.as_ptr());
            assert!(pin!(graphs.svg("gadget")).poll(&mut context).is_pending());
        });
    }
}
