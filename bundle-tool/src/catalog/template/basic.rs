//! The basic template: a catalog whose bundles are named by their images.

use std::collections::BTreeSet;

use super::parts::{Bundles, TemplateError, entries, find};
use crate::model::catalog::Catalog;
use crate::model::yaml::Value;

pub(super) const SCHEMA: &str = "olm.template.basic";

#[derive(Debug)]
pub(super) struct Basic {
    catalog: Catalog,
}

impl Basic {
    pub(super) fn read(root: Value<'_>) -> Result<Self, TemplateError> {
        let catalog = entries(root)?;
        for bundle in &catalog.bundles {
            let has_more = !bundle.package.is_empty()
                || !bundle.properties.is_empty()
                || !bundle.related_images.is_empty();
            if bundle.image.is_empty() || has_more {
                let name = if bundle.name.is_empty() { &bundle.image } else { &bundle.name };
                return Err(TemplateError::BundleFields(name.clone()));
            }
        }
        Ok(Self { catalog })
    }

    pub(super) fn images(&self) -> BTreeSet<&str> {
        self.catalog.bundles.iter().map(|bundle| bundle.image.as_str()).collect()
    }

    pub(super) fn build(mut self, bundles: &Bundles) -> Result<Catalog, TemplateError> {
        for bundle in &mut self.catalog.bundles {
            *bundle = find(bundles, &bundle.image)?.bundle.clone();
        }
        Ok(self.catalog)
    }
}
