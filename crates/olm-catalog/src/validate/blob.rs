//! The blobs of a catalog with the places of what refers to something else: what is kept of each document.

use std::sync::Arc;

use kube_yaml::Position;
use olm_model::version::Version;
use olm_rules::Rule;

use olm_model::report::Finding;

/// A position in a file of a catalog.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SourcePosition {
    /// The file's path below the catalog.
    pub file: Arc<str>,
    /// The position; the line is 0 for the file as a whole.
    pub position: Position,
}

impl SourcePosition {
    /// Returns a finding of a rule at the position; `path` is the field below the document's root.
    pub(crate) fn finding(&self, rule: &Rule, path: &str, message: impl Into<String>) -> Finding {
        let position = Some(self.position).filter(|position| position.line > 0);
        rule.finding(&self.file, position, path, message)
    }
}

impl std::fmt::Display for SourcePosition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.position.line {
            0 => f.write_str(&self.file),
            line => write!(f, "{}:{line}:{}", self.file, self.position.column),
        }
    }
}

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
    /// A document that is not a blob: a finding names it.
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
    pub place: SourcePosition,
    /// Where the default channel is named.
    pub default_channel_place: SourcePosition,
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
    pub place: SourcePosition,
    /// Where the package is named.
    pub package_place: SourcePosition,
    /// Whether some field has a wrong type.
    pub is_incomplete: bool,
}

impl Channel {
    /// Returns where an entry begins.
    pub(crate) fn place_of(&self, entry: &Entry) -> SourcePosition {
        SourcePosition { file: self.place.file.clone(), position: entry.position }
    }

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
    /// Where the entry begins, in the file of the channel.
    pub position: Position,
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
    pub place: SourcePosition,
    /// Where the package is named.
    pub package_place: SourcePosition,
    /// Whether it has a property of type `olm.csv.metadata`.
    pub has_metadata: bool,
    /// Its properties of type `olm.bundle.object`; `None` if it has none.
    pub objects: Option<Objects>,
}

/// The properties of type `olm.bundle.object` of a bundle.
#[derive(Debug)]
pub struct Objects {
    /// Where the first one begins.
    pub place: SourcePosition,
    /// Its path below the document's root.
    pub path: String,
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
    pub place: SourcePosition,
    /// Where the package is named.
    pub package_place: SourcePosition,
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
    pub place: SourcePosition,
}
