//! The digests of images: from `bundle-tool.lock` and, for images that it does not list, from their registries.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io;
use std::path::Path;

use anyhow::{Context, Result};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use serde::Deserialize;

use crate::cli::images::RegistryArgs;
use oci_images::registry::{Repository, Resolver};
use olm_generate::ImagePins;
use olm_model::disk;
use olm_model::read::Unreadable;

/// The lock file's name, in the current directory.
pub(crate) const LOCK_FILE: &str = "bundle-tool.lock";
/// Maximum size of the lock file, in bytes.
const MAX_LOCK_FILE: u64 = 16 << 20;
/// How many registries are queried at once.
const PARALLEL: usize = 8;

/// The digests of images by name, as the lock file keeps them.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
pub(crate) struct Lock {
    #[serde(default)]
    image: Vec<Pin>,
}

/// One image.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct Pin {
    name: String,
    digest: String,
    /// The platforms that it runs on, if its registry specifies them.
    #[serde(default)]
    platforms: Vec<String>,
}

impl Lock {
    /// Reads the file; a missing one is empty.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        match disk::file::read_in_project(path, MAX_LOCK_FILE) {
            Ok(bytes) => toml::from_slice(&bytes)
                .with_context(|| format!("{} is not a valid lock file", path.display())),
            Err(Unreadable::Io(error)) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(error).with_context(|| format!("failed to read {}", path.display())),
        }
    }

    /// Returns the lock of exactly the `images`: known digests are kept, unless `refresh`; the rest is requested.
    pub(crate) async fn update(
        self,
        images: &BTreeSet<String>,
        refresh: bool,
        registries: &RegistryArgs,
    ) -> Result<Self> {
        let mut known: BTreeMap<String, Pin> =
            self.image.into_iter().filter(|_| !refresh).map(|pin| (pin.name.clone(), pin)).collect();
        known.retain(|name, _| images.contains(name));
        let missing: Vec<&String> = images.iter().filter(|image| !known.contains_key(*image)).collect();
        let found: Vec<Pin> = stream::iter(missing)
            .map(|image| async move { resolve(image, registries).await })
            .buffered(PARALLEL)
            .try_collect()
            .await?;
        known.extend(found.into_iter().map(|pin| (pin.name.clone(), pin)));
        Ok(Self { image: known.into_values().collect() })
    }

    /// Returns the digests and platforms by image.
    pub(crate) fn pins(&self) -> ImagePins {
        ImagePins {
            digests: self.image.iter().map(|pin| (pin.name.clone(), pin.digest.clone())).collect(),
            platforms: self.image.iter().map(|pin| (pin.name.clone(), pin.platforms.clone())).collect(),
        }
    }

    /// Returns the file's text.
    pub(crate) fn to_toml(&self) -> String {
        let mut out = String::from(
            "# The digests that `bundle-tool generate bundle --use-image-digests` writes. Keep this file in git; \
             --update-image-digests refreshes it.\n",
        );
        for Pin { name, digest, platforms } in &self.image {
            let platforms: Vec<String> = platforms.iter().map(|platform| format!("{platform:?}")).collect();
            // Writing into a string cannot fail.
            let _ = write!(
                out,
                "\n[[image]]\nname = {name:?}\ndigest = {digest:?}\nplatforms = [{}]\n",
                platforms.join(", ")
            );
        }
        out
    }
}

async fn resolve(image: &str, registries: &RegistryArgs) -> Result<Pin> {
    let context = || {
        format!(
            "failed to resolve the digest of {image}; push it first, or add its digest to {LOCK_FILE} to work \
             without its registry"
        )
    };
    let reference = Repository::parse(image).with_context(context)?;
    let repository = Repository::for_reading(&reference, &registries.options(), &Resolver::from_env())
        .await
        .with_context(context)?;
    let (digest, platforms) = repository.digest().await.with_context(context)?;
    let platforms = platforms.iter().map(ToString::to_string).collect();
    Ok(Pin { name: image.to_owned(), digest: digest.to_string(), platforms })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_read_as_it_was_written() {
        let pin = |name: &str, platforms: &[&str]| Pin {
            name: name.to_owned(),
            digest: "sha256:00".to_owned(),
            platforms: platforms.iter().map(|&platform| platform.to_owned()).collect(),
        };
        let lock =
            Lock { image: vec![pin("a:1", &[]), pin("quay.io/b:v1", &["linux/amd64", "linux/arm64"])] };
        assert_eq!(toml::from_str::<Lock>(&lock.to_toml()).unwrap(), lock);
    }

    #[test]
    fn locked_images_need_no_registry() {
        let lock: Lock =
            toml::from_str("[[image]]\nname = \"a:1\"\ndigest = \"sha256:00\"\n[[image]]\nname = \"old:1\"\ndigest = \"sha256:11\"\n").unwrap();
        let images = BTreeSet::from(["a:1".to_owned()]);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let lock = runtime.block_on(lock.update(&images, false, &RegistryArgs::default())).unwrap();
        assert_eq!(lock.pins().digests, BTreeMap::from([("a:1".to_owned(), "sha256:00".to_owned())]));
    }
}
