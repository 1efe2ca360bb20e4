//! The catalog that is served. When it changes, it is replaced as a whole, so that no call sees parts of two versions.

use std::sync::{Arc, PoisonError, RwLock};

use tokio::sync::Semaphore;

use super::metrics::Metrics;
use super::query::Catalog;
use super::site::Site;

/// A catalog in the forms that are served.
#[derive(Debug, Clone)]
pub struct CatalogSnapshot {
    /// What the registry's gRPC API answers from.
    pub catalog: Arc<Catalog>,
    /// What is served over HTTP, if it is.
    pub site: Option<Arc<Site>>,
}

/// The maximum number of answers over gRPC at a time that hold a piece of the catalog, which may have megabytes.
pub(crate) const MAX_ANSWERS: u32 = 256;

/// The catalog that is served, and the metrics.
#[derive(Debug)]
pub struct CatalogState {
    snapshot: RwLock<CatalogSnapshot>,
    metrics: Metrics,
    answers: Arc<Semaphore>,
}

impl CatalogState {
    /// Serves a catalog until another one replaces it.
    #[must_use]
    pub fn new(snapshot: CatalogSnapshot) -> Self {
        let metrics = Metrics::default();
        metrics.loaded(&snapshot.catalog);
        Self {
            snapshot: RwLock::new(snapshot),
            metrics,
            answers: Arc::new(Semaphore::new(MAX_ANSWERS as usize)),
        }
    }

    /// Returns the snapshot that is served now; calls that have begun keep theirs.
    #[must_use]
    pub fn snapshot(&self) -> CatalogSnapshot {
        self.snapshot.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Serves another snapshot from now on.
    pub fn replace(&self, snapshot: CatalogSnapshot) {
        self.metrics.loaded(&snapshot.catalog);
        *self.snapshot.write().unwrap_or_else(PoisonError::into_inner) = snapshot;
    }

    /// Counts a changed catalog that cannot be served.
    pub fn rejected(&self) {
        self.metrics.rejected();
    }

    /// Returns the permits for answers that hold a piece of the catalog.
    pub(crate) fn answers(&self) -> &Arc<Semaphore> {
        &self.answers
    }

    /// Returns the metrics.
    pub(crate) fn metrics(&self) -> &Metrics {
        &self.metrics
    }
}
