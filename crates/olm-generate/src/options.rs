//! What a bundle is generated from, how, and for where: the values that the [stages](super::stages) take.

use std::collections::BTreeMap;

use super::images::Variables;
use kube_yaml::Tree;
use olm_model::Document;
use olm_model::catalog::Catalog;

/// What a bundle is generated from.
#[derive(Debug, Default)]
pub struct Manifests {
    /// All manifests, in the order in which they were read.
    pub documents: Vec<Document>,
    /// The base CSV of the kustomize directory. Used if no manifest is a CSV.
    pub base: Option<Document>,
}

/// The digests and platforms of images, by their references after [`Options::images`].
#[derive(Debug, Clone, Default)]
pub struct ImagePins {
    /// The digests that replace the tags.
    pub digests: BTreeMap<String, String>,
    /// The platforms, such as `linux/amd64`.
    pub platforms: BTreeMap<String, Vec<String>>,
}

/// The destination of a bundle: the existing bundle, and the time.
#[derive(Debug, Default)]
pub struct Destination {
    /// The existing bundle.
    pub previous: PreviousBundle,
    /// The time set by `SOURCE_DATE_EPOCH`, in RFC 3339.
    pub epoch: Option<String>,
    /// The time now, in RFC 3339.
    pub now: String,
    /// Whether the annotations say where the scorecard's tests are. By default, they do if the bundle has tests.
    pub has_test_annotations: Option<bool>,
}

/// An existing bundle, which the generated one updates.
#[derive(Debug, Default)]
pub struct PreviousBundle {
    /// Its files: path below its directory to bytes.
    pub files: BTreeMap<String, Vec<u8>>,
    /// `metadata/annotations.yaml`.
    pub annotations: Option<Tree>,
    /// `bundle.Dockerfile`.
    pub dockerfile: Option<String>,
}

/// How a bundle is generated.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The package's name. Defaults to the base CSV's.
    pub package: Option<String>,
    /// The version of the operator. Defaults to the base CSV's.
    pub version: Option<semver::Version>,
    /// The package's name if neither [`Options::package`] nor a CSV sets it.
    pub fallback_package: Option<String>,
    /// The version if neither [`Options::version`] nor a CSV sets it, or the CSV has the placeholder 0.0.0.
    pub fallback_version: Option<semver::Version>,
    /// Channels, separated by commas. Default to those of the existing bundle, or `alpha`.
    pub channels: Option<String>,
    /// The default channel. Defaults to that of the existing bundle.
    pub default_channel: Option<String>,
    /// Service accounts, besides those of the Deployments, whose roles become permissions of the CSV.
    pub extra_service_accounts: Vec<String>,
    /// Image references to replace.
    pub images: Vec<Rewrite>,
    /// Entries of `metadata/dependencies.yaml`. Without any, an existing file is kept.
    pub dependencies: Vec<serde_json::Value>,
    /// Entries of `metadata/properties.yaml`. Without any, an existing file is kept.
    pub properties: Vec<serde_json::Value>,
    /// Whether the bundle gets a default scorecard configuration if the input contains none.
    pub scorecard: bool,
    /// How an upgrade leads to this version.
    pub upgrade: Upgrade,
    /// The layout of the project, as its PROJECT file names it.
    pub layout: Option<String>,
    /// The bundle's directory, relative to that of the Dockerfile.
    pub directory: String,
    /// The tool that the annotations name as the builder, such as `operator-sdk-v1.42.3`, to generate what that tool does:
    /// without digests, `relatedImages` has the images that `RELATED_IMAGE_` variables name, and nothing else; and bundles that
    /// cannot be installed, such as one without a Deployment, are generated, too. By default, the builder is bundle-tool.
    pub builder: Option<String>,
}

impl Options {
    /// Returns whether the bundle is the one that operator-sdk generates.
    pub(crate) fn is_of_sdk(&self) -> bool {
        self.builder.is_some()
    }

    pub(crate) fn image_variables(&self) -> Variables {
        if self.is_of_sdk() { Variables::RelatedImage } else { Variables::AnyImage }
    }
}

/// Where a package's name or version comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// [`Options::package`] or [`Options::version`].
    Option,
    /// A CSV of the input.
    Csv,
    /// [`Options::fallback_package`] or [`Options::fallback_version`].
    Fallback,
    /// None of these: version 0.0.0.
    Default,
}

/// A replacement of an image reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rewrite {
    /// An image reference, or one without tag and digest, which matches every tag.
    pub from: String,
    /// The new reference. Without tag and digest, the old ones are kept.
    pub to: String,
}

impl std::str::FromStr for Rewrite {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once('=') {
            Some((from, to)) if !from.is_empty() && !to.is_empty() => {
                Ok(Self { from: from.to_owned(), to: to.to_owned() })
            }
            _ => Err("expected OLD=NEW, such as controller=quay.io/me/operator:v1".to_owned()),
        }
    }
}

/// What a version replaces.
#[derive(Debug, Clone, PartialEq)]
pub enum Replaces {
    /// A CSV, or its version.
    Csv(String),
    /// The highest version below this one in the bundle's first channel of a catalog, if there is one.
    HighestIn(Catalog),
}

/// The versions that upgrade to this one. What is not set is kept as the base has it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Upgrade {
    /// What this version replaces.
    pub replaces: Option<Replaces>,
    /// CSVs, or versions, that an upgrade skips.
    pub skips: Vec<String>,
    /// The range of versions that upgrade directly to this one.
    pub skip_range: Option<String>,
}
