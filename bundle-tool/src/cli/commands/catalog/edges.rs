//! The CRDs along the upgrade edges of a catalog, compared as [`diff`] compares two bundles.
//!
//! Bundles are at hand if the catalog contains their manifests, or if a directory beside it does.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use rayon::prelude::*;
use serde_json::{Value as Json, json};

use super::contents::{self, Kept};
use super::load;

use kube_yaml::text::counted;
use kube_yaml::text::printable;
use olm_catalog::upgrade::{Edge, permitted};
use olm_catalog::validate::{Channel, Entry, Packages};
use olm_diff::{Change, CrdDifference};
use olm_model::Annotations;
use olm_model::catalog::Bundle;
use olm_model::disk;

/// The maximum number of upgrades that are compared.
const MAX_UPGRADES: usize = 200_000;

/// The maximum size of all different CRDs together, in bytes.
const MAX_SIZE: usize = 2 << 30;

/// The CRDs of a bundle by name, as JSON: those of many bundles fit into memory, and most are the same as those of others.
pub(crate) type Crds = BTreeMap<String, Arc<str>>;

/// The bundles of directories, by package and name.
#[derive(Debug, Default)]
pub(crate) struct AvailableBundles(Kept<Crds>);

impl AvailableBundles {
    /// Reads the bundles below directories.
    pub(crate) fn read(directories: &[PathBuf]) -> Result<Self> {
        let mut paths = Vec::new();
        for directory in directories {
            let found = disk::format::bundles_in(directory)
                .with_context(|| format!("failed to read {}", directory.display()))?;
            if found.is_empty() {
                bail!("{} contains no bundles: expected directories with manifests/", directory.display());
            }
            paths.extend(found);
        }
        let bundles = paths
            .par_iter()
            .map(|path| {
                let bundle = disk::bundle::directory(path)?;
                bundle.complete().with_context(|| format!("failed to read {}", path.display()))?;
                Ok(key_of(&bundle).map(|key| (key, texts(olm_diff::Version::of_bundle(&bundle)))))
            })
            .collect::<Result<Vec<_>>>()?;
        Ok(Self(bundles.into_iter().flatten().collect()))
    }

    /// Returns all available bundles: those of the directories, and those of a catalog that contains their manifests.
    pub(crate) fn with(&self, catalog: Kept<Option<Crds>>) -> Kept<Crds> {
        let of_catalog = catalog.into_iter().filter_map(|(key, crds)| Some((key, crds?)));
        let mut all: Kept<Crds> = of_catalog.collect();
        for (key, crds) in &self.0 {
            all.insert(key.clone(), crds.clone());
        }
        all
    }
}

/// Returns the package and the name of a bundle, if it has a CSV.
pub(crate) fn key_of(bundle: &olm_model::Bundle) -> Option<(String, String)> {
    let package = bundle.annotations()?.get(Annotations::PACKAGE)?.to_owned();
    Some((package, bundle.csv()?.name().to_owned()))
}

/// Returns the CRDs of a blob that contains its manifests.
pub(crate) fn crds_of(blob: &Bundle) -> Option<Crds> {
    let objects = contents::objects(blob);
    if objects.is_empty() {
        return None;
    }
    let parsed: Vec<_> = objects.iter().map(|object| kube_yaml::parse(object)).collect();
    let roots = parsed.iter().filter_map(|one| Some(one.documents.first()?.root()));
    Some(texts(olm_diff::Version::of_objects(roots)))
}

fn texts(version: olm_diff::Version) -> Crds {
    version.into_crds().into_iter().map(|(name, crd)| (name, crd.to_string().into())).collect()
}

/// An upgrade that breaks a CRD.
pub(crate) struct Upgrade<'b> {
    pub(crate) package: &'b str,
    pub(crate) from: &'b str,
    pub(crate) to: &'b Entry,
    /// The channels that permit it, each with the edge.
    pub(crate) channels: Vec<(&'b Channel, Edge)>,
    pub(crate) crds: Vec<CrdDifference>,
}

