//! Which images bundles and catalogs need.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Error, Result, bail};
use oci_images::labels;
use oci_images::layout::{Blob, Image, Platform};
use oci_images::location::ImageLocation;
use oci_images::registry::{Policy, Reference, Repository};
use oci_images::transfer::{self, Transfer};
use tempfile::TempDir;

use super::is_expired;
use super::part::{self, FoundPackages, Selection};
use super::plan::Rename;
use super::skip::Skips;
use super::workloads::{self, Used};
use crate::cli::commands::render::{self, Invalid};
use crate::cli::images::{Location, RegistryArgs};
use crate::cli::rendering::Rendering;
use crate::cli::runtime::SharedRuntime;
use kube_yaml::text::{excerpt, source_name};
use olm_model::catalog::Catalog;

/// Maximum size of the layers of an image without labels whose files are read, because it may be a bundle, in bytes.
const MAX_UNLABELED: u64 = 4 << 20;

/// An image that is mirrored.
#[derive(Debug, Clone)]
pub(crate) struct Mirrored {
    /// Its name in the cluster.
    pub(crate) reference: Reference,
    /// Where it is copied from.
    pub(crate) source: ImageLocation,
    /// Who needs it.
    pub(crate) reason: String,
    /// What it contains.
    pub(crate) content: Content,
    /// What it is called at a registry instead.
    pub(crate) rename: Rename,
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

    /// Returns whether it is a catalog.
    pub(crate) fn is_catalog(&self) -> bool {
        matches!(self, Self::Catalog(_))
    }

    /// Returns what an image contains, by its configuration.
    fn from_image(image: &Image, is_part: bool) -> Result<Self> {
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
    /// Returns what images are sorted by: an image that is renamed is mirrored under its own name, too, if something needs it there.
    fn key(&self) -> String {
        let Rename { repository, tag } = &self.rename;
        let renamed = [repository, tag].map(|name| name.as_deref().unwrap_or_default());
        format!("{} {}", self.reference, renamed.join(":"))
    }

    fn of_registry(name: &str, reason: &str, content: Content) -> Result<Self> {
        let reference = Repository::parse(name).with_context(|| format!("{reason} has an invalid image"))?;
        Ok(Self {
            source: ImageLocation::Registry(reference.clone()),
            reference,
            reason: reason.to_owned(),
            content,
            rename: Rename::default(),
        })
    }
}

/// A bundle, a catalog or an image to mirror, with the part of it that is mirrored.
#[derive(Debug, Clone)]
pub(crate) struct Wanted {
    pub(crate) reference: String,
    pub(crate) selection: Selection,
    /// What it is called at a registry instead.
    pub(crate) rename: Rename,
}

/// The images, and what they are copied from if that had to be built.
#[derive(Debug)]
pub(crate) struct Collected {
    pub(crate) images: Vec<Mirrored>,
    /// What could not be read.
    pub(crate) problems: Vec<Error>,
    /// Removed when everything is copied.
    pub(crate) scratch: Vec<TempDir>,
}

/// Collects images.
pub(crate) struct Collector<'a> {
    pub(crate) registries: &'a RegistryArgs,
    pub(crate) transfer: &'a Transfer,
    pub(crate) runtime: &'a SharedRuntime,
    pub(crate) skip: &'a Skips,
    /// What images that are read, such as catalogs, have to satisfy.
    pub(crate) policy: Option<&'a Policy>,
    /// Whether something that cannot be read is an error at once.
    pub(crate) is_strict: bool,
}

/// The image of a whole catalog of which a part is mirrored.
struct WholeImage<'a> {
    name: &'a Reference,
    /// What the part is called at a registry instead.
    rename: &'a Rename,
    has_program: bool,
}

/// The images that are mirrored, by their keys.
type Found = BTreeMap<String, Mirrored>;

