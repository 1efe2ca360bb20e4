//! What the templates have in common: their errors, the bundles that they are given, and lists of blobs.

use std::collections::BTreeMap;

use kube_yaml::{DecodeError, Kind, Position, SyntaxError, Value, field};
use olm_model::catalog::{Blob, Bundle, Catalog, Icon};
use olm_model::version::VersionError;

/// Why a template is not a catalog.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TemplateError {
    /// It is not YAML.
    #[error("{}:{}: {}", .0.position.line, .0.position.column, .0.message)]
    Syntax(SyntaxError),
    /// It has no document.
    #[error("the template is empty")]
    NoDocument,
    /// It has another schema than is wanted.
    #[error("expected schema `{expected}`, found `{found}`")]
    OtherSchema {
        /// The schema that is wanted.
        expected: String,
        /// Its own schema.
        found: String,
    },
    /// It names no schema.
    #[error("{}:{}: missing required field `schema`", position.line, position.column)]
    SchemaMissing {
        /// Where it begins.
        position: Position,
    },
    /// It is no template, or none that is known.
    #[error(
        "unknown schema `{0}`: expected `olm.template.basic`, `olm.semver` or `olm.template.substitutes`"
    )]
    Schema(String),
    /// A field has the wrong type.
    #[error("{}:{}: {error}", error.position.line, error.position.column)]
    Decode {
        /// What is wrong, and where.
        #[from]
        error: DecodeError,
    },
    /// A field is not known.
    #[error("{line}:{column}: unknown field `{name}`")]
    UnknownField {
        /// The name.
        name: String,
        /// Where it is.
        line: u32,
        /// See `line`.
        column: u32,
    },
    /// A bundle of a basic template has more than an image.
    #[error(
        "{}:{}: bundle `{bundle}` must have only `schema` and `image`: the rest is read from the image",
        position.line,
        position.column
    )]
    BundleFields {
        /// The bundle, or its image.
        bundle: String,
        /// Where it begins.
        position: Position,
    },
    /// A bundle of a basic template has no image.
    #[error("{}:{}: bundle without an image: missing required field `image`", position.line, position.column)]
    ImageMissing {
        /// Where it begins.
        position: Position,
    },
    /// The values of two fields do not fit each other.
    #[error("{0}")]
    Options(&'static str),
    /// Two channels have the same name.
    #[error("duplicate channel `{0}`")]
    ChannelDuplicate(String),
    /// A channel's name is empty, or has whitespace in it.
    #[error("invalid channel name `{0}`: channel names must not be empty or contain whitespace")]
    ChannelName(String),
    /// The template names no bundle.
    #[error("the template contains no bundles")]
    Empty,
    /// An image was not rendered.
    #[error("image `{0}` is not rendered")]
    NotRendered(String),
    /// A bundle's version is not valid.
    #[error("bundle `{bundle}` has an invalid version: {error}")]
    Version {
        /// The bundle.
        bundle: String,
        /// Why.
        error: VersionError,
    },
    /// The bundles belong to several packages.
    #[error("bundle `{bundle}` belongs to package `{package}`, the bundles before it to `{expected}`")]
    Package {
        /// The bundle.
        bundle: String,
        /// Its package.
        package: String,
        /// The package of the template.
        expected: String,
    },
    /// A channel has a bundle twice.
    #[error("channel `{channel}` has bundle `{bundle}` twice")]
    BundleDuplicate {
        /// The channel.
        channel: String,
        /// The bundle.
        bundle: String,
    },
    /// Two versions of a channel cannot be ordered.
    #[error(
        "channel `{channel}`: version `{version}` differs from another version only in build metadata, which does not affect precedence"
    )]
    Build {
        /// The channel.
        channel: String,
        /// The version.
        version: String,
    },
    /// A substitution cannot be made.
    #[error("substitution of `{base}` with `{name}`: {reason}")]
    Substitution {
        /// The bundle.
        base: String,
        /// The image.
        name: String,
        /// Why.
        reason: String,
    },
}

impl TemplateError {
    /// Returns whether the message begins with a line and a column of the template.
    #[must_use]
    pub fn has_position(&self) -> bool {
        matches!(
            self,
            Self::Syntax(_)
                | Self::SchemaMissing { .. }
                | Self::Decode { .. }
                | Self::UnknownField { .. }
                | Self::BundleFields { .. }
                | Self::ImageMissing { .. }
        )
    }
}

/// A bundle that a template names.
#[derive(Debug, Clone, Default)]
pub struct Rendered {
    /// The blob.
    pub bundle: Bundle,
    /// The description in its CSV; empty if it is not known.
    pub description: String,
    /// The first icon in its CSV.
    pub icon: Option<Icon>,
}

/// The rendered bundles, by the names of their images in the template.
pub type Bundles = BTreeMap<String, Rendered>;

pub(crate) fn find<'b>(bundles: &'b Bundles, image: &str) -> Result<&'b Rendered, TemplateError> {
    bundles.get(image).ok_or_else(|| TemplateError::NotRendered(image.to_owned()))
}

/// Reads the blobs in `entries`: a list, or null, which is an empty one for opm.
pub(crate) fn entries(root: Value<'_>) -> Result<Catalog, TemplateError> {
    let mut catalog = Catalog::default();
    let entries = field(root, "entries");
    if let Some(entries) = entries
        && !matches!(entries.kind(), Kind::Array | Kind::Null)
    {
        let (path, message) = ("entries".to_owned(), "expected a list".to_owned());
        return Err(DecodeError { path, message, position: entries.position() }.into());
    }
    for item in entries.into_iter().flat_map(Value::items) {
        catalog.push(Blob::decode(item)?);
    }
    Ok(catalog)
}
