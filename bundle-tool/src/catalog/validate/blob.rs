//! The blobs of a catalog with the places of what refers to something else: what is kept of each document.

use super::problem::Place;
use crate::model::version::Version;

impl Blob {
    /// Returns the package that the blob belongs to, or is; empty where there is none.
    #[must_use]
    pub fn package(&self) -> &str {
        match self {
            Self::Package(blob) => &blob.name,
            Self::Channel(blob) => &blob.package,
            Self::Bundle(blob) => &blob.package,
            Self::Deprecations(blob) => &blob.package,
            Self::Other { package } => package,
            Self::Invalid => "",
        }
    }
}

/// One blob. What it contains is apart, so that a catalog of many small documents takes little memory.
#[derive(Debug)]
pub enum Blob {
    /// `olm.package`
    Package(Box<Package>),
    /// `olm.channel`
    Channel(Box<Channel>),
    /// `olm.bundle`
    Bundle(Box<Bundle>),
    /// `olm.deprecations`
    Deprecations(Box<Deprecations>),
    /// Any other schema.
    Other {
        /// The package; empty where it belongs to none.
        package: String,
    },
    /// A document that is not a blob: a problem names it.
    Invalid,
}

/// `olm.package`
#[derive(Debug)]
pub struct Package {
    /// The name.
    pub name: String,
    /// The channel of subscriptions that do not name one; empty where it is missing.
    pub default_channel: String,
    /// Where the blob begins.
    pub place: Place,
    /// Where the default channel is named.
    pub default_channel_place: Place,
    /// Whether some field has a wrong type, so that what is missing need not be.
    pub is_incomplete: bool,
}

/// `olm.channel`
#[derive(Debug, Clone)]
pub struct Channel {
    /// The name.
    pub name: String,
    /// The package.
    pub package: String,
    /// The entries, in the order of the file.
    pub entries: Vec<Entry>,
    /// Where the blob begins.
    pub place: Place,
    /// Where the package is named.
    pub package_place: Place,
    /// Whether some field has a wrong type.
    pub is_incomplete: bool,
}

impl Channel {
    /// Returns the channel with some of its entries.
    #[must_use]
    pub fn with_entries(&self, keep: impl Fn(&Entry) -> bool) -> Self {
        Self { entries: self.entries.iter().filter(|entry| keep(entry)).cloned().collect(), ..self.clone() }
    }
}

/// One entry of a channel.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The bundle.
    pub name: String,
    /// The bundle that this one replaces; empty where it replaces none.
    pub replaces: String,
    /// The bundles that this one skips.
    pub skips: Vec<String>,
    /// The versions from which OLM upgrades directly to this one; empty where there are none.
    pub skip_range: String,
    /// Line and column of the entry, in the file of the channel.
    pub line: u32,
    /// See `line`.
    pub column: u32,
}

/// `olm.bundle`
#[derive(Debug)]
pub struct Bundle {
    /// The name.
    pub name: String,
    /// The package.
    pub package: String,
    /// The image; empty where there is none.
    pub image: String,
    /// The version, where it is valid.
    pub version: Option<Version>,
    /// The release, empty where there is none.
    pub release: String,
    /// Where the blob begins.
    pub place: Place,
    /// Where the package is named.
    pub package_place: Place,
    /// Its properties of type `olm.bundle.object`; nothing where it has none.
    pub objects: Option<Objects>,
}

/// The properties of type `olm.bundle.object` of a bundle.
#[derive(Debug)]
pub struct Objects {
    /// Where the first one begins.
    pub place: Place,
    /// Its path below the document's root.
    pub path: String,
    /// Whether the bundle also has `olm.csv.metadata`.
    pub has_metadata: bool,
}

impl Bundle {
    /// Returns the version with the release, which no two bundles of a package may share.
    #[must_use]
    pub fn version_and_release(&self) -> Option<String> {
        let version = self.version.as_ref()?;
        Some(if self.release.is_empty() {
            version.to_string()
        } else {
            format!("{version}-{}", self.release)
        })
    }
}

/// `olm.deprecations`
#[derive(Debug)]
pub struct Deprecations {
    /// The package.
    pub package: String,
    /// What is deprecated.
    pub entries: Vec<Deprecation>,
    /// Where the blob begins.
    pub place: Place,
    /// Where the package is named.
    pub package_place: Place,
}

/// One deprecation.
#[derive(Debug)]
pub struct Deprecation {
    /// `olm.package`, `olm.channel` or `olm.bundle`.
    pub schema: String,
    /// The channel or bundle; empty for the package.
    pub name: String,
    /// The message for users.
    pub message: String,
    /// Where the deprecation begins.
    pub place: Place,
}