impl Upgrade<'_> {
    /// Returns what breaks: the first change, and how many more there are.
    pub(crate) fn summary(&self) -> String {
        let changes = self.crds.iter().flat_map(|crd| crd.breaking.iter().map(move |change| (crd, change)));
        let count = changes.clone().count();
        let Some((crd, change)) = changes.into_iter().next() else { return String::new() };
        let more = if count > 1 { format!("; {} more", count - 1) } else { String::new() };
        format!("CRD `{}`: {}{more}", crd.name, olm_diff::sentence(change))
    }

    fn edges(&self) -> String {
        let edges: Vec<String> =
            self.channels.iter().map(|(channel, edge)| format!("channel {}: {edge}", channel.name)).collect();
        edges.join(", ")
    }
}

/// What was compared, and what breaks.
pub(crate) struct Found<'b> {
    pub(crate) upgrades: Vec<Upgrade<'b>>,
    /// How many upgrades were compared.
    compared: usize,
    /// How many bundles of the catalog are available.
    pub(crate) available: usize,
    /// How many bundles are in the catalog.
    bundles: usize,
}

/// Compares the CRDs of all upgrades that the edges of the channels permit between available bundles.
pub(crate) fn breaking<'b>(
    packages: &'b Packages<'b>,
    available: &Kept<Crds>,
    channel: Option<&str>,
    options: &olm_diff::Options,
) -> Result<Found<'b>> {
    let mut upgrades: Vec<Upgrade<'b>> = Vec::new();
    if let Some(channel) = channel {
        load::require_channel(packages, channel)?;
    }
    let (mut known, mut bundles) = (0, 0);
    for (package, linked) in packages {
        let of_package: HashMap<&str, &Crds> = available
            .iter()
            .filter(|((of, _), _)| of == package)
            .map(|((_, name), crds)| (name.as_str(), crds))
            .collect();
        bundles += linked.bundles.len();
        known += linked.bundles.keys().filter(|name| of_package.contains_key(*name)).count();
        let mut indexes: HashMap<(&str, &str), usize> = HashMap::new();
        for (name, graph) in &linked.channels {
            if channel.is_some_and(|channel| channel != *name) {
                continue;
            }
            for edge in permitted(linked, graph, |name| of_package.contains_key(name))? {
                let index = *indexes.entry((edge.from, &edge.to.name)).or_insert_with(|| {
                    upgrades.push(Upgrade {
                        package,
                        from: edge.from,
                        to: edge.to,
                        channels: Vec::new(),
                        crds: Vec::new(),
                    });
                    upgrades.len() - 1
                });
                upgrades[index].channels.push((*graph, edge.by));
            }
            if upgrades.len() > MAX_UPGRADES {
                bail!(
                    "the catalog has more than {MAX_UPGRADES} upgrades to compare; choose some with --package or --channel"
                );
            }
        }
    }
    let compared = upgrades.len();
    compare(&mut upgrades, available, options)?;
    upgrades.retain(|upgrade| !upgrade.crds.is_empty());
    Ok(Found { upgrades, compared, available: known, bundles })
}

