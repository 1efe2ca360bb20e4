//! The blobs of a file-based catalog, in the form in which they are written.
//!
//! Source: `alpha/declcfg/declcfg.go` and `alpha/property/property.go` of operator-registry v1.73.

use std::collections::BTreeMap;
use std::io;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use kube_yaml::go_json::write_in_order_with;
use kube_yaml::{DecodeError, Path, Value};

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

    /// Appends one blob.
    pub fn push(&mut self, blob: Blob) {
        match blob {
            Blob::Package(blob) => self.packages.push(*blob),
            Blob::Channel(blob) => self.channels.push(*blob),
            Blob::Bundle(blob) => self.bundles.push(*blob),
            Blob::Other(blob) => self.others.push(blob),
        }
    }

    /// Splits the catalog by package; blobs without a package are under the empty name.
    #[must_use]
    pub fn by_package(self) -> BTreeMap<String, Self> {
        let mut parts: BTreeMap<String, Self> = BTreeMap::new();
        let Self { packages, channels, bundles, others } = self;
        for blob in packages {
            parts.entry(blob.name.clone()).or_default().packages.push(blob);
        }
        for blob in channels {
            parts.entry(blob.package.clone()).or_default().channels.push(blob);
        }
        for blob in bundles {
            parts.entry(blob.package.clone()).or_default().bundles.push(blob);
        }
        for blob in others {
            let package = blob["package"].as_str().unwrap_or_default().to_owned();
            parts.entry(package).or_default().others.push(blob);
        }
        parts
    }

    /// Returns all blobs, sorted by package and schema. Those of no package come last.
    fn sorted(&self) -> Vec<Ref<'_>> {
        let packages = self.packages.iter().map(Ref::Package);
        let channels = self.channels.iter().map(Ref::Channel);
        let bundles = self.bundles.iter().map(Ref::Bundle);
        let others = self.others.iter().map(Ref::Other);
        let mut blobs: Vec<_> = packages.chain(channels).chain(bundles).chain(others).collect();
        blobs.sort_by(|a, b| a.key().cmp(&b.key()));
        blobs
    }

    /// Writes the blobs as JSON documents, one after the other, indented as opm indents them.
    ///
    /// # Errors
    /// A blob cannot be written as JSON, or `out` cannot be written to.
    pub fn write_json(&self, out: impl io::Write) -> io::Result<()> {
        self.write_json_with("    ", out)
    }

    /// [`Self::write_json`] with another indentation of a level.
    ///
    /// # Errors
    /// A blob cannot be written as JSON, or `out` cannot be written to.
    pub fn write_json_with(&self, indent: &str, mut out: impl io::Write) -> io::Result<()> {
        for blob in self.sorted() {
            match blob {
                Ref::Package(blob) => write_in_order_with(blob, indent, &mut out)?,
                Ref::Channel(blob) => write_in_order_with(blob, indent, &mut out)?,
                Ref::Bundle(blob) => write_in_order_with(blob, indent, &mut out)?,
                Ref::Other(blob) => write_in_order_with(blob, indent, &mut out)?,
            }
            out.write_all(b"\n")?;
        }
        Ok(())
    }

    /// Writes the blobs as YAML documents.
    ///
    /// # Errors
    /// A blob cannot be written as JSON, or `out` cannot be written to.
    pub fn write_yaml(&self, mut out: impl io::Write) -> io::Result<()> {
        for blob in self.sorted() {
            let text = match blob {
                Ref::Package(blob) => kube_yaml::emit(&serde_json::to_value(blob)?),
                Ref::Channel(blob) => kube_yaml::emit(&serde_json::to_value(blob)?),
                Ref::Bundle(blob) => kube_yaml::emit(&serde_json::to_value(blob)?),
                Ref::Other(blob) => kube_yaml::emit(blob),
            };
            out.write_all(b"---\n")?;
            out.write_all(text.as_bytes())?;
        }
        Ok(())
    }
}

/// One blob of a catalog.
#[derive(Debug, Clone, PartialEq)]
pub enum Blob {
    /// `olm.package`
    Package(Box<Package>),
    /// `olm.channel`
    Channel(Box<Channel>),
    /// `olm.bundle`
    Bundle(Box<Bundle>),
    /// Any other schema.
    Other(Json),
}

impl Blob {
    /// Decodes a document as opm does: names of fields match whatever their case.
    ///
    /// # Errors
    /// It has no schema, or a value does not fit its field.
    pub fn decode(root: Value<'_>) -> Result<Self, DecodeError> {
        let schema = kube_yaml::string(root, "schema");
        Ok(match schema {
            "" => {
                return Err(DecodeError {
                    path: "schema".to_owned(),
                    message: "missing required field `schema`".to_owned(),
                    position: root.position(),
                });
            }
            "olm.package" => {
                Self::Package(Box::new(kube_yaml::decode_ignoring_case(root, &Path::ROOT)?.object))
            }
            "olm.channel" => {
                Self::Channel(Box::new(kube_yaml::decode_ignoring_case(root, &Path::ROOT)?.object))
            }
            "olm.bundle" => {
                Self::Bundle(Box::new(kube_yaml::decode_ignoring_case(root, &Path::ROOT)?.object))
            }
            _ => Self::Other(root.to_json()),
        })
    }
}

/// One blob of a catalog, where it is.
#[derive(Clone, Copy)]
enum Ref<'c> {
    Package(&'c Package),
    Channel(&'c Channel),
    Bundle(&'c Bundle),
    Other(&'c Json),
}

impl<'c> Ref<'c> {
    /// Returns what blobs are sorted by: whether the package is missing, the package, the schema's rank, the name.
    fn key(self) -> (bool, &'c str, u8, &'c str) {
        let text = |blob: &'c Json, key: &str| blob[key].as_str().unwrap_or_default();
        let (package, rank, name) = match self {
            Self::Package(blob) => (blob.name.as_str(), 0, blob.name.as_str()),
            Self::Channel(blob) => (blob.package.as_str(), 1, blob.name.as_str()),
            Self::Bundle(blob) => (blob.package.as_str(), 2, blob.name.as_str()),
            // As opm writes them: deprecations last.
            Self::Other(blob) if text(blob, "schema") == "olm.deprecations" => (text(blob, "package"), 4, ""),
            Self::Other(blob) => (text(blob, "package"), 3, text(blob, "schema")),
        };
        (package.is_empty(), package, rank, name)
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

impl Bundle {
    /// Returns the value of the first property of a type; null if there is none.
    #[must_use]
    pub fn property(&self, r#type: &str) -> &Json {
        let found = self.properties.iter().find(|property| property.r#type == r#type);
        found.map_or(&Json::Null, |property| &property.value)
    }
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
