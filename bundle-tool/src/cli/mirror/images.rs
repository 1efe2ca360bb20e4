//! Which images bundles and catalogs need.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};
use oci_images::place::Place;
use oci_images::registry::{Reference, Repository};
use tempfile::TempDir;

use super::filter::{self, Filter};
use crate::cli::images::{Location, Registries};
use crate::cli::render;
use crate::cli::rendering::Rendering;
use crate::cli::runtime::SharedRuntime;
use crate::model::text::excerpt;

/// An image that is mirrored.
#[derive(Debug)]
pub(super) struct Mirrored {
    /// Its name in the cluster.
    pub(super) reference: Reference,
    /// Where it is copied from.
    pub(super) source: Place,
    /// Who needs it.
    pub(super) reason: String,
    /// What it contains.
    pub(super) content: Content,
}

/// What a mirrored image contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    /// A catalog.
    Catalog,
    /// A part of a catalog: no other registry has this image.
    PartOfCatalog,
    /// Anything else.
    Image,
}

impl Mirrored {
    fn of_registry(name: &str, reason: &str, content: Content) -> Result<Self> {
        let reference = Repository::parse(name).with_context(|| format!("{reason} has an invalid image"))?;
        Ok(Self { source: Place::Registry(reference.clone()), reference, reason: reason.to_owned(), content })
    }
}

/// The images, and what they are copied from if that had to be built.
#[derive(Debug)]
pub(super) struct Collected {
    pub(super) images: Vec<Mirrored>,
    /// Removed when everything is copied.
    pub(super) scratch: Vec<TempDir>,
}

/// Returns the images that bundles and catalogs need, each once, in the order of their names.
pub(super) fn collect(references: &[String], filter: &Filter, registries: &Registries) -> Result<Collected> {
    let mut found: BTreeMap<String, Mirrored> = BTreeMap::new();
    let mut scratch = Vec::new();
    let runtime = SharedRuntime::default();
    for reference in references {
        let read = |reference: &str| {
            render::read(reference, None, &Rendering::default(), registries, &runtime)
                .with_context(|| format!("failed to read {reference}"))
        };
        let location = Location::of_image(reference)?;
        let name = location.as_ref().and_then(Location::registry);
        let directory = tempfile::tempdir().context("failed to create a temporary directory")?;
        let part = if filter.is_empty() {
            None
        } else {
            let part = filter.part_of(reference, directory.path(), registries, &runtime);
            Some(part.with_context(|| format!("failed to select a part of {reference}"))?)
        };
        let catalog = match &part {
            Some(part) => read(&part.display().to_string())?,
            None => read(reference)?,
        };
        let image = match (name, &part) {
            (None, _) => None,
            (Some(name), Some(part)) => {
                let (reference, source) = filter::image_of(part, name, directory.path())?;
                let reason = "the pruned catalog".to_owned();
                scratch.push(directory);
                Some(Mirrored { reference, source, reason, content: Content::PartOfCatalog })
            }
            (Some(name), None) => {
                let is_catalog = !catalog.packages.is_empty();
                let content = if is_catalog { Content::Catalog } else { Content::Image };
                Some(Mirrored::of_registry(&name.to_string(), "given as REF", content)?)
            }
        };
        let mut add = |mirrored: Mirrored| {
            found.entry(mirrored.reference.to_string()).or_insert(mirrored);
        };
        image.into_iter().for_each(&mut add);
        for bundle in &catalog.bundles {
            let reason = format!("bundle {}", excerpt(&bundle.name));
            let related = bundle.related_images.iter().map(|related| related.image.as_str());
            for image in [bundle.image.as_str()].into_iter().chain(related).filter(|image| !image.is_empty())
            {
                add(Mirrored::of_registry(image, &reason, Content::Image)?);
            }
        }
    }
    Ok(Collected { images: found.into_values().collect(), scratch })
}
