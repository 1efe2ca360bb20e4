//! Which images bundles and catalogs need.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use oci_images::place::Place;
use oci_images::registry::{Reference, Repository};

use crate::cli::images::{Location, Registries};
use crate::cli::render;
use crate::cli::rendering::Rendering;
use crate::cli::runtime::SharedRuntime;
use crate::model::catalog::{Bundle, Catalog};
use crate::model::text::excerpt;
use crate::model::version;

/// Which bundles of a catalog.
#[derive(Debug, Args)]
pub(super) struct Filter {
    /// Mirror only this package of a catalog (repeatable)
    #[arg(long, value_name = "NAME")]
    package: Vec<String>,
    /// Mirror only the bundles of this channel (repeatable)
    #[arg(long, value_name = "NAME")]
    channel: Vec<String>,
    /// Mirror only bundles of this version or later
    #[arg(long, value_name = "VERSION", value_parser = parse_version)]
    min_version: Option<semver::Version>,
}

fn parse_version(text: &str) -> Result<semver::Version, String> {
    version::tolerant(text).map_err(|error| error.to_string())
}

/// An image that is mirrored.
#[derive(Debug)]
pub(super) struct Mirrored {
    /// Its name in the cluster.
    pub(super) reference: Reference,
    /// Where it is copied from.
    pub(super) source: Place,
    /// Who needs it.
    pub(super) reason: String,
}

impl Filter {
    fn is_empty(&self) -> bool {
        self.package.is_empty() && self.channel.is_empty() && self.min_version.is_none()
    }

    /// Removes the bundles that are not kept.
    fn apply(&self, catalog: &mut Catalog) -> Result<()> {
        for package in &self.package {
            if !catalog.bundles.iter().any(|bundle| bundle.package == *package) {
                bail!("no bundle of the package `{}` was found", excerpt(package));
            }
        }
        let channels = catalog.channels.iter().filter(|channel| self.channel.contains(&channel.name));
        let entries: BTreeSet<(&str, &str)> = channels
            .flat_map(|channel| {
                channel.entries.iter().map(|entry| (channel.package.as_str(), entry.name.as_str()))
            })
            .collect();
        let is_wanted = |bundle: &Bundle| {
            (self.package.is_empty() || self.package.contains(&bundle.package))
                && (self.channel.is_empty()
                    || entries.contains(&(bundle.package.as_str(), bundle.name.as_str())))
                && self
                    .min_version
                    .as_ref()
                    .is_none_or(|minimum| version_of(bundle).is_some_and(|version| version >= *minimum))
        };
        let wanted: Vec<bool> = catalog.bundles.iter().map(is_wanted).collect();
        let mut wanted = wanted.into_iter();
        catalog.bundles.retain(|_| wanted.next().unwrap_or(false));
        if catalog.bundles.is_empty() {
            bail!("no bundle matches --package, --channel and --min-version");
        }
        Ok(())
    }
}

fn version_of(bundle: &Bundle) -> Option<semver::Version> {
    let property = bundle.properties.iter().find(|property| property.r#type == "olm.package")?;
    version::tolerant(property.value["version"].as_str()?).ok()
}

/// Returns the images that bundles and catalogs need, each once, in the order of their names.
pub(super) fn collect(
    references: &[String],
    filter: &Filter,
    registries: &Registries,
) -> Result<Vec<Mirrored>> {
    let mut found: BTreeMap<String, Mirrored> = BTreeMap::new();
    let mut add = |name: &str, source: Option<Place>, reason: &str| -> Result<()> {
        let reference = Repository::parse(name).with_context(|| format!("{reason} has an invalid image"))?;
        let source = source.unwrap_or_else(|| Place::Registry(reference.clone()));
        let mirrored = Mirrored { reference, source, reason: reason.to_owned() };
        found.entry(mirrored.reference.whole()).or_insert(mirrored);
        Ok(())
    };
    let runtime = SharedRuntime::default();
    for reference in references {
        let mut catalog = render::read(reference, None, &Rendering::default(), registries, &runtime)
            .with_context(|| format!("failed to read {reference}"))?;
        let is_catalog = !catalog.packages.is_empty();
        if is_catalog {
            filter.apply(&mut catalog)?;
        }
        if let Some(location) = Location::of_image(reference)? {
            match location.registry() {
                Some(name) if !is_catalog || filter.is_empty() => add(&name.whole(), None, "named")?,
                Some(name) => {
                    writeln!(
                        std::io::stderr(),
                        "warning: {} itself is not mirrored: it also lists bundles that --package, --channel and --min-version exclude; push the pruned catalog with `bundle-tool push catalog`",
                        name.whole()
                    )?;
                }
                None => {}
            }
        }
        for bundle in &catalog.bundles {
            let reason = format!("bundle {}", excerpt(&bundle.name));
            let related = bundle.related_images.iter().map(|related| related.image.as_str());
            for image in [bundle.image.as_str()].into_iter().chain(related).filter(|image| !image.is_empty())
            {
                add(image, None, &reason)?;
            }
        }
    }
    Ok(found.into_values().collect())
}
