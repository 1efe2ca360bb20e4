//! The bundle that is installed: read from a directory, an archive or a registry, and pushed on request.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result, bail};

use crate::cli::commands::push;
use crate::cli::images::{Location, RegistryArgs};
use crate::cli::progress::progress;
use oci_images::layout::{Contents, Image, Platform};
use oci_images::registry::{Reference, Repository, Resolver};
use olm_model::disk;
use olm_model::disk::format::FormatError;
use olm_model::read;
use olm_model::{Annotations, Bundle};

/// A bundle, and how it can be pushed.
pub(crate) struct Input {
    /// The bundle.
    pub(crate) bundle: Bundle,
    /// The image that the cluster can pull, by digest.
    pub(crate) image: Option<String>,
    /// The image that can be pushed; a directory has none yet.
    built: Option<Image>,
}

/// Returns whether a bundle is a file or directory of this machine, and not in a registry.
pub(crate) fn is_on_disk(reference: &str) -> Result<bool> {
    Ok(Location::of_image(reference)?.is_none_or(|location| location.registry().is_none()))
}

impl Input {
    /// Reads a bundle.
    pub(crate) async fn read(reference: &str, registries: &RegistryArgs) -> Result<Self> {
        let read = || format!("failed to read {reference}");
        let Some(location) = Location::of_image(reference)? else {
            let path = Path::new(reference);
            if !path.exists() {
                bail!(
                    "{reference} does not exist; expected a bundle directory, `oci:DIR`, `oci-archive:FILE` or an \
                     image name with its registry"
                );
            }
            let bundle = disk::bundle::directory(path)?;
            bundle.complete().with_context(read)?;
            return Ok(Self::of_bundle(bundle));
        };
        let (mut image, repository) =
            location.open(&Platform::default(), registries).await.with_context(read)?;
        let pushed = match (location.registry(), repository) {
            (Some(name), Some(repository)) => {
                image = repository
                    .with_layers(image, &progress(format!("pulling {reference}")))
                    .await
                    .with_context(read)?;
                Some(format!("{}/{}@{}", name.registry(), name.repository(), image.digest()))
            }
            _ => None,
        };
        let contents = Contents::read(&image).with_context(read)?;
        if contents.is_catalog() {
            return Err(FormatError::CatalogAsBundle { path: reference.to_owned() }.into());
        }
        let labels = contents.labels.clone();
        let bundle = read::bundle::files(reference, &contents.into_bundle());
        bundle.complete().with_context(read)?;
        same_labels(reference, &bundle, &labels)?;
        Ok(Self { bundle, image: pushed, built: Some(image) })
    }

    /// Returns a bundle whose manifests are at hand.
    pub(crate) fn of_bundle(bundle: Bundle) -> Self {
        Self { bundle, image: None, built: None }
    }

    /// Builds the bundle's image, which is to be pushed, and remembers its name by digest.
    pub(crate) fn build(&mut self, name: &str) -> Result<Upload> {
        let image = match self.built.take() {
            Some(image) => image,
            None => push::bundle_image(Path::new(&self.bundle.path), &self.bundle)?,
        };
        let upload = Upload { reference: Repository::parse(name)?, image };
        self.image = Some(upload.by_digest());
        Ok(upload)
    }
}

/// Compares the labels of an image with the annotations of its bundle: OLM unpacks by the labels, and consoles show them.
fn same_labels(reference: &str, bundle: &Bundle, labels: &BTreeMap<String, String>) -> Result<()> {
    let Some(annotations) = bundle.annotations() else { return Ok(()) };
    for key in [Annotations::PACKAGE, Annotations::CHANNELS, Annotations::MANIFESTS, Annotations::METADATA] {
        let (label, annotation) =
            (labels.get(key).map_or("", String::as_str), annotations.get(key).unwrap_or_default());
        if label != annotation {
            bail!(
                "label `{key}` of {reference} is `{label}`, but metadata/annotations.yaml has `{annotation}`; \
                 push the bundle again with `bundle-tool push bundle`"
            );
        }
    }
    Ok(())
}

/// An image that is built, and pushed once everything is checked.
pub(crate) struct Upload {
    reference: Reference,
    image: Image,
}

impl Upload {
    /// Returns the name of the image by digest, which is known before it is pushed.
    pub(crate) fn by_digest(&self) -> String {
        format!("{}/{}@{}", self.reference.registry(), self.reference.repository(), self.image.digest())
    }

    async fn push(&self, registries: &RegistryArgs) -> Result<()> {
        let name = self.reference.to_string();
        let push = || format!("failed to push {name}");
        let repository =
            Repository::for_writing(&self.reference, &registries.options(), &Resolver::from_env())
                .await
                .with_context(push)?;
        let progress = progress(format!("pushing {name}"));
        repository.push(&self.image, None, &progress).await.with_context(push)?;
        Ok(())
    }
}

/// The images that an installation needs in a registry, in the order in which they are pushed.
#[derive(Default)]
pub(crate) struct Uploads(pub(crate) Vec<Upload>);

impl Uploads {
    /// Pushes the images; adds the name of each to `pushed`.
    pub(crate) async fn push(&self, registries: &RegistryArgs, pushed: &mut Vec<String>) -> Result<()> {
        for upload in &self.0 {
            upload.push(registries).await?;
            pushed.push(upload.reference.to_string());
        }
        Ok(())
    }
}

/// Returns whether an index image can serve itself: not where the running program cannot serve from an image FROM scratch.
pub(crate) fn serves_itself() -> bool {
    push::can_serve_itself()
}

/// Builds an index image, which serves itself or has only the data.
pub(crate) fn build_index(name: &str, catalog: &[u8], serves_itself: bool) -> Result<Upload> {
    let scratch = tempfile::tempdir().context("failed to create a temporary directory")?;
    atomic_files::file(&scratch.path().join("catalog.json"), catalog)?;
    let image = push::index_image(scratch.path(), serves_itself)?;
    Ok(Upload { reference: Repository::parse(name)?, image })
}
