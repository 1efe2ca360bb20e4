//! Adds a rendered bundle to a catalog, with its package and channels.

use serde_json::{Value as Json, json};

use crate::model::catalog::{Bundle, Entry, Icon, Package};
use crate::model::csv::ClusterServiceVersion;
use crate::model::version;

/// Why a bundle cannot be added.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AddError {
    /// No channel is given.
    #[error(
        "bundle `{0}` names no channel: use --channels, or set the channels in metadata/annotations.yaml"
    )]
    NoChannels(String),
    /// A channel's name is empty, or has white space in it.
    #[error("invalid channel name `{0}`: channel names must not be empty or contain white space")]
    ChannelName(String),
    /// The default channel has no entries.
    #[error(
        "default channel `{default}` is not a channel of package `{package}`: its channels are {channels}"
    )]
    NoDefaultChannel {
        /// The package.
        package: String,
        /// The default channel as given.
        default: String,
        /// The channels of the package.
        channels: String,
    },
    /// A blob cannot be written as JSON.
    #[error("failed to write a blob as JSON")]
    Json(#[from] serde_json::Error),
}

/// A blob of the package that a bundle is added to.
#[derive(Debug, Clone, PartialEq)]
pub struct PackageBlob {
    /// The blob, with the fields that are not known here.
    pub json: Json,
    /// Whether it is new or was changed.
    pub is_changed: bool,
}

impl PackageBlob {
    fn new(json: Json) -> Self {
        Self { json, is_changed: true }
    }

    fn is(&self, schema: &str, name: &str) -> bool {
        self.json["schema"] == schema && self.json["name"] == name
    }

    fn set(&mut self, field: &str, value: Json) {
        if self.json[field] != value {
            self.json[field] = value;
            self.is_changed = true;
        }
    }
}

/// Adds `bundle` to the blobs of its package: a bundle of the same name is replaced, the package and the channels are
/// created if they do not exist, and the bundle becomes an entry of each of `channels` with the upgrade edges of its CSV.
///
/// The package's description and icon are those of the bundle with the highest version.
///
/// # Errors
/// There is no channel, a channel has no valid name, or the default channel is not one of the package's.
pub fn add(
    blobs: &mut Vec<PackageBlob>,
    bundle: &Bundle,
    csv: &ClusterServiceVersion,
    channels: &[String],
    default_channel: Option<&str>,
) -> Result<(), AddError> {
    let Some(first) = channels.first() else { return Err(AddError::NoChannels(bundle.name.clone())) };
    for channel in channels {
        if channel.is_empty() || channel.chars().any(|char| char.is_whitespace() || char.is_control()) {
            return Err(AddError::ChannelName(channel.clone()));
        }
    }
    let is_newest = is_newest(blobs, bundle, csv);
    let entry = serde_json::to_value(Entry {
        name: bundle.name.clone(),
        replaces: csv.spec.replaces.clone(),
        skips: csv.spec.skips.clone(),
        skip_range: annotation(csv, "olm.skipRange").to_owned(),
    })?;
    if !blobs.iter().any(|blob| blob.is("olm.package", &bundle.package)) {
        blobs.push(PackageBlob::new(serde_json::to_value(Package {
            schema: "olm.package".to_owned(),
            name: bundle.package.clone(),
            default_channel: first.clone(),
            ..Package::default()
        })?));
    }
    for name in channels {
        let found = blobs.iter_mut().find(|blob| blob.is("olm.channel", name));
        let Some(channel) = found else {
            let json =
                json!({"schema": "olm.channel", "name": name, "package": bundle.package, "entries": [entry]});
            blobs.push(PackageBlob::new(json));
            continue;
        };
        let mut entries = channel.json["entries"].as_array().cloned().unwrap_or_default();
        match entries.iter_mut().find(|other| other["name"] == entry["name"]) {
            Some(other) => *other = entry.clone(),
            None => entries.push(entry.clone()),
        }
        channel.set("entries", Json::Array(entries));
    }
    let known: Vec<String> = blobs
        .iter()
        .filter(|blob| blob.json["schema"] == "olm.channel")
        .filter_map(|blob| blob.json["name"].as_str().map(str::to_owned))
        .collect();
    if let Some(package) = blobs.iter_mut().find(|blob| blob.is("olm.package", &bundle.package)) {
        if let Some(default) = default_channel {
            package.set("defaultChannel", default.into());
        }
        let default = package.json["defaultChannel"].as_str().unwrap_or_default();
        if !known.iter().any(|channel| channel == default) {
            return Err(AddError::NoDefaultChannel {
                package: bundle.package.clone(),
                default: default.to_owned(),
                channels: known.join(", "),
            });
        }
        if is_newest {
            if !csv.spec.description.is_empty() {
                package.set("description", csv.spec.description.clone().into());
            }
            if let Some(icon) = csv.spec.icon.first() {
                let icon = Icon { base64data: icon.base64data.clone(), mediatype: icon.mediatype.clone() };
                package.set("icon", serde_json::to_value(icon)?);
            }
        }
    }
    let json = serde_json::to_value(bundle)?;
    match blobs.iter_mut().find(|blob| blob.is("olm.bundle", &bundle.name)) {
        Some(other) if other.json == json => {}
        Some(other) => *other = PackageBlob::new(json),
        None => blobs.push(PackageBlob::new(json)),
    }
    Ok(())
}

/// Returns whether no other bundle of the package has a higher version.
fn is_newest(blobs: &[PackageBlob], bundle: &Bundle, csv: &ClusterServiceVersion) -> bool {
    let Ok(version) = version::tolerant(&csv.spec.version) else { return true };
    let others =
        blobs.iter().filter(|blob| blob.json["schema"] == "olm.bundle" && blob.json["name"] != bundle.name);
    let versions = others.filter_map(|blob| {
        let properties = blob.json["properties"].as_array()?;
        let package = properties.iter().find(|property| property["type"] == "olm.package")?;
        version::strict(package["value"]["version"].as_str()?).ok()
    });
    versions.max().is_none_or(|highest| version >= highest)
}

fn annotation<'a>(csv: &'a ClusterServiceVersion, key: &str) -> &'a str {
    csv.metadata.annotations.as_ref().and_then(|annotations| annotations.get(key)).map_or("", String::as_str)
}
