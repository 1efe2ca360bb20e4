//! The upgrade graph of a package, drawn on request.

use std::collections::BTreeMap;

use crate::catalog::graph::{DrawError, Drawing, svg};
use crate::catalog::validate::{Blob, link};

/// What graphs are drawn of: the names and edges of each package.
#[derive(Debug)]
pub(in crate::serve) struct Graphs(BTreeMap<String, Vec<Blob>>);

impl Graphs {
    /// Groups the blobs of a valid catalog by package.
    pub(in crate::serve) fn new(blobs: Vec<Blob>) -> Self {
        let mut packages: BTreeMap<String, Vec<Blob>> = BTreeMap::new();
        for blob in blobs {
            let package = match &blob {
                Blob::Package(package) => &package.name,
                Blob::Channel(channel) => &channel.package,
                Blob::Bundle(bundle) => &bundle.package,
                Blob::Deprecations(deprecations) => &deprecations.package,
                _ => continue,
            };
            packages.entry(package.clone()).or_default().push(blob);
        }
        Self(packages)
    }

    /// Draws a package as SVG; nothing if there is none of this name.
    ///
    /// # Errors
    /// It is too large to draw.
    pub(in crate::serve) fn svg(&self, package: &str) -> Result<Option<String>, DrawError> {
        let Some(blobs) = self.0.get(package) else { return Ok(None) };
        let (packages, _) = link(blobs);
        packages.get(package).map(|linked| svg(linked, &Drawing::default())).transpose()
    }
}
