//! Which images bundles and catalogs need.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, bail};
use oci_images::labels;
use oci_images::layout::{Image, Platform};
use oci_images::location::ImageLocation;
use oci_images::registry::{Reference, Repository, Resolver};
use tempfile::TempDir;

use super::filter::{self, Filter};
use crate::cli::images::{Location, RegistryArgs};
use crate::cli::render;
use crate::cli::rendering::Rendering;
use crate::cli::runtime::SharedRuntime;
use kube_yaml::text::excerpt;
use olm_model::catalog::Catalog;

/// An image that is mirrored.
#[derive(Debug)]
pub(crate) struct Mirrored {
    /// Its name in the cluster.
    pub(crate) reference: Reference,
    /// Where it is copied from.
    pub(crate) source: ImageLocation,
    /// Who needs it.
    pub(crate) reason: String,
    /// What it contains.
    pub(crate) content: Content,
}

/// What a mirrored image contains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Content {
    /// A catalog.
    Catalog(CatalogImage),
    /// Anything else.
    Image,
}

/// The image of a catalog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CatalogImage {
    /// Whether it was built from a part of another catalog: no other registry has this image.
    pub(crate) is_part: bool,
    /// Whether it serves itself. Otherwise, OLM extracts the catalog.
    pub(crate) has_program: bool,
    /// The directory of the catalog in the image.
    pub(crate) directory: String,
}

impl Content {
    /// Returns whether it is a catalog that was built from a part of another one.
    pub(crate) fn is_part(&self) -> bool {
        matches!(self, Self::Catalog(image) if image.is_part)
    }

    /// Returns what an image contains, by its configuration.
    fn of(image: &Image, is_part: bool) -> Result<Self> {
        Ok(match image.labels().get(labels::CONFIGS) {
            Some(directory) => Self::Catalog(CatalogImage {
                is_part,
                has_program: image.has_program()?,
                directory: directory.clone(),
            }),
            None => Self::Image,
        })
    }
}

impl Mirrored {
    fn of_registry(name: &str, reason: &str, content: Content) -> Result<Self> {
        let reference = Repository::parse(name).with_context(|| format!("{reason} has an invalid image"))?;
        Ok(Self {
            source: ImageLocation::Registry(reference.clone()),
            reference,
            reason: reason.to_owned(),
            content,
        })
    }
}

/// The images, and what they are copied from if that had to be built.
#[derive(Debug)]
pub(crate) struct Collected {
    pub(crate) images: Vec<Mirrored>,
    /// Removed when everything is copied.
    pub(crate) scratch: Vec<TempDir>,
}

/// Returns the images that bundles and catalogs need, each once, in the order of their names.
pub(crate) fn collect(
    references: &[String],
    filter: &Filter,
    registries: &RegistryArgs,
) -> Result<Collected> {
    let mut found = Found::new();
    let mut scratch = Vec::new();
    let runtime = SharedRuntime::default();
    for reference in references {
        let read = |reference: &str| {
            render::read(reference, None, &Rendering::default(), registries, &runtime)
                .with_context(|| format!("failed to read {reference}"))
        };
        let location = Location::of_image(reference)?;
        if let Some(Location(layout)) = &location {
            let carried = of_layout(reference, layout, registries, &runtime)?;
            if !carried.is_empty() {
                if !filter.is_empty() {
                    bail!(
                        "{reference} contains several images, and is mirrored as a whole: pass --package, --channel and --min-version \
                         when you write the layout"
                    );
                }
                found.extend(carried);
                continue;
            }
        }
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
                let built = filter::image_of(part, name, directory.path())?;
                let content = Content::of(&built.image, true)?;
                let reason = "the pruned catalog".to_owned();
                scratch.push(directory);
                Some(Mirrored { reference: built.reference, source: built.source, reason, content })
            }
            (Some(name), None) => {
                let content = content_at(&ImageLocation::Registry(name.clone()), registries, &runtime)?;
                Some(Mirrored::of_registry(&name.to_string(), "given as REF", content)?)
            }
        };
        found.extend(image.map(|image| (image.reference.to_string(), image)));
        add_referenced(&catalog, &mut found)?;
    }
    Ok(Collected { images: found.into_values().collect(), scratch })
}

/// The images that are mirrored, by name.
type Found = BTreeMap<String, Mirrored>;

/// Adds the images that the bundles of a catalog refer to.
fn add_referenced(catalog: &Catalog, found: &mut Found) -> Result<()> {
    for bundle in &catalog.bundles {
        let reason = format!("bundle {}", excerpt(&bundle.name));
        let related = bundle.related_images.iter().map(|related| related.image.as_str());
        for image in [bundle.image.as_str()].into_iter().chain(related).filter(|image| !image.is_empty()) {
            let mirrored = Mirrored::of_registry(image, &reason, Content::Image)?;
            found.entry(mirrored.reference.to_string()).or_insert(mirrored);
        }
    }
    Ok(())
}

/// Returns what an image contains; its layers are not read.
fn content_at(source: &ImageLocation, registries: &RegistryArgs, runtime: &SharedRuntime) -> Result<Content> {
    let (options, resolver) = (registries.options(), Resolver::from_env());
    let image = runtime.get()?.block_on(source.image(&Platform::default(), &options, &resolver));
    let (image, _) = image.with_context(|| format!("failed to read {source}"))?;
    Content::of(&image, false)
}

/// Returns the images of a layout whose names are those of registries, as `mirror --to` and `copy` write them.
fn of_layout(
    reference: &str,
    location: &ImageLocation,
    registries: &RegistryArgs,
    runtime: &SharedRuntime,
) -> Result<Found> {
    let failed = || format!("failed to read {reference}");
    let mut found = Found::new();
    for name in runtime.get()?.block_on(location.names()).with_context(failed)? {
        let Ok(Some(ImageLocation::Registry(name_in_registry))) = ImageLocation::detect(&name) else {
            continue;
        };
        let source = location.of_name(&name);
        let content = content_at(&source, registries, runtime)?;
        let reason = format!("in {reference}");
        found.insert(
            name_in_registry.to_string(),
            Mirrored { reference: name_in_registry, source, reason, content },
        );
    }
    // Images that the catalogs of the layout refer to, but that the layout lacks, come from registries.
    let catalogs: Vec<_> = found
        .values()
        .filter(|one| matches!(one.content, Content::Catalog(_)))
        .map(|one| one.source.to_string())
        .collect();
    for catalog in catalogs {
        let catalog = render::read(&catalog, None, &Rendering::default(), registries, runtime)
            .with_context(|| format!("failed to read {catalog}"))?;
        add_referenced(&catalog, &mut found)?;
    }
    Ok(found)
}
