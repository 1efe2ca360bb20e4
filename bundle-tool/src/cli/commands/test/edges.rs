//! The upgrades to test: those of a catalog's channel, with where their bundles are found.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};

use crate::cli::bundles;
use crate::cli::commands::catalog::{contents, edges, load};
use crate::cli::commands::run::source::Input;
use crate::cli::images::RegistryArgs;
use olm_catalog::upgrade::{Edge as Permission, permitted};
use olm_catalog::validate::{Channel, PackageGraph, heads, resolve};
use olm_model::catalog::Bundle;
use olm_model::disk;
use olm_model::report::suggest;
use olm_rules::Selection;

/// The maximum number of upgrades that are tested.
const MAX_EDGES: usize = 500;

/// An upgrade to test.
#[derive(Debug)]
pub(crate) struct Edge {
    pub(crate) from: BundleSource,
    pub(crate) to: BundleSource,
    /// What permits it; `None` between two bundles that were given.
    pub(crate) by: Option<Permission>,
}

/// Where a bundle is found.
#[derive(Debug)]
pub(crate) enum BundleSource {
    /// A directory, an archive or an image.
    Reference(String),
    /// The catalog contains its manifests.
    Catalog(Arc<Bundle>),
}

impl BundleSource {
    /// Reads the bundle.
    pub(crate) async fn read(self, registries: &RegistryArgs) -> Result<Input> {
        match self {
            Self::Reference(reference) => Input::read(&reference, registries).await,
            Self::Catalog(blob) => Ok(Input::of_bundle(contents::bundle(&blob).0)),
        }
    }

    /// Returns the name of the bundle, or where it is.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Reference(reference) => reference.clone(),
            Self::Catalog(blob) => blob.name.clone(),
        }
    }
}

/// Which upgrades of a catalog are tested.
pub(crate) struct EdgeArgs<'c> {
    pub(crate) catalog: &'c str,
    pub(crate) package: Option<&'c str>,
    pub(crate) channel: Option<&'c str>,
    /// Directories of bundles.
    pub(crate) bundles: &'c [PathBuf],
    /// Whether all upgrades that the edges of the channel permit are tested.
    pub(crate) all: bool,
    /// Whether the bundles are pushed, which needs their images or directories.
    pub(crate) pushes: bool,
}

/// Returns the upgrades of a channel, with the channel's name.
pub(crate) fn of_catalog(choice: &EdgeArgs<'_>, registries: &RegistryArgs) -> Result<(String, Vec<Edge>)> {
    let failed = || format!("failed to read {}", choice.catalog);
    let sources = load::sources(choice.catalog, registries).with_context(failed)?;
    let (blobs, kept) = contents::read(sources, Arc::new).with_context(failed)?;
    let (mut packages, _) = resolve(&blobs);
    load::select([&mut packages], choice.package)?;
    let mut packages = packages.into_iter();
    let (Some((package, linked)), None) = (packages.next(), packages.next()) else {
        bail!("{} does not contain exactly one package: choose one with --package", choice.catalog);
    };
    let name = choice.channel.unwrap_or(&linked.package.default_channel);
    let Some(channel) = linked.channels.get(name) else {
        let known = suggest::or_known(name, "its channels are", linked.channels.keys().copied());
        bail!("channel `{name}` is not in package `{package}` of {}{known}", choice.catalog);
    };
    let directories = directories(choice.bundles)?;
    let place = |bundle: &str| -> Result<BundleSource> {
        if let Some(path) = directories.get(&(package.to_owned(), bundle.to_owned())) {
            return Ok(BundleSource::Reference(path.display().to_string()));
        }
        let blob = kept.get(&(package.to_owned(), bundle.to_owned()));
        let Some(blob) = blob else { bail!("bundle `{bundle}` is not in {}", choice.catalog) };
        let has_manifests = !contents::objects(blob).is_empty();
        match (has_manifests && !choice.pushes, blob.image.as_str()) {
            (true, _) => Ok(BundleSource::Catalog(blob.clone())),
            (false, "") => bail!("bundle `{bundle}` has no image: add its directory with --bundles"),
            (false, image) => Ok(BundleSource::Reference(image.to_owned())),
        }
    };
    let chosen = if choice.all { all(&linked, channel)? } else { vec![last(&linked, channel)?] };
    if chosen.len() > MAX_EDGES {
        bail!("channel `{name}` permits {} upgrades, which exceed the limit of {MAX_EDGES}", chosen.len());
    }
    let edges = chosen
        .into_iter()
        .map(|(from, to, by)| Ok(Edge { from: place(from)?, to: place(to)?, by: Some(by) }))
        .collect::<Result<Vec<_>>>()?;
    Ok((name.to_owned(), edges))
}

type Chosen<'b> = (&'b str, &'b str, Permission);

/// Returns all upgrades that a channel permits, the oldest first.
fn all<'b>(linked: &PackageGraph<'b>, channel: &'b Channel) -> Result<Vec<Chosen<'b>>> {
    let version = |name: &str| linked.bundles.get(name).and_then(|bundle| bundle.version.clone());
    let mut found: Vec<Chosen<'b>> = permitted(linked, channel, |name| linked.bundles.contains_key(name))?
        .into_iter()
        .map(|one| (one.from, one.to.name.as_str(), one.by))
        .collect();
    if found.is_empty() {
        bail!("channel `{}` permits no upgrade between bundles of the catalog", channel.name);
    }
    found.sort_by_cached_key(|(from, to, _)| (version(to), version(from)));
    Ok(found)
}

/// Returns the upgrade to the head of a channel from the version before it: the one that the head replaces, or the highest that
/// it skips.
fn last<'b>(linked: &PackageGraph<'b>, channel: &'b Channel) -> Result<Chosen<'b>> {
    let version = |name: &str| linked.bundles.get(name).and_then(|bundle| bundle.version.as_ref());
    let head = heads(channel).into_iter().max_by_key(|entry| version(&entry.name));
    let Some(head) = head else { bail!("channel `{}` has no head", channel.name) };
    let to_head = all(linked, channel)?.into_iter().filter(|(_, to, _)| *to == head.name);
    to_head
        .max_by_key(|(from, _, by)| (*by == Permission::Replaces, version(from)))
        .with_context(|| format!("no bundle of the catalog can be upgraded to `{}`, the head", head.name))
}

/// Returns the directories of bundles, by package and name.
fn directories(roots: &[PathBuf]) -> Result<contents::Kept<PathBuf>> {
    let mut found = contents::Kept::new();
    for root in roots {
        let paths =
            disk::format::bundles_in(root).with_context(|| format!("failed to read {}", root.display()))?;
        if paths.is_empty() {
            bail!("{} contains no bundles: expected directories with manifests/", root.display());
        }
        for path in paths {
            let name = path.display().to_string();
            let bundle = bundles::directory(&name, &Selection::default())?;
            bundle.complete().with_context(|| format!("failed to read {name}"))?;
            found.extend(edges::key_of(&bundle).map(|key| (key, path)));
        }
    }
    Ok(found)
}
