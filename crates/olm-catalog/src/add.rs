//! Adds a rendered bundle to a catalog, with its package and channels.

use std::collections::HashMap;

use serde_json::{Value as Json, json};

use kube_yaml::is_same_name;
use olm_model::catalog::{Bundle, Entry, Icon, Package};
use olm_model::csv::ClusterServiceVersion;
use olm_model::report::suggest;
use olm_model::version;
use olm_model::version::Version;

/// Why a bundle cannot be added.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AddError {
    /// No channel is given.
    #[error(
        "bundle `{0}` has no channels: pass --channels, or set the channels in metadata/annotations.yaml"
    )]
    NoChannels(String),
    /// A channel's name is empty, or has whitespace in it.
    #[error("invalid channel name `{0}`: channel names must not be empty or contain whitespace")]
    ChannelName(String),
    /// The default channel has no entries.
    #[error("default channel `{default}` is not a channel of package `{package}`{known}")]
    NoDefaultChannel {
        /// The package.
        package: String,
        /// The default channel as given.
        default: String,
        /// The channels of the package, for the end of the message.
        known: String,
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

/// Where the upgrade edges of an added bundle come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edges {
    /// `replaces`, `skips` and `olm.skipRange` of its CSV.
    Csv,
    /// The versions: each entry replaces the one with the next lower version.
    Versions,
}

