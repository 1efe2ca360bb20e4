//! Reading the files of a bundle or an index image out of a registry.

use std::collections::BTreeMap;

use futures::{StreamExt, TryStreamExt};

use super::auth::Resolver;
use super::client::Repository;
use super::error::Error;
use super::options::Options;
use super::progress::Progress;
use crate::blocking::blocking;
use crate::layout::{self, Blob, Contents, Image, Platform};
use crate::reference::Reference;

/// Maximum size of a layer that is fetched to read its files, in bytes.
const MAX_LAYER_SIZE: u64 = (2 << 30) - 1;
/// Maximum size of all layers of an image whose files are read, in bytes.
const MAX_LAYERS_SIZE: u64 = 4 << 30;
/// Maximum number of layers of an image whose files are read.
const MAX_LAYERS: u64 = 1000;

/// Pulls the image `reference`: its labels, and the files that they refer to.
///
/// # Errors
///
/// [`Error::NotFound`], [`Error::Unreachable`], [`Error::Denied`]; [`Error::Invalid`] if bytes are not what they
/// should be; [`Error::Layout`] if it is not an image, or a hostile one.
pub async fn pull(
    reference: &Reference,
    options: &Options,
    resolver: &Resolver,
    progress: &Progress,
) -> Result<Contents, Error> {
    let repository = Repository::for_reading(reference, options, resolver).await?;
    let image = repository.image(&Platform::default()).await?;
    let image = repository.with_layers(image, progress).await?;
    Ok(blocking(move || Contents::read(&image)).await?)
}

impl Repository {
    /// Returns the image with the bytes of every layer, fetched if it has only their descriptors.
    ///
    /// # Errors
    ///
    /// As [`Repository::fetch`], and [`Error::Layout`] if there are more than 1000 layers, one exceeds 2 GiB,
    /// or all of them exceed 4 GiB, as the manifest claims.
    pub async fn with_layers(&self, image: Image, progress: &Progress) -> Result<Image, Error> {
        let missing: BTreeMap<String, Blob> = image
            .layers()
            .iter()
            .filter(|layer| !layer.is_present())
            .map(|layer| (layer.digest().to_string(), layer.clone()))
            .collect();
        check_layers(&missing, &self.reference.to_string())?;
        let fetched: BTreeMap<String, Blob> = futures::stream::iter(missing)
            .map(|(digest, blob)| async move { Ok::<_, Error>((digest, self.fetch(&blob, progress).await?)) })
            .buffer_unordered(self.session.parallel)
            .try_collect()
            .await?;
        Ok(image.with_layers(&fetched))
    }
}

/// Checks number and size of layers, as the manifest claims them.
fn check_layers(layers: &BTreeMap<String, Blob>, name: &str) -> Result<(), layout::Error> {
    if layers.len() as u64 > MAX_LAYERS {
        return Err(layout::Error::TooMany { what: format!("layers of {name}"), limit: MAX_LAYERS });
    }
    if let Some(layer) = layers.values().find(|layer| layer.size() > MAX_LAYER_SIZE) {
        let what = format!("layer {} of {name}", layer.digest());
        return Err(layout::Error::TooLarge { what, limit: MAX_LAYER_SIZE });
    }
    let size = layers.values().fold(0, |size: u64, layer| size.saturating_add(layer.size()));
    if size > MAX_LAYERS_SIZE {
        return Err(layout::Error::TooLarge { what: format!("layers of {name}"), limit: MAX_LAYERS_SIZE });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use oci_spec::image::{Descriptor, MediaType};

    use super::*;
    use crate::layout::sha256;

    #[test]
    fn images_of_absurd_size_are_not_fetched() {
        let layer = |size: u64| {
            let digest = sha256(&size.to_le_bytes());
            let blob = Blob::absent(Descriptor::new(MediaType::ImageLayerGzip, size, digest.clone()));
            (digest.to_string(), blob)
        };
        assert!(check_layers(&[layer(1 << 30), layer(2 << 29)].into(), "a").is_ok());
        let too_large = [
            vec![layer(MAX_LAYER_SIZE + 1)],
            vec![layer(u64::MAX), layer(1)],
            vec![layer(1 << 30), layer((1 << 30) + 1), layer((1 << 30) + 2), layer((1 << 30) + 3)],
        ];
        for layers in too_large {
            let error = check_layers(&layers.into_iter().collect(), "a").unwrap_err();
            assert!(matches!(error, layout::Error::TooLarge { .. }), "{error}");
        }
        let error = check_layers(&(0..=MAX_LAYERS).map(layer).collect(), "a").unwrap_err();
        assert!(matches!(error, layout::Error::TooMany { .. }), "{error}");
    }
}
