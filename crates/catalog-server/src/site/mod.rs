//! What is served of a catalog over HTTP: its blobs as lines of JSON, and pages to browse it.

mod content;
mod graph;
mod page;

use std::sync::Arc;
use std::time::SystemTime;

use tokio::sync::Semaphore;

use self::page::Pages;
use super::query::{Catalog, QueryError};
use olm_model::names;

pub(crate) use self::content::{Content, Filter, Line};
pub(crate) use self::graph::{GraphError, Graphs};
pub(crate) use self::page::{ICON, Page, PageError, STYLE, first};

/// The maximum number of responses that are compressed at a time: each takes some 300 KB until its client has read it.
const MAX_COMPRESSIONS: usize = 64;

/// What is served of a catalog over HTTP.
#[derive(Debug)]
pub struct Site {
    /// The catalog's name in paths.
    pub(crate) name: String,
    pub(crate) content: Content,
    pub(crate) pages: Pages,
    pub(crate) graphs: Graphs,
    pub(crate) loaded: SystemTime,
    /// The responses that may be compressed at a time: further ones are not compressed.
    pub(crate) compressions: Arc<Semaphore>,
}

impl Site {
    /// Returns the site of a catalog.
    ///
    /// # Errors
    /// The index cannot be read.
    pub(crate) fn new(
        name: String,
        lines: Vec<Line>,
        graphs: Graphs,
        catalog: &Catalog,
    ) -> Result<Self, QueryError> {
        let pages = Pages::new(catalog)?;
        Ok(Self {
            name,
            content: Content::new(lines),
            pages,
            graphs,
            loaded: SystemTime::now(),
            compressions: Arc::new(Semaphore::new(MAX_COMPRESSIONS)),
        })
    }
}

/// Returns whether `name` can be the name of a `ClusterCatalog`, in which case catalogd may serve it.
#[must_use]
pub fn is_catalog_name(name: &str) -> bool {
    names::is_subdomain(name)
}
