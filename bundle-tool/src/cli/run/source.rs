//! The bundle that is installed: read from a directory, an archive or a registry, and pushed on request.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result, bail};

use crate::cli::images::{Location, Registries};
use crate::cli::progress::progress;
use crate::cli::push;
use crate::model::{Annotations, Bundle};
use crate::read;
use oci_images::layout::{Contents, Image, Platform};
use oci_images::registry::{Repository, Resolver};

/// A bundle, and how it can be pushed.
pub(in crate::cli) struct Input {
    /// The bundle.
    pub(in crate::cli) bundle: Bundle,
    /// The image that the cluster can pull, by digest.
    pub(super) image: Option<String>,
    /// The image that can be pushed.
    built: Option<Image>,
}

impl Input {
    /// Reads a bundle.
    pub(in crate::cli) async fn read(reference: &str, registries: &Registries) -> Result<Self> {
        let Some(location) = Location::of_image(reference)? else {
            let path = Path::new(reference);
            if !path.exists() {
                bail!(
                    "{reference} does not exist; expected a bundle directory, `oci:DIR`, `oci-archive:FILE` or an \
                     image name with its registry"
                );
            }
            return Ok(Self::of_bundle(read::bundle::directory(path)?));
        };
        let read = || format!("failed to read {reference}");
        let (mut image, repository) =
            location.open(&Platform::default(), registries).await.with_context(read)?;
        let pushed = match (location.registry(), repository) {
            (Some(name), Some(repository)) => {
                image = repository.with_layers(image, &progress("pulling")).await.with_context(read)?;
                Some(format!("{}/{}@{}", name.registry(), name.repository(), image.digest()))
            }
            _ => None,
        };
        let contents = Contents::read(&image).with_context(read)?;
        if contents.is_catalog() {
            bail!("{reference} is a catalog image, expected a bundle image");
        }
        let labels = contents.labels.clone();
        let bundle = read::bundle::files(reference, &contents.into_bundle());
        same_labels(reference, &bundle, &labels)?;
        let built = pushed.is_none().then_some(image);
        Ok(Self { bundle, image: pushed, built })
    }

    /// Returns a bundle whose manifests are at hand.
    pub(in crate::cli) fn of_bundle(bundle: Bundle) -> Self {
        Self { bundle, image: None, built: None }
    }

    /// Pushes the bundle's image, and remembers its name by digest.
    pub(super) async fn push(&mut self, name: &str, registries: &Registries) -> Result<()> {
        let image = match self.built.take() {
            Some(image) => image,
            None => push::bundle_image(Path::new(&self.bundle.path), &self.bundle)?,
        };
        self.image = Some(push_image(name, &image, registries).await?);
        Ok(())
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

/// Pushes an image, and returns its name by digest.
async fn push_image(name: &str, image: &Image, registries: &Registries) -> Result<String> {
    let reference = Repository::parse(name)?;
    let push = || format!("failed to push {name}");
    let repository = Repository::for_writing(&reference, &registries.options(), &Resolver::from_env())
        .await
        .with_context(push)?;
    let progress = progress(format!("pushing {name}"));
    repository.push(image, None, &progress).await.with_context(push)?;
    Ok(format!("{}/{}@{}", reference.registry(), reference.repository(), image.digest()))
}

/// Returns whether an index image can serve itself: not where the running program cannot serve from an image FROM scratch.
pub(super) fn serves_itself() -> bool {
    push::can_serve_itself()
}

/// Pushes an index image, which serves itself or has only the data; returns its name by digest.
pub(super) async fn push_index(
    name: &str,
    catalog: &[u8],
    serves_itself: bool,
    registries: &Registries,
) -> Result<String> {
    let scratch = tempfile::tempdir().context("failed to create a temporary directory")?;
    atomic_files::file(&scratch.path().join("catalog.json"), catalog)?;
    let directory = scratch.path();
    let image = push::index_image(directory, serves_itself)?;
    push_image(name, &image, registries).await
}
