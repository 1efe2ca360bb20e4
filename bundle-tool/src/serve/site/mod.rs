//! What is served of a catalog over HTTP: its blobs as lines of JSON, and pages to browse it.

mod content;
mod graph;
mod page;

use std::time::SystemTime;

use self::page::Pages;
use super::query::{Catalog, QueryError};
use crate::model::names;

pub(super) use self::content::{Content, Filter, Line};
pub(super) use self::graph::{GraphError, Graphs};
pub(super) use self::page::{ICON, Page, PageError, STYLE, first};

/// What is served of a catalog over HTTP.
#[derive(Debug)]
pub struct Site {
    /// The catalog's name in paths.
    pub(super) name: String,
    pub(super) content: Content,
    pub(super) pages: Pages,
    pub(super) graphs: Graphs,
    pub(super) loaded: SystemTime,
}

impl Site {
    /// Returns the site of a catalog.
    ///
    /// # Errors
    /// The index cannot be read.
    pub(super) fn new(
        name: String,
        lines: Vec<Line>,
        graphs: Graphs,
        catalog: &Catalog,
    ) -> Result<Self, QueryError> {
        let pages = Pages::new(catalog)?;
        Ok(Self { name, content: Content::new(lines), pages, graphs, loaded: SystemTime::now() })
    }
}

/// Returns whether `name` can be the name of a `ClusterCatalog`, in which case catalogd may serve it.
#[must_use]
pub fn is_catalog_name(name: &str) -> bool {
    names::is_subdomain(name)
}
