//! What is served at the moment: replaced as a whole when the catalog changes, so that no call sees half of it.

use std::sync::{Arc, PoisonError, RwLock};

use super::metrics::Metrics;
use super::query::Catalog;
use super::site::Site;

/// A catalog in the forms that are served.
#[derive(Debug, Clone)]
pub struct Served {
    /// What the registry's gRPC API answers from.
    pub catalog: Arc<Catalog>,
    /// What is served over HTTP, if it is.
    pub site: Option<Arc<Site>>,
}

/// What is served now, and what is counted.
#[derive(Debug)]
pub struct Live {
    served: RwLock<Served>,
    metrics: Metrics,
}

impl Live {
    /// Serves a catalog until another one replaces it.
    #[must_use]
    pub fn new(served: Served) -> Self {
        let metrics = Metrics::default();
        metrics.loaded(&served.catalog);
        Self { served: RwLock::new(served), metrics }
    }

    /// Returns what is served now; calls that have begun keep it.
    #[must_use]
    pub fn served(&self) -> Served {
        self.served.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Serves another state of the catalog from now on.
    pub fn replace(&self, served: Served) {
        self.metrics.loaded(&served.catalog);
        *self.served.write().unwrap_or_else(PoisonError::into_inner) = served;
    }

    /// Counts a changed catalog that cannot be served.
    pub fn rejected(&self) {
        self.metrics.rejected();
    }

    /// Returns what is counted.
    pub(super) fn metrics(&self) -> &Metrics {
        &self.metrics
    }
}