impl Collector<'_> {
    /// Returns the images that bundles and catalogs need, each once, in the order of their names.
    ///
    /// # Errors
    /// A package that is named is in no catalog; with `is_strict`, something cannot be read.
    pub(crate) fn collect(&self, wanted: &[Wanted]) -> Result<Collected> {
        let mut found = Found::new();
        let (mut scratch, mut problems) = (Vec::new(), Vec::new());
        let of_all = FoundPackages::default();
        let mut is_catalog = false;
        for one in wanted {
            let mut own = Found::new();
            let own_packages = FoundPackages::default();
            let packages = if one.selection.is_of_all { &of_all } else { &own_packages };
            let read = self.add(one, packages, &mut own, &mut scratch, &mut problems);
            match read {
                Ok(was_catalog) => {
                    is_catalog |= was_catalog;
                    if !one.selection.is_of_all {
                        one.selection.check(packages, &one.reference)?;
                    }
                }
                // No time is left for the others, either.
                Err(error) if self.is_strict || wanted.len() == 1 || is_expired(&error) => return Err(error),
                Err(error) => problems.push(error),
            }
            for (name, image) in own {
                found.entry(name).or_insert(image);
            }
        }
        let kept = wanted.iter().find(|one| one.selection.is_of_all && !one.selection.is_everything());
        if let Some(one) = kept
            && problems.is_empty()
        {
            if !is_catalog {
                bail!("--keep applies to catalogs, and no REF is a catalog");
            }
            one.selection
                .check(&of_all, if wanted.len() == 1 { "the catalog" } else { "any of the catalogs" })?;
        }
        if self.is_strict && !problems.is_empty() {
            return Err(problems.swap_remove(0));
        }
        let images = found.into_values();
        let images = images.filter(|image| !self.skip.contain(&image.reference.to_string())).collect();
        Ok(Collected { images, problems, scratch })
    }

    /// Adds what one REF needs, and returns whether it is a catalog.
    fn add(
        &self,
        Wanted { reference, selection, rename }: &Wanted,
        packages: &FoundPackages,
        found: &mut Found,
        scratch: &mut Vec<TempDir>,
        problems: &mut Vec<Error>,
    ) -> Result<bool> {
        if let Some(used) = workloads::images(reference)
            .with_context(|| format!("failed to read {}", source_name(reference)))?
        {
            for Used { image, reason } in used {
                self.add_named(&image, &reason, found, problems)?;
            }
            return Ok(false);
        }
        let location = Location::of_image(reference)?;
        let mut own = None;
        if let Some(Location(place)) = &location {
            if self.add_layout(reference, place, found, problems)? {
                if !selection.is_everything() {
                    bail!(
                        "{reference} contains several images, and is mirrored as a whole: use --keep when you write the layout"
                    );
                }
                return Ok(true);
            }
            if let (Some(policy), ImageLocation::Registry(_)) = (self.policy, place) {
                self.runtime.get()?.block_on(self.transfer.require(place, policy))?;
            }
            let name = match place {
                ImageLocation::Registry(name) => Some(name.clone()),
                ImageLocation::Directory(_, Some(name)) | ImageLocation::Archive(_, Some(name)) => {
                    ImageLocation::detect(name).ok().flatten().and_then(|place| match place {
                        ImageLocation::Registry(name) => Some(name),
                        _ => None,
                    })
                }
                _ => None,
            };
            let image = match self.content(place).with_context(|| format!("failed to read {reference}"))? {
                transfer::Content::Image(image) => image,
                transfer::Content::Artifact { media_type, config } => {
                    let name = name.with_context(|| format!("{reference} has no name in a registry"))?;
                    let (source, reason) = (place.clone(), "given as REF".to_owned());
                    let (content, rename) = (Content::Image, rename.clone());
                    let own = Mirrored { reference: name, source, reason, content, rename };
                    found.insert(own.key(), own);
                    return self.add_chart(reference, &media_type, &config, found, problems).map(|()| false);
                }
            };
            let content = Content::from_image(&image, false)?;
            if let Some(name) = &name {
                let (source, reason) = (place.clone(), "given as REF".to_owned());
                let (content, rename) = (content.clone(), rename.clone());
                own = Some(Mirrored { reference: name.clone(), source, reason, content, rename });
            }
            if !content.is_catalog() && !self.is_bundle(&image, location.as_ref()) {
                let Some(own) = own else {
                    bail!("{reference} is neither a bundle nor a catalog, and has no name in a registry");
                };
                found.insert(own.key(), own);
                return Ok(false);
            }
            if let Content::Catalog(CatalogImage { has_program, .. }) = content
                && !selection.is_everything()
            {
                let name = &name.with_context(|| format!("{reference} has no name in a registry"))?;
                let whole = WholeImage { name, rename, has_program };
                return self.add_part(reference, selection, Some(&whole), packages, found, scratch, problems);
            }
        } else if !selection.is_everything() && !Path::new(reference).join("manifests").is_dir() {
            return self.add_part(reference, selection, None, packages, found, scratch, problems);
        }
        let is_catalog = match &location {
            Some(_) => own.as_ref().is_some_and(|own| own.content.is_catalog()),
            None => !Path::new(reference).join("manifests").is_dir(),
        };
        let catalog = self.read(reference)?;
        found.extend(own.map(|image| (image.key(), image)));
        self.add_referenced(&catalog, found, problems)?;
        Ok(is_catalog)
    }

    #[expect(clippy::too_many_arguments, reason = "what is collected, and where it comes from")]
    fn add_part(
        &self,
        reference: &str,
        selection: &Selection,
        whole: Option<&WholeImage<'_>>,
        packages: &FoundPackages,
        found: &mut Found,
        scratch: &mut Vec<TempDir>,
        problems: &mut Vec<Error>,
    ) -> Result<bool> {
        let directory = tempfile::tempdir().context("failed to create a temporary directory")?;
        let part = selection.part_of(reference, directory.path(), packages, self.registries, self.runtime);
        let part = part.with_context(|| format!("failed to select a part of {reference}"))?;
        let Some(part) = part else { return Ok(true) };
        let catalog = self.read(&part.display().to_string())?;
        if let Some(&WholeImage { name, rename, has_program }) = whole {
            let built = part::image_of(&part, name, has_program, directory.path())?;
            let content = Content::from_image(&built.image, true)?;
            let reason = "the pruned catalog".to_owned();
            scratch.push(directory);
            let (reference, source, rename) = (built.reference, built.source, rename.clone());
            let image = Mirrored { reference, source, reason, content, rename };
            found.insert(image.key(), image);
        }
        self.add_referenced(&catalog, found, problems)?;
        Ok(true)
    }

    /// Adds the images that the bundles of a catalog refer to.
    fn add_referenced(&self, catalog: &Catalog, found: &mut Found, problems: &mut Vec<Error>) -> Result<()> {
        for bundle in &catalog.bundles {
            let reason = format!("bundle {}", excerpt(&bundle.name));
            let related = bundle.related_images.iter().map(|related| related.image.as_str());
            let images = [bundle.image.as_str()].into_iter().chain(related);
            for image in images.filter(|image| !image.is_empty()) {
                self.add_named(image, &reason, found, problems)?;
            }
        }
        Ok(())
    }

    /// Adds an image that something names, unless it is skipped.
    fn add_named(
        &self,
        image: &str,
        reason: &str,
        found: &mut Found,
        problems: &mut Vec<Error>,
    ) -> Result<()> {
        if self.skip.contain(image) {
            return Ok(());
        }
        match Mirrored::of_registry(image, reason, Content::Image) {
            Ok(mirrored) => {
                found.entry(mirrored.key()).or_insert(mirrored);
            }
            Err(error) if self.is_strict => return Err(error),
            Err(error) => problems.push(error),
        }
        Ok(())
    }

    fn read(&self, reference: &str) -> Result<Catalog> {
        render::read(reference, None, &Rendering::default(), Invalid::Omitted, self.registries, self.runtime)
            .with_context(|| format!("failed to read {reference}"))
    }

    fn content(&self, place: &ImageLocation) -> Result<transfer::Content> {
        Ok(match place {
            ImageLocation::DockerArchive(..) => {
                let location = Location(place.clone());
                let opened =
                    self.runtime.get()?.block_on(location.open(&Platform::default(), self.registries));
                transfer::Content::Image(Box::new(opened?.0))
            }
            place => self.runtime.get()?.block_on(self.transfer.content(place))?,
        })
    }

    /// Adds the images that an artifact lists if it is a Helm chart.
    fn add_chart(
        &self,
        reference: &str,
        media_type: &str,
        config: &[u8],
        found: &mut Found,
        problems: &mut Vec<Error>,
    ) -> Result<()> {
        if media_type != workloads::CHART {
            return Ok(());
        }
        let used = workloads::images_of_config(config);
        for Used { image, reason } in used.with_context(|| format!("failed to read {reference}"))? {
            self.add_named(&image, &reason, found, problems)?;
        }
        Ok(())
    }

    /// Returns whether an image that is not a catalog is a bundle: by its labels, or by its files if it has no labels.
    fn is_bundle(&self, image: &Image, location: Option<&Location>) -> bool {
        if !image.labels().is_empty() {
            return image.labels().contains_key(labels::PACKAGE)
                || image.labels().contains_key(labels::DATABASE);
        }
        let size: u64 = image.layers().iter().map(Blob::size).sum();
        let (Some(location), Ok(runtime), true) = (location, self.runtime.get(), size <= MAX_UNLABELED)
        else {
            return false;
        };
        runtime.block_on(location.contents(self.registries)).is_ok()
    }

    /// Adds the images of a layout whose names are those of registries, as `mirror --to` and `copy` write them. Returns whether it is a
    /// layout as a whole.
    fn add_layout(
        &self,
        reference: &str,
        place: &ImageLocation,
        found: &mut Found,
        problems: &mut Vec<Error>,
    ) -> Result<bool> {
        let (ImageLocation::Directory(_, None) | ImageLocation::Archive(_, None)) = place else {
            return Ok(false);
        };
        let failed = || format!("failed to read {reference}");
        for name in self.runtime.get()?.block_on(self.transfer.names(place)).with_context(failed)? {
            let Ok(Some(ImageLocation::Registry(name_in_registry))) = ImageLocation::detect(&name) else {
                continue;
            };
            let source = place.of_name(&name);
            let content = match self.content(&source).with_context(|| format!("failed to read {source}"))? {
                transfer::Content::Image(image) => Content::from_image(&image, false)?,
                transfer::Content::Artifact { .. } => Content::Image,
            };
            let reason = format!("in {reference}");
            let (reference, rename) = (name_in_registry, Rename::default());
            let image = Mirrored { reference, source, reason, content, rename };
            found.insert(image.key(), image);
        }
        if found.is_empty() {
            return Ok(false);
        }
        // Images that the catalogs of the layout refer to, but that the layout lacks, come from registries.
        let catalogs: Vec<_> =
            found.values().filter(|one| one.content.is_catalog()).map(|one| one.source.to_string()).collect();
        for catalog in catalogs {
            self.add_referenced(&self.read(&catalog)?, found, problems)?;
        }
        Ok(true)
    }
}
