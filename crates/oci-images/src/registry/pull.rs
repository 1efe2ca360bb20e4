//! Reading the files of a bundle or an index image out of a registry.

use std::collections::BTreeMap;

use futures::{StreamExt, TryStreamExt};
use oci_client::Reference;

use super::{Error, Options, Progress, Repository, Resolver};
use crate::layout::{Blob, Contents, Image, Platform};

/// How many blobs are transferred at once.
pub(super) const PARALLEL: usize = 4;

/// Reads the image `reference`: its labels, and the files that they speak of.
///
/// # Errors
///
/// [`Error::NotFound`], [`Error::Unreachable`], [`Error::Refused`]; [`Error::Mismatch`] where bytes are not what they
/// should be; [`Error::Layout`] where the image is hostile or none.
pub async fn pull(
    reference: &Reference,
    options: &Options,
    resolver: &Resolver,
    progress: &Progress,
) -> Result<Contents, Error> {
    let repository = Repository::for_reading(reference, options, resolver).await?;
    let image = repository.image(&Platform::default()).await?;
    let image = repository.with_layers(image, progress).await?;
    Ok(Contents::read(&image)?)
}

impl Repository {
    /// The image with every layer at hand, fetched where it was only named.
    ///
    /// # Errors
    ///
    /// As [`Repository::fetch`].
    pub async fn with_layers(&self, image: Image, progress: &Progress) -> Result<Image, Error> {
        let missing: BTreeMap<String, Blob> = image
            .layers()
            .iter()
            .filter(|layer| !layer.is_present())
            .map(|layer| (layer.digest().to_string(), layer.clone()))
            .collect();
        let fetched: BTreeMap<String, Blob> = futures::stream::iter(missing)
            .map(|(digest, blob)| async move { Ok::<_, Error>((digest, self.fetch(&blob, progress).await?)) })
            .buffer_unordered(PARALLEL)
            .try_collect()
            .await?;
        Ok(image.with_layers(&fetched))
    }
}
