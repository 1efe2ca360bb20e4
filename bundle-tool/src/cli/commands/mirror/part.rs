//! Selects a part of a catalog, and builds the image of a catalog that contains only this part.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use oci_images::layout::{Image, write_directory};
use oci_images::location::ImageLocation;
use oci_images::registry::{Reference, Repository};

use crate::cli::commands::catalog::prune::{Part, prune_into};
use crate::cli::commands::push;
use crate::cli::images::{Location, RegistryArgs};
use crate::cli::runtime::SharedRuntime;
use kube_yaml::text::excerpt;
use olm_catalog::prune::Keep;
use olm_catalog::validate::{PackageGraph, Packages, heads};
use olm_model::report::suggest;
use olm_model::version::Range;

/// Which bundles of a catalog are mirrored.
#[derive(Debug, Clone, Default)]
pub(crate) struct Selection {
    /// What is kept, as `catalog prune` keeps it; everything if there is none and nothing is newest.
    pub(crate) keep: Vec<Keep>,
    /// Packages and channels of which only the newest bundle is kept.
    pub(crate) newest: Vec<Newest>,
    /// Whether only the newest bundle of each package's default channel is kept.
    pub(crate) newest_of_all: bool,
    /// Whether each package may be in any of the catalogs, as for `--keep`, and need not be in this one.
    pub(crate) is_of_all: bool,
    /// Default channels by package, where they change.
    pub(crate) defaults: BTreeMap<String, String>,
}

/// The newest bundle of a channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Newest {
    pub(crate) package: String,
    /// The default channel, if it is not named.
    pub(crate) channel: Option<String>,
    /// Versions of the default channel to keep instead.
    pub(crate) versions: Option<Range>,
}

/// The packages of all catalogs so far.
#[derive(Debug, Default)]
pub(crate) struct FoundPackages(RefCell<BTreeSet<String>>);

impl Selection {
    /// Returns whether everything is mirrored.
    pub(crate) fn is_everything(&self) -> bool {
        self.keep.is_empty() && self.newest.is_empty() && !self.newest_of_all
    }

    /// Returns the packages that are named.
    fn packages(&self) -> impl Iterator<Item = &str> {
        let kept = self.keep.iter().map(|keep| keep.package.as_str());
        kept.chain(self.newest.iter().map(|newest| newest.package.as_str()))
    }

    /// Rejects a package that is not in the catalog `place`.
    pub(crate) fn check(&self, found: &FoundPackages, place: &str) -> Result<()> {
        let found = found.0.borrow();
        match self.packages().find(|package| !found.contains(*package)) {
            Some(package) => {
                let known = found.iter().map(String::as_str);
                let known = suggest::or_known(package, "the packages are", known);
                bail!("package `{}` is not in {place}{known}", excerpt(package))
            }
            None => Ok(()),
        }
    }

    /// Writes the part of the catalog `reference` below `scratch`, and returns its directory; `None` if the catalog has none of the
    /// packages.
    ///
    /// # Errors
    /// The catalog cannot be read, or the part would not be valid.
    pub(crate) fn part_of(
        &self,
        reference: &str,
        scratch: &Path,
        found: &FoundPackages,
        registries: &RegistryArgs,
        runtime: &SharedRuntime,
    ) -> Result<Option<PathBuf>> {
        let whole = match Location::of_image(reference)? {
            None if Path::new(reference).is_file() => {
                bail!("--keep applies to a catalog directory or image, not to a file")
            }
            None => PathBuf::from(reference),
            Some(location) => {
                let contents = runtime.get()?.block_on(location.contents(registries))?;
                let whole = scratch.join("whole");
                atomic_files::tree(&whole, contents.files)?;
                whole
            }
        };
        let part = scratch.join("part");
        let mut is_empty = false;
        let pruned = prune_into(&whole, &part, |packages| {
            let chosen = self.choose(packages, found)?;
            is_empty = chosen.keep.is_empty();
            if is_empty {
                bail!("the catalog has none of the packages");
            }
            Ok(chosen)
        });
        if is_empty {
            return Ok(None);
        }
        pruned.map(|()| Some(part))
    }

    fn choose(&self, packages: &Packages<'_>, found: &FoundPackages) -> Result<Part> {
        let is_here = |package: &str| packages.contains_key(package);
        found.0.borrow_mut().extend(packages.keys().map(|package| (*package).to_owned()));
        let mut keep: Vec<Keep> = self.keep.iter().filter(|keep| is_here(&keep.package)).cloned().collect();
        for Newest { package, channel, versions } in &self.newest {
            let Some(linked) = packages.get(package.as_str()) else { continue };
            let default = self.defaults.get(package).unwrap_or(&linked.package.default_channel);
            let channel = channel.as_ref().unwrap_or(default);
            let versions = match versions {
                Some(versions) => versions.clone(),
                None => newest(linked, channel)?,
            };
            keep.push(Keep {
                package: package.clone(),
                channel: Some(channel.clone()),
                versions: Some(versions),
            });
        }
        if self.newest_of_all {
            for (&package, linked) in packages {
                let channel = &linked.package.default_channel;
                let versions = Some(newest(linked, channel)?);
                keep.push(Keep { package: package.to_owned(), channel: Some(channel.clone()), versions });
            }
        }
        let defaults = self.defaults.clone().into_iter().filter(|(package, _)| is_here(package)).collect();
        Ok(Part { keep, defaults })
    }
}

/// Returns the version of the head of a channel, as a range.
fn newest(linked: &PackageGraph<'_>, channel: &str) -> Result<Range> {
    let package = excerpt(&linked.package.name);
    let heads = heads(linked.channel(channel)?);
    let versions = heads.iter().filter_map(|head| linked.bundles.get(head.name.as_str())?.version.as_ref());
    let Some(version) = versions.max() else {
        bail!("channel `{}` of package `{package}` has no newest bundle with a version", excerpt(channel));
    };
    Range::parse(&format!("={version}")).context("the version of the newest bundle cannot be a range")
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

/// Builds the image of a part of a catalog below `scratch`, which serves itself if the image of the whole catalog does.
pub(crate) fn image_of(
    part: &Path,
    whole: &Reference,
    has_program: bool,
    scratch: &Path,
) -> Result<BuiltPart> {
    let image = push::index_image(part, has_program && push::can_serve_itself())?;
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
