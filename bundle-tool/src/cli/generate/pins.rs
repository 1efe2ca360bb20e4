//! The digests of images: from `bundle-tool.lock` and, for those that are not in it, from their registries.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;

use anyhow::{Context, Result};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use serde::Deserialize;

use crate::cli::images::Registries;
use oci_images::registry::{Repository, Resolver};

/// The lock file's name, in the current folder.
pub(super) const LOCK_FILE: &str = "bundle-tool.lock";
/// How many registries are asked at once.
const PARALLEL: usize = 8;

/// The digests of images by name, as the lock file keeps them.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
pub(super) struct Lock {
    #[serde(default)]
    image: Vec<Pin>,
}

/// One image.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct Pin {
    name: String,
    digest: String,
    /// The platforms that it runs on, where its registry says so.
    #[serde(default)]
    platforms: Vec<String>,
}

impl Lock {
    /// Reads the file; there is nothing in one that is not there.
    pub(super) fn read(path: &Path) -> Result<Self> {
        match fs::read_to_string(path) {
            Ok(text) => toml::from_str(&text)
                .with_context(|| format!("{} is no lock file of this tool", path.display())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(error).with_context(|| format!("failed to read {}", path.display())),
        }
    }

    /// The lock of exactly the `images`: what is known stays, unless `refresh`; the rest is asked for.
    pub(super) async fn of(
        self,
        images: &BTreeSet<String>,
        refresh: bool,
        registries: &Registries,
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

    /// The digests by image.
    pub(super) fn digests(&self) -> BTreeMap<String, String> {
        self.image.iter().map(|pin| (pin.name.clone(), pin.digest.clone())).collect()
    }

    /// The platforms by image.
    pub(super) fn platforms(&self) -> BTreeMap<String, Vec<String>> {
        self.image.iter().map(|pin| (pin.name.clone(), pin.platforms.clone())).collect()
    }

    /// The file's text.
    pub(super) fn text(&self) -> String {
        let mut out = String::from(
            "# The digests that `bundle-tool generate bundle --use-image-digests` writes. Keep this file in git; \
             --update-image-digests asks anew.\n",
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

async fn resolve(image: &str, registries: &Registries) -> Result<Pin> {
    let context = || {
        format!(
            "failed to find the digest of {image}; push it first, or write its digest into {LOCK_FILE} \
             to work without its registry"
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
        assert_eq!(toml::from_str::<Lock>(&lock.text()).unwrap(), lock);
    }

    #[test]
    fn what_is_locked_needs_no_registry() {
        let lock: Lock =
            toml::from_str("[[image]]\nname = \"a:1\"\ndigest = \"sha256:00\"\n[[image]]\nname = \"old:1\"\ndigest = \"sha256:11\"\n").unwrap();
        let images = BTreeSet::from(["a:1".to_owned()]);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let lock = runtime.block_on(lock.of(&images, false, &Registries::default())).unwrap();
        assert_eq!(lock.digests(), BTreeMap::from([("a:1".to_owned(), "sha256:00".to_owned())]));
    }
}
