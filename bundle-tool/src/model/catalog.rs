//! The blobs of a file-based catalog, in the form in which they are written.
//!
//! Source: `alpha/declcfg/declcfg.go` and `alpha/property/property.go` of operator-registry v1.73.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::yaml;

/// A file-based catalog: its blobs by schema, each list in the order of the files.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Catalog {
    /// `olm.package`
    pub packages: Vec<Package>,
    /// `olm.channel`
    pub channels: Vec<Channel>,
    /// `olm.bundle`
    pub bundles: Vec<Bundle>,
    /// Blobs of any other schema, with `olm.deprecations`, unchanged.
    pub others: Vec<Json>,
}

impl Catalog {
    /// Appends the blobs of another catalog.
    pub fn merge(&mut self, other: Self) {
        self.packages.extend(other.packages);
        self.channels.extend(other.channels);
        self.bundles.extend(other.bundles);
        self.others.extend(other.others);
    }

    /// Returns all blobs as JSON values: packages with what belongs to them, sorted by package, then what belongs to none.
    ///
    /// # Errors
    /// A blob cannot be written as JSON.
    pub fn blobs(&self) -> serde_json::Result<Vec<Json>> {
        fn of(blob: &Json, key: &str) -> String {
            blob[key].as_str().unwrap_or_default().to_owned()
        }
        let mut blobs = Vec::new();
        for (rank, list) in [
            self.packages.iter().map(serde_json::to_value).collect::<Result<Vec<_>, _>>()?,
            self.channels.iter().map(serde_json::to_value).collect::<Result<Vec<_>, _>>()?,
            self.bundles.iter().map(serde_json::to_value).collect::<Result<Vec<_>, _>>()?,
            self.others.clone(),
        ]
        .into_iter()
        .enumerate()
        {
            blobs.extend(list.into_iter().map(|blob| {
                let name = of(&blob, "name");
                let package = if rank == 0 { name.clone() } else { of(&blob, "package") };
                // Blobs that belong to no package come last.
                ((package.is_empty(), package, rank, name), blob)
            }));
        }
        blobs.sort_by(|(a, _), (b, _)| a.cmp(b));
        Ok(blobs.into_iter().map(|(_, blob)| blob).collect())
    }

    /// Returns the blobs as JSON documents, one after the other.
    ///
    /// # Errors
    /// A blob cannot be written as JSON.
    pub fn to_json(&self) -> serde_json::Result<String> {
        let mut text = String::new();
        for blob in self.blobs()? {
            text += &serde_json::to_string_pretty(&blob)?;
            text.push('\n');
        }
        Ok(text)
    }

    /// Returns the blobs as YAML documents.
    ///
    /// # Errors
    /// A blob cannot be written as JSON, YAML's subset.
    pub fn to_yaml(&self) -> serde_json::Result<String> {
        let mut text = String::new();
        for blob in &self.blobs()? {
            text.push_str("---\n");
            text.push_str(&yaml::emit(blob));
        }
        Ok(text)
    }
}

/// `olm.package`: a package and its default channel.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Package {
    /// `olm.package`
    pub schema: String,
    /// The package's name.
    pub name: String,
    /// The channel of subscriptions that do not name one.
    pub default_channel: String,
    /// The icon.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub icon: Option<Icon>,
    /// The description, in Markdown.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Properties of the package.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub properties: Vec<Property>,
}

/// An icon.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Icon {
    /// The icon's bytes in base64.
    pub base64data: String,
    /// The icon's media type.
    pub mediatype: String,
}

/// `olm.channel`: the upgrade graph of one channel.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Channel {
    /// `olm.channel`
    pub schema: String,
    /// The channel's name.
    pub name: String,
    /// The package that the channel belongs to.
    pub package: String,
    /// The bundles of the channel with their upgrade edges.
    pub entries: Vec<Entry>,
    /// Properties of the channel.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub properties: Vec<Property>,
}

/// A bundle within a channel.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Entry {
    /// The bundle's name.
    pub name: String,
    /// The bundle that this one replaces.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub replaces: String,
    /// Bundles that an upgrade to this one may skip.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skips: Vec<String>,
    /// The versions from which OLM upgrades directly to this one.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub skip_range: String,
}

/// `olm.bundle`: one version of one operator.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Bundle {
    /// `olm.bundle`
    pub schema: String,
    /// The CSV's name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The package that the bundle belongs to.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub package: String,
    /// The bundle's image; empty if the bundle was rendered from a directory without one.
    pub image: String,
    /// What resolvers and consoles read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub properties: Vec<Property>,
    /// All images that mirrors must copy.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub related_images: Vec<RelatedImage>,
}

/// A property of a package, channel or bundle.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Property {
    /// The type: `olm.package`, `olm.gvk`…
    pub r#type: String,
    /// The value, in the type's form.
    pub value: Json,
}

/// An image that the operator may run.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(default)]
pub struct RelatedImage {
    /// The name.
    pub name: String,
    /// The reference.
    pub image: String,
}
