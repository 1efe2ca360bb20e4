//! The catalog that a bundle is installed from.

use anyhow::{Context as _, Result, bail};

use olm_catalog::validate::head_positions;
use olm_cluster::preflight::Candidate;
use olm_model::catalog::{Catalog, Channel, Entry, Package};
use olm_model::csv::ClusterServiceVersion;
use olm_model::{Annotations, Bundle};

/// The maximum number of heads that are named.
const MAX_HEADS: usize = 10;

/// What a bundle says about itself.
pub(crate) struct Facts {
    /// What the preflight checks need.
    pub(crate) candidate: Candidate,
    /// The channels, the default one first.
    pub(crate) channels: Vec<String>,
    /// The version.
    pub(crate) version: String,
}

/// Reads what a bundle says about itself. `channel` precedes its channels.
pub(crate) fn facts(bundle: &Bundle, namespace: &str, channel: Option<&str>) -> Result<Facts> {
    let object = bundle
        .csv()
        .with_context(|| format!("{} contains no ClusterServiceVersion in manifests/", bundle.path))?;
    let csv = object
        .decode::<ClusterServiceVersion>()
        .map_err(|error| anyhow::anyhow!("failed to decode {}: {error}", object.file.path))?
        .object;
    let annotations = bundle
        .annotations()
        .with_context(|| format!("{} contains no metadata/annotations.yaml", bundle.path))?;
    let package = annotations.get(Annotations::PACKAGE).unwrap_or_default();
    if package.is_empty() {
        bail!("{} of {} has no annotation `{}`", annotations.file.path, bundle.path, Annotations::PACKAGE);
    }
    let default = annotations.get(Annotations::DEFAULT_CHANNEL).unwrap_or_default();
    let mut channels: Vec<String> = annotations.channels().map(str::to_owned).collect();
    channels.sort_by_key(|channel| channel != default);
    channels.splice(..0, channel.map(str::to_owned));
    if channels.is_empty() {
        bail!("{} of {} has no channels", annotations.file.path, bundle.path);
    }
    let crds = &csv.spec.customresourcedefinitions;
    let packages = bundle.metadata_list("dependencies").map_or_else(Vec::new, |(_, list)| {
        let list = list.to_json();
        list.as_array()
            .into_iter()
            .flatten()
            .filter(|dependency| dependency["type"] == "olm.package")
            .filter_map(|dependency| dependency["value"]["packageName"].as_str().map(str::to_owned))
            .collect()
    });
    let modes = csv.spec.install_modes.iter().filter(|mode| mode.supported);
    Ok(Facts {
        candidate: Candidate {
            package: package.to_owned(),
            csv: object.name().to_owned(),
            namespace: namespace.to_owned(),
            modes: modes.map(|mode| mode.r#type.clone()).collect(),
            min_kube_version: csv.spec.min_kube_version.clone(),
            owned: crds.owned.iter().map(|crd| crd.name.clone()).collect(),
            required: crds.required.iter().map(|crd| (crd.name.clone(), crd.version.clone())).collect(),
            packages,
            create_namespace: false,
            is_upgrade: false,
        },
        channels,
        version: csv.spec.version.clone(),
    })
}

/// Returns a catalog with one bundle in one channel, which replaces `replaces`.
///
/// OLM needs no more: for an upgrade it looks for an entry that replaces the installed CSV, which is on the cluster.
pub(crate) fn single(bundle: &Bundle, image: Option<&str>, facts: &Facts, replaces: &str) -> Result<Catalog> {
    let mut blob = olm_catalog::render(bundle, image)?;
    let package = facts.candidate.package.clone();
    if blob.package.is_empty() {
        blob.package.clone_from(&package);
    }
    let channel = facts.channels.first().cloned().unwrap_or_default();
    Ok(Catalog {
        packages: vec![Package {
            schema: "olm.package".into(),
            name: package.clone(),
            default_channel: channel.clone(),
            ..Package::default()
        }],
        channels: vec![Channel {
            schema: "olm.channel".into(),
            name: channel,
            package,
            entries: vec![Entry {
                name: blob.name.clone(),
                replaces: replaces.to_owned(),
                ..Entry::default()
            }],
            ..Channel::default()
        }],
        bundles: vec![blob],
        ..Catalog::default()
    })
}

/// Adds the blobs of a single-bundle catalog to those of an index image, as operator-sdk does.
pub(crate) fn inject(mut index: Catalog, new: Catalog, image: &str) -> Result<Catalog> {
    for bundle in &new.bundles {
        if index.bundles.iter().any(|one| one.name == bundle.name && one.package == bundle.package) {
            bail!("index image {image} already contains bundle `{}`", bundle.name);
        }
    }
    let known = |package: &Package| index.packages.iter().any(|one| one.name == package.name);
    let packages: Vec<_> = new.packages.into_iter().filter(|package| !known(package)).collect();
    index.packages.extend(packages);
    for channel in new.channels {
        let existing =
            index.channels.iter_mut().find(|one| one.package == channel.package && one.name == channel.name);
        match existing {
            Some(existing) => {
                // The new bundle becomes the head of the channel.
                let head = head(existing, image)?;
                existing.entries.extend(channel.entries.into_iter().map(|mut entry| {
                    if entry.replaces.is_empty() {
                        entry.replaces.clone_from(&head);
                    }
                    entry
                }));
            }
            None => index.channels.push(channel),
        }
    }
    index.bundles.extend(new.bundles);
    Ok(index)
}

/// Returns the head of a channel of an index image.
fn head(channel: &Channel, image: &str) -> Result<String> {
    let entries = channel.entries.iter();
    let edges = entries.map(|entry| (entry.name.as_str(), entry.replaces.as_str(), entry.skips.as_slice()));
    let place = format!("channel `{}` of package `{}` in index image {image}", channel.name, channel.package);
    let help = "choose another channel with --channel, or fix the catalog";
    match head_positions(edges)[..] {
        [head] => Ok(channel.entries[head].name.clone()),
        [] => bail!("{place} has no head that the bundle can replace; {help}"),
        ref several => {
            let more = if several.len() > MAX_HEADS { ", …" } else { "" };
            let names =
                several.iter().take(MAX_HEADS).map(|head| format!("`{}`", channel.entries[*head].name));
            let names = names.collect::<Vec<_>>().join(", ");
            bail!("{place} has several heads, expected one that the bundle replaces: {names}{more}; {help}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The catalog of a package with one channel of these entries: name, `replaces` and `skips`.
    fn catalog(entries: &[(&str, &str, &[&str])]) -> Catalog {
        let entries = entries.iter().map(|(name, replaces, skips)| Entry {
            name: (*name).to_owned(),
            replaces: (*replaces).to_owned(),
            skips: skips.iter().map(|name| (*name).to_owned()).collect(),
            ..Entry::default()
        });
        let channel = Channel {
            name: "stable".into(),
            package: "gizmo".into(),
            entries: entries.collect(),
            ..Channel::default()
        };
        let package = Package { name: "gizmo".into(), ..Package::default() };
        Catalog { packages: vec![package], channels: vec![channel], ..Catalog::default() }
    }

    fn injected(entries: &[(&str, &str, &[&str])]) -> Result<String> {
        let catalog = inject(catalog(entries), catalog(&[("new", "", &[])]), "a/index")?;
        let entry = catalog.channels[0].entries.last().unwrap();
        assert_eq!((catalog.channels.len(), entry.name.as_str()), (1, "new"));
        Ok(entry.replaces.clone())
    }

    #[test]
    fn a_bundle_replaces_the_only_head_of_a_channel() {
        // The next z-stream skips the last release of the previous one.
        assert_eq!(injected(&[("v1", "", &[]), ("v2", "v1", &[]), ("v3", "v1", &["v2"])]).unwrap(), "v3");
        assert_eq!(injected(&[("v1", "", &[])]).unwrap(), "v1");
    }

    #[test]
    fn a_channel_without_a_head_or_with_several_is_an_error() {
        let error = |entries: &[(&str, &str, &[&str])]| injected(entries).unwrap_err().to_string();
        assert_eq!(
            error(&[("v1", "", &[]), ("v2", "v1", &[]), ("v3", "v1", &[])]),
            "channel `stable` of package `gizmo` in index image a/index has several heads, expected one that the bundle \
             replaces: `v2`, `v3`; choose another channel with --channel, or fix the catalog"
        );
        assert_eq!(
            error(&[("v1", "v2", &[]), ("v2", "v1", &[])]),
            "channel `stable` of package `gizmo` in index image a/index has no head that the bundle can replace; choose \
             another channel with --channel, or fix the catalog"
        );
    }
}
