//! The catalog that a bundle is installed from.

use anyhow::{Context as _, Result, bail};

use crate::catalog;
use crate::cluster::preflight::Candidate;
use crate::model::catalog::{Catalog, Channel, Entry, Package};
use crate::model::csv::ClusterServiceVersion;
use crate::model::{Annotations, Bundle};

/// What a bundle says about itself.
pub(in crate::cli) struct Facts {
    /// What the preflight checks need.
    pub(in crate::cli) candidate: Candidate,
    /// The channels, the default one first.
    pub(super) channels: Vec<String>,
    /// The version.
    pub(super) version: String,
}

/// Reads what a bundle says about itself. `channel` precedes its channels.
pub(in crate::cli) fn facts(bundle: &Bundle, namespace: &str, channel: Option<&str>) -> Result<Facts> {
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
pub(super) fn single(bundle: &Bundle, image: Option<&str>, facts: &Facts, replaces: &str) -> Result<Catalog> {
    let mut blob = catalog::render(bundle, image)?;
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
pub(super) fn inject(mut index: Catalog, new: Catalog, image: &str) -> Result<Catalog> {
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
                let replaced: Vec<_> = existing.entries.iter().map(|entry| entry.replaces.clone()).collect();
                let head =
                    existing.entries.iter().map(|entry| &entry.name).find(|name| !replaced.contains(name));
                let head = head.cloned().unwrap_or_default();
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
