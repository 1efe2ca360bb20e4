//! `--base`: the image that files are added to.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};
use oci_images::layout::Platform;
use oci_images::location::Chosen;
use oci_images::registry::Resolver;

use crate::cli::images::{Location, RegistryArgs};

/// The name of the base image.
const NAME: &str = "org.opencontainers.image.base.name";
/// The digest of the base image, or of its index.
const DIGEST: &str = "org.opencontainers.image.base.digest";

/// A base image.
#[derive(Debug)]
pub(crate) struct Base {
    /// Where it is.
    pub(crate) location: Location,
    /// Its images, one for each platform of the new image.
    pub(crate) chosen: Chosen,
}

impl Base {
    /// Reads the base image `name` for each of `platforms`, without its layers if it is in a registry.
    pub(crate) async fn open(name: &str, platforms: &[Platform], registries: &RegistryArgs) -> Result<Self> {
        let location = Location::parse(name)?;
        let chosen = location.0.images_for(platforms, &registries.options(), &Resolver::from_env()).await;
        let chosen = chosen.with_context(|| format!("failed to read the base image {name}"))?;
        Ok(Self { location, chosen })
    }

    /// Returns the annotations of an image on this base.
    pub(crate) fn annotations(&self) -> BTreeMap<String, String> {
        // Local paths are meaningless on other machines.
        let name = self.location.registry().map(|reference| (NAME.to_owned(), reference.to_string()));
        name.into_iter().chain([(DIGEST.to_owned(), self.chosen.digest.to_string())]).collect()
    }
}
