//! The basic template: a catalog whose bundles are named by their images.

use std::collections::BTreeSet;

use super::parts::{Bundles, TemplateError, entries, find};
use kube_yaml::{Value, field, string};
use olm_model::catalog::Catalog;

pub(crate) const SCHEMA: &str = "olm.template.basic";

#[derive(Debug)]
pub(crate) struct Basic {
    catalog: Catalog,
}

impl Basic {
    pub(crate) fn read(root: Value<'_>) -> Result<Self, TemplateError> {
        let catalog = entries(root)?;
        let items = field(root, "entries").into_iter().flat_map(Value::items);
        let items = items.filter(|item| string(*item, "schema") == "olm.bundle");
        for (bundle, item) in catalog.bundles.iter().zip(items) {
            let position = item.position();
            let has_more = !bundle.package.is_empty()
                || !bundle.properties.is_empty()
                || !bundle.related_images.is_empty();
            if has_more {
                let name = if bundle.name.is_empty() { &bundle.image } else { &bundle.name };
                return Err(TemplateError::BundleFields { bundle: name.clone(), position });
            }
            if bundle.image.is_empty() {
                return Err(TemplateError::ImageMissing { position });
            }
        }
        Ok(Self { catalog })
    }

    pub(crate) fn images(&self) -> BTreeSet<&str> {
        self.catalog.bundles.iter().map(|bundle| bundle.image.as_str()).collect()
    }

    pub(crate) fn build(mut self, bundles: &Bundles) -> Result<Catalog, TemplateError> {
        for bundle in &mut self.catalog.bundles {
            *bundle = find(bundles, &bundle.image)?.bundle.clone();
        }
        Ok(self.catalog)
    }
}