/// Which channel becomes the default of the package.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DefaultChannel<'a> {
    /// This one, whatever the version of the bundle is.
    Given(&'a str),
    /// The one that the annotations of the bundle name, if no bundle of the package has a higher version.
    Annotated(&'a str),
}

/// The keys of blobs in the case in which opm writes them.
const KEYS: [&str; 15] = [
    "schema",
    "name",
    "package",
    "defaultChannel",
    "icon",
    "description",
    "entries",
    "properties",
    "image",
    "relatedImages",
    "replaces",
    "skips",
    "skipRange",
    "type",
    "value",
];

/// Renames the keys that are read in another case, down to the items of the blob's lists and their values.
fn canonical(json: Json, depth: usize) -> Json {
    match json {
        Json::Object(map) => {
            let rename = |(key, value): (String, Json)| {
                let known = KEYS.iter().find(|known| is_same_name(&key, known));
                (known.map_or(key, |known| (*known).to_owned()), canonical_below(value, depth))
            };
            Json::Object(map.into_iter().map(rename).collect())
        }
        other => other,
    }
}

fn canonical_below(value: Json, depth: usize) -> Json {
    match value {
        Json::Array(items) if depth > 0 => {
            Json::Array(items.into_iter().map(|item| canonical(item, depth - 1)).collect())
        }
        other => other,
    }
}

impl PackageBlob {
    /// Returns a blob that the catalog has. Its keys may have any case, as for opm.
    #[must_use]
    pub fn known(json: Json) -> Self {
        Self { json: canonical(json, 1), is_changed: false }
    }

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
/// The package's description, icon and annotated default channel are those of the bundle with the highest version. Whether the
/// default channel exists is left to [`check_default_channel`], because a bundle that is added next may create it.
///
/// # Errors
/// There is no channel, or a channel has no valid name.
pub fn add(
    blobs: &mut Vec<PackageBlob>,
    bundle: &Bundle,
    csv: &ClusterServiceVersion,
    channels: &[String],
    default_channel: Option<DefaultChannel<'_>>,
    edges: Edges,
) -> Result<(), AddError> {
    let Some(first) = channels.first() else { return Err(AddError::NoChannels(bundle.name.clone())) };
    for channel in channels {
        if channel.is_empty() || channel.chars().any(|char| char.is_whitespace() || char.is_control()) {
            return Err(AddError::ChannelName(channel.clone()));
        }
    }
    let of_csv = edges == Edges::Csv;
    let entry = serde_json::to_value(Entry {
        name: bundle.name.clone(),
        replaces: if of_csv { csv.spec.replaces.clone() } else { String::new() },
        skips: if of_csv { csv.spec.skips.clone() } else { Vec::new() },
        skip_range: if of_csv { annotation(csv, "olm.skipRange").to_owned() } else { String::new() },
    })?;
    let mut versions = versions(blobs);
    let mut is_newest = true;
    if let Ok(version) = version::tolerant(&csv.spec.version) {
        versions.insert(bundle.name.clone(), version.clone());
        is_newest = versions.values().all(|other| *other <= version);
    }
    let is_new_package = !blobs.iter().any(|blob| blob.is("olm.package", &bundle.package));
    if is_new_package {
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
        if !of_csv {
            insert_by_version(&mut entries, &bundle.name, &versions);
        }
        channel.set("entries", Json::Array(entries));
    }
    if let Some(package) = blobs.iter_mut().find(|blob| blob.is("olm.package", &bundle.package)) {
        let default = match default_channel {
            Some(DefaultChannel::Annotated(_)) if !is_newest && !is_new_package => None,
            Some(DefaultChannel::Given(name) | DefaultChannel::Annotated(name)) => Some(name),
            None => None,
        };
        if let Some(default) = default {
            package.set("defaultChannel", default.into());
        }
        if is_newest {
            if !csv.spec.description.is_empty() {
                package.set("description", csv.spec.description.clone().into());
            }
            // Placeholders of a generated CSV have no data.
            if let Some(icon) = csv.spec.icon.first().filter(|icon| !icon.base64data.is_empty()) {
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

/// Sets the description and the icon of a package, whatever its bundles have. `blobs` are those of the package.
///
/// # Errors
/// The icon cannot be written as JSON.
pub fn describe(
    blobs: &mut [PackageBlob],
    package: &str,
    description: Option<&str>,
    icon: Option<&Icon>,
) -> Result<(), AddError> {
    let Some(blob) = blobs.iter_mut().find(|blob| blob.is("olm.package", package)) else { return Ok(()) };
    if let Some(description) = description {
        blob.set("description", description.into());
    }
    if let Some(icon) = icon {
        blob.set("icon", serde_json::to_value(icon)?);
    }
    Ok(())
}

/// Checks that the default channel of a package is one of its channels. `blobs` are those of the package.
///
/// # Errors
/// It is not.
pub fn check_default_channel(blobs: &[PackageBlob], package: &str) -> Result<(), AddError> {
    let Some(blob) = blobs.iter().find(|blob| blob.is("olm.package", package)) else { return Ok(()) };
    let default = blob.json["defaultChannel"].as_str().unwrap_or_default();
    let channels = blobs.iter().filter(|blob| blob.json["schema"] == "olm.channel");
    let channels: Vec<&str> = channels.filter_map(|blob| blob.json["name"].as_str()).collect();
    if channels.contains(&default) {
        return Ok(());
    }
    Err(AddError::NoDefaultChannel {
        package: package.to_owned(),
        default: default.to_owned(),
        known: suggest::or_known(default, "its channels are", channels),
    })
}

/// Returns the versions of the bundles of the package.
fn versions(blobs: &[PackageBlob]) -> HashMap<String, Version> {
    let bundles = blobs.iter().filter(|blob| blob.json["schema"] == "olm.bundle");
    let versions = bundles.filter_map(|blob| {
        let properties = blob.json["properties"].as_array()?;
        let package = properties.iter().find(|property| property["type"] == "olm.package")?;
        let version = version::strict(package["value"]["version"].as_str()?).ok()?;
        Some((blob.json["name"].as_str()?.to_owned(), version))
    });
    versions.collect()
}

/// Lets the entry of a bundle replace the one with the next lower version, and the one that did so replace the bundle.
fn insert_by_version(entries: &mut [Json], name: &str, versions: &HashMap<String, Version>) {
    let version = |entry: &Json| versions.get(entry["name"].as_str()?);
    let Some(own) = versions.get(name) else { return };
    let lower = entries.iter().filter(|entry| version(entry).is_some_and(|it| it < own));
    let lower = lower.max_by_key(|entry| version(entry)).map_or(Json::Null, |entry| entry["name"].clone());
    let higher = entries
        .iter_mut()
        .filter(|entry| versions.get(entry["name"].as_str().unwrap_or_default()).is_some_and(|it| it > own));
    let higher = higher.min_by_key(|entry| versions.get(entry["name"].as_str().unwrap_or_default()).cloned());
    if let Some(higher) = higher.filter(|entry| entry["replaces"] == lower || entry["replaces"].is_null()) {
        higher["replaces"] = name.into();
    }
    if let Some(entry) = entries.iter_mut().find(|entry| entry["name"] == name).filter(|_| !lower.is_null()) {
        entry["replaces"] = lower;
    }
}

fn annotation<'a>(csv: &'a ClusterServiceVersion, key: &str) -> &'a str {
    csv.metadata.annotations.as_ref().and_then(|annotations| annotations.get(key)).map_or("", String::as_str)
}