/// Compares the CRDs of upgrades. Each two that differ are compared once, however many upgrades have them.
fn compare(upgrades: &mut [Upgrade<'_>], available: &Kept<Crds>, options: &olm_diff::Options) -> Result<()> {
    let mut size = 0;
    // The different CRDs, and the numbers of those of each bundle.
    let mut texts: Vec<&str> = Vec::new();
    let mut numbers: HashMap<&str, usize> = HashMap::new();
    let mut bundles: HashMap<(&str, &str), BTreeMap<&str, usize>> = HashMap::new();
    for ((package, name), crds) in available {
        let of_bundle = bundles.entry((package, name)).or_default();
        for (crd, text) in crds {
            let number = *numbers.entry(text).or_insert_with(|| {
                size += text.len();
                texts.push(text);
                texts.len() - 1
            });
            of_bundle.insert(crd, number);
        }
    }
    if size > MAX_SIZE {
        bail!(
            "the CRDs of the bundles exceed the limit of {MAX_SIZE} bytes; give fewer bundles with --bundles"
        );
    }
    let differing = |upgrade: &Upgrade<'_>| -> Vec<(&str, (usize, usize))> {
        let crds = |name| bundles.get(&(upgrade.package, name));
        let (Some(old), Some(new)) = (crds(upgrade.from), crds(&upgrade.to.name)) else { return Vec::new() };
        let both = new.iter().filter_map(|(crd, new)| Some((*crd, (*old.get(crd)?, *new))));
        both.filter(|(_, (old, new))| old != new).collect()
    };
    let pairs: HashSet<(usize, usize)> =
        upgrades.iter().flat_map(|upgrade| differing(upgrade).into_iter().map(|(_, pair)| pair)).collect();
    let changes: HashMap<(usize, usize), Vec<Change>> = pairs
        .into_par_iter()
        .map(|(old, new)| {
            let parse = |number: usize| -> Json { serde_json::from_str(texts[number]).unwrap_or_default() };
            ((old, new), olm_diff::compare_crds(&parse(old), &parse(new), options))
        })
        .collect();
    for upgrade in upgrades {
        for (crd, pair) in differing(upgrade) {
            if let Some(breaking) = changes.get(&pair).filter(|changes| !changes.is_empty()) {
                upgrade.crds.push(CrdDifference::new(crd.to_owned(), breaking.clone()));
            }
        }
    }
    Ok(())
}

impl Found<'_> {
    fn summary(&self) -> String {
        let packages: HashSet<&str> = self.upgrades.iter().map(|upgrade| upgrade.package).collect();
        format!(
            "upgrades that break a CRD: {} of {}, in {}; available bundles: {} of {}",
            self.upgrades.len(),
            self.compared,
            counted(packages.len(), "package"),
            self.available,
            self.bundles,
        )
    }

    /// Returns the JSON document.
    pub(crate) fn json(&self) -> Json {
        let upgrades = self.upgrades.iter().map(|upgrade| {
            let channels: Vec<Json> = upgrade
                .channels
                .iter()
                .map(|(channel, edge)| json!({"name": channel.name, "edge": edge.to_string()}))
                .collect();
            json!({
                "package": upgrade.package, "from": upgrade.from, "to": upgrade.to.name,
                "channels": channels, "crds": upgrade.crds,
            })
        });
        json!({
            "version": 1,
            "compared": self.compared,
            "bundles": {"inCatalog": self.bundles, "atHand": self.available},
            "upgrades": upgrades.collect::<Vec<_>>(),
        })
    }
}

/// Writes what breaks as text.
pub(crate) fn write_text(found: &Found<'_>, out: &mut impl Write) -> io::Result<()> {
    for upgrade in &found.upgrades {
        let (from, to) = (printable(upgrade.from), printable(&upgrade.to.name));
        writeln!(out, "{from} -> {to} ({})", printable(&upgrade.edges()))?;
        for crd in &upgrade.crds {
            writeln!(out, "  custom resource definition {}", printable(&crd.name))?;
            for change in &crd.breaking {
                writeln!(out, "    {}", printable(&olm_diff::sentence(change)))?;
            }
        }
        writeln!(out)?;
    }
    writeln!(out, "{}", found.summary())
}

/// Writes what breaks as Markdown.
pub(crate) fn markdown(found: &Found<'_>, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "### Upgrades that break a CRD\n\n{}", found.summary())?;
    for upgrade in &found.upgrades {
        let (from, to) = (printable(upgrade.from), printable(&upgrade.to.name));
        writeln!(out, "\n#### `{from}` → `{to}`\n\n{}\n", printable(&upgrade.edges()))?;
        for crd in &upgrade.crds {
            for change in &crd.breaking {
                writeln!(out, "- `{}`: {}", printable(&crd.name), printable(&olm_diff::sentence(change)))?;
            }
        }
    }
    Ok(())
}
