//! Selects a part of a catalog, and builds the image of a catalog that contains only this part.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use clap::Args;
use oci_images::layout::{Image, write_directory};
use oci_images::location::ImageLocation;
use oci_images::registry::{Reference, Repository};

use crate::cli::catalog::prune::{Part, prune_into};
use crate::cli::images::{Location, RegistryArgs};
use crate::cli::push;
use crate::cli::runtime::SharedRuntime;
use kube_yaml::text::excerpt;
use olm_catalog::prune::Keep;
use olm_catalog::validate::{PackageGraph, Packages};
use olm_model::version;
use olm_model::version::Range;

const NOT_FOR_BUNDLES: &str = "--package, --channel and --min-version apply to catalogs, not to a bundle";

// Which bundles of a catalog.
#[derive(Debug, Args)]
pub(crate) struct Filter {
    /// Mirror only this package of a catalog (repeatable)
    #[arg(long, value_name = "NAME")]
    package: Vec<String>,
    /// Mirror only this channel of the packages (repeatable); the first one becomes the default channel of a package whose default
    /// channel is not mirrored
    #[arg(long, value_name = "NAME")]
    channel: Vec<String>,
    /// Mirror only this version and later ones, plus whatever is needed to upgrade between them
    #[arg(long, value_name = "VERSION", value_parser = parse_version)]
    min_version: Option<semver::Version>,
}

fn parse_version(text: &str) -> Result<semver::Version, String> {
    version::tolerant(text).map_err(|error| error.to_string())
}

impl Filter {
    /// Returns whether everything is mirrored.
    pub(crate) fn is_empty(&self) -> bool {
        self.package.is_empty() && self.channel.is_empty() && self.min_version.is_none()
    }

    /// Writes the part of the catalog `reference` below `scratch`, and returns its directory.
    ///
    /// # Errors
    /// The catalog cannot be read, is a file or a bundle, or nothing of it is chosen.
    pub(crate) fn part_of(
        &self,
        reference: &str,
        scratch: &Path,
        registries: &RegistryArgs,
        runtime: &SharedRuntime,
    ) -> Result<PathBuf> {
        let whole = match Location::of_image(reference)? {
            None if Path::new(reference).is_file() => {
                bail!(
                    "--package, --channel and --min-version apply to a catalog directory or image, not to a file"
                )
            }
            None if Path::new(reference).join("manifests").is_dir() => bail!(NOT_FOR_BUNDLES),
            None => PathBuf::from(reference),
            Some(location) => {
                let contents = runtime.get()?.block_on(location.contents(registries))?;
                if !contents.is_catalog() {
                    bail!(NOT_FOR_BUNDLES);
                }
                let whole = scratch.join("whole");
                atomic_files::tree(&whole, contents.files)?;
                whole
            }
        };
        let part = scratch.join("part");
        prune_into(&whole, &part, |packages| self.choose(packages))?;
        Ok(part)
    }

    fn choose(&self, packages: &Packages<'_>) -> Result<Part> {
        for name in &self.package {
            if !packages.contains_key(name.as_str()) {
                bail!("package `{}` is not in the catalog", excerpt(name));
            }
        }
        let versions = self.min_version.as_ref().map(|minimum| Range::parse(&format!(">={minimum}")));
        let versions = versions.transpose().context("--min-version cannot be a range")?;
        let (mut keep, mut defaults) = (Vec::new(), BTreeMap::new());
        let is_named = |name: &str| self.package.is_empty() || self.package.iter().any(|one| one == name);
        for (&package, linked) in packages.iter().filter(|(package, _)| is_named(package)) {
            let channels = self.channels(linked);
            for channel in &channels {
                let (package, channel) = (package.to_owned(), Some((*channel).to_owned()));
                keep.push(Keep { package, channel, versions: versions.clone() });
            }
            if let Some(first) = channels.first()
                && !channels.contains(&linked.package.default_channel.as_str())
            {
                defaults.insert(package.to_owned(), (*first).to_owned());
            }
        }
        if keep.is_empty() {
            bail!("no bundle matches --package, --channel and --min-version");
        }
        Ok(Part { keep, defaults })
    }

    /// Returns the chosen channels of a package that have a chosen bundle, in the order of --channel.
    fn channels<'b>(&self, linked: &PackageGraph<'b>) -> Vec<&'b str> {
        let has_bundle = |name: &&str| {
            linked.channels[name].entries.iter().any(|entry| {
                let version = linked.bundles.get(entry.name.as_str()).and_then(|one| one.version.as_ref());
                self.min_version
                    .as_ref()
                    .is_none_or(|minimum| version.is_some_and(|version| version >= minimum))
            })
        };
        let all = linked.channels.keys().copied();
        let mut chosen: Vec<&str> = all
            .filter(|name| self.channel.is_empty() || self.channel.iter().any(|one| one == name))
            .filter(has_bundle)
            .collect();
        chosen.sort_by_key(|name| self.channel.iter().position(|one| one == name));
        chosen
    }
}

/// The image of a part of a catalog.
pub(crate) struct BuiltPart {
    /// Its name, which has the tag of the whole catalog.
    pub(crate) reference: Reference,
    /// Where it is.
    pub(crate) source: ImageLocation,
    /// The image.
    pub(crate) image: Image,
}

/// Builds the image of a part of a catalog below `scratch`.
pub(crate) fn image_of(part: &Path, whole: &Reference, scratch: &Path) -> Result<BuiltPart> {
    let image = push::index_image(part, push::can_serve_itself())?;
    let tag = match (whole.tag(), whole.digest()) {
        (Some(tag), _) => tag.to_owned(),
        (None, Some(digest)) => {
            let hex: String = digest.chars().skip_while(|char| *char != ':').skip(1).take(12).collect();
            format!("part-of-{hex}")
        }
        (None, None) => "latest".to_owned(),
    };
    let name = format!("{}/{}:{tag}@{}", whole.registry(), whole.repository(), image.digest());
    let layout = scratch.join("image");
    write_directory(&layout, &image, &name)?;
    let reference = Repository::parse(&name)?;
    Ok(BuiltPart { reference, source: ImageLocation::Directory(layout, Some(name)), image })
}
