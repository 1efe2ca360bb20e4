//! A rendered bundle into a catalogue, with its package and channels.

use crate::model::catalog::{Bundle, Catalog, Channel, Entry, Icon, Package};
use crate::model::csv::ClusterServiceVersion;

/// Why a bundle cannot be added.
#[derive(Debug, thiserror::Error)]
pub enum AddError {
    /// The bundle names no channel.
    #[error(
        "the bundle '{0}' names no channel; give --channels or write them into metadata/annotations.yaml"
    )]
    NoChannels(String),
    /// The default channel has no entries.
    #[error("the default channel '{default}' of package '{package}' is none of its channels ({channels})")]
    NoDefaultChannel {
        /// The package.
        package: String,
        /// The default channel as given.
        default: String,
        /// The channels that there are.
        channels: String,
    },
}

/// Puts `bundle` into `catalog`: a bundle of the same name is replaced, its package and channels are made where they
/// are not there, and it becomes an entry of each of `channels` with the upgrade edges that its CSV names.
///
/// # Errors
/// There is no channel, or the default channel is none of the package's.
pub fn add(
    catalog: &mut Catalog,
    bundle: Bundle,
    csv: &ClusterServiceVersion,
    channels: &[String],
    default_channel: Option<&str>,
) -> Result<(), AddError> {
    let Some(first) = channels.first() else { return Err(AddError::NoChannels(bundle.name)) };
    let package = bundle.package.clone();
    let entry = Entry {
        name: bundle.name.clone(),
        replaces: csv.spec.replaces.clone(),
        skips: csv.spec.skips.clone(),
        skip_range: annotation(csv, "olm.skipRange").to_owned(),
    };
    for name in channels {
        let found =
            catalog.channels.iter_mut().find(|channel| channel.package == package && channel.name == *name);
        let Some(channel) = found else {
            catalog.channels.push(Channel {
                schema: "olm.channel".to_owned(),
                name: name.clone(),
                package: package.clone(),
                entries: vec![entry.clone()],
                properties: Vec::new(),
            });
            continue;
        };
        match channel.entries.iter_mut().find(|other| other.name == entry.name) {
            Some(other) => *other = entry.clone(),
            None => channel.entries.push(entry.clone()),
        }
    }
    let index = if let Some(index) = catalog.packages.iter().position(|other| other.name == package) {
        index
    } else {
        catalog.packages.push(Package {
            schema: "olm.package".to_owned(),
            name: package.clone(),
            default_channel: first.clone(),
            icon: None,
            description: String::new(),
            properties: Vec::new(),
        });
        catalog.packages.len() - 1
    };
    let entry = &mut catalog.packages[index];
    if let Some(default) = default_channel {
        default.clone_into(&mut entry.default_channel);
    }
    entry.description.clone_from(&csv.spec.description);
    entry.icon = csv
        .spec
        .icon
        .first()
        .map(|icon| Icon { base64data: icon.base64data.clone(), mediatype: icon.mediatype.clone() });
    let known: Vec<&str> = catalog
        .channels
        .iter()
        .filter(|channel| channel.package == package)
        .map(|channel| channel.name.as_str())
        .collect();
    if !known.contains(&entry.default_channel.as_str()) {
        return Err(AddError::NoDefaultChannel {
            package,
            default: entry.default_channel.clone(),
            channels: known.join(", "),
        });
    }
    match catalog.bundles.iter_mut().find(|other| other.package == package && other.name == bundle.name) {
        Some(other) => *other = bundle,
        None => catalog.bundles.push(bundle),
    }
    Ok(())
}

fn annotation<'a>(csv: &'a ClusterServiceVersion, key: &str) -> &'a str {
    csv.metadata.annotations.as_ref().and_then(|annotations| annotations.get(key)).map_or("", String::as_str)
}
