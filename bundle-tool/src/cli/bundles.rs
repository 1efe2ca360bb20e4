//! The bundles that commands read: from directories, layouts, archives and registries.

use std::path::Path;

use anyhow::{Context as _, Result, anyhow, bail};

use super::images::{Location, Registries};
use super::runtime::SharedRuntime;
use crate::model::Bundle;
use crate::read;

/// Reads the bundle that a REF names. The runtime is started with the first image.
pub(super) fn read(reference: &str, registries: &Registries, runtime: &SharedRuntime) -> Result<Bundle> {
    let Some(location) = Location::of_image(reference)? else { return read_directory(reference) };
    let contents = runtime
        .get()?
        .block_on(location.contents(registries))
        .with_context(|| format!("failed to read {reference}"))?;
    if contents.is_catalog() {
        bail!("{reference} is a catalog image, expected a bundle image");
    }
    Ok(read::bundle::files(reference, &contents.into_bundle()))
}

/// Reads the bundle in a directory; an error names the other forms of a REF.
fn read_directory(reference: &str) -> Result<Bundle> {
    if reference.is_empty() {
        bail!("empty REF: expected a bundle directory, `oci:DIR`, `oci-archive:FILE` or an image name");
    }
    let path = Path::new(reference);
    read::bundle::directory(path).map_err(|error| {
        let help = if path.is_file() {
            "expected a bundle directory, or `oci-archive:FILE` for an image archive"
        } else if path.exists() {
            return error.into();
        } else {
            "expected a bundle directory, `oci:DIR`, `oci-archive:FILE` or an image name with its registry"
        };
        anyhow!("{:#}; {help}", anyhow::Error::from(error))
    })
}
