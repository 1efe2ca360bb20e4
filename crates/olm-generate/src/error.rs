//! Why a bundle cannot be generated.

use super::report::SourceLocation;
use olm_model::version::VersionError;

/// Why a bundle cannot be generated.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A field has a value of the wrong type.
    #[error("{place}: {title}: {path}: {message}")]
    Field {
        /// Where the value is.
        place: SourceLocation,
        /// Kind and name of the object.
        title: String,
        /// The field.
        path: String,
        /// What is wrong.
        message: String,
    },
    /// The API version of an object is not supported.
    #[error("{place}: {title}: unsupported apiVersion `{}`: expected one of {known}", .api_version.escape_debug())]
    ApiVersion {
        /// Where the object is.
        place: SourceLocation,
        /// Kind and name of the object.
        title: String,
        /// The value.
        api_version: String,
        /// The supported values.
        known: &'static str,
    },
    /// The name or the image of an object is that of a template.
    #[error("{place}: the {what} `{}` contains a template expression without a value: render the input with all values, for example \
         with `helm template`", .text.escape_debug())]
    Unrendered {
        /// Where the object is.
        place: SourceLocation,
        /// What it is: "name" or "image".
        what: &'static str,
        /// The name or the image.
        text: String,
    },
    /// A variable of an image has no literal value.
    #[error("related images with valueFrom field unsupported, found in {0}: set a value")]
    RelatedImage(String),
    /// Nothing would be installed.
    #[error(
        "no Deployment found in the input; add all of the operator's manifests, such as from \
         `kubectl kustomize config/manifests`"
    )]
    NoDeployment,
    /// There is no Deployment, because its kind is misspelled.
    #[error("{place}: unknown kind `{}`: did you mean `{meant}`?", .kind.escape_debug())]
    Misspelled {
        /// Where the object is.
        place: SourceLocation,
        /// The kind as it is written.
        kind: String,
        /// The kind that is likely to be meant.
        meant: &'static str,
    },
    /// The operator is not a Deployment.
    #[error(
        "{place}: {title} (apiVersion `{}`) cannot run the operator: OLM installs operators as Deployments of apiVersion \
         `apps/v1` only, and the input has none; change it to one",
        .api_version.escape_debug()
    )]
    OtherWorkload {
        /// Where the workload is.
        place: SourceLocation,
        /// Its kind and name.
        title: String,
        /// Its API version.
        api_version: String,
    },
    /// Two objects that need different names have the same.
    #[error("{second}: duplicate {kind} `{}`: the first is at {first}", .name.escape_debug())]
    Duplicate {
        /// `Deployment`
        kind: &'static str,
        /// The name.
        name: String,
        /// Where the first one is.
        first: SourceLocation,
        /// Where the second one is.
        second: SourceLocation,
    },
    /// The input contains CSVs of several packages.
    #[error(
        "the input contains ClusterServiceVersions of several packages ({}), and a bundle has one; pass the manifests of one \
         operator only",
        .0.join(", ")
    )]
    Packages(Vec<String>),
    /// There is no package name.
    #[error("no package name found; pass --package, or add a base ClusterServiceVersion")]
    NoPackage,
    /// The package's name is not a DNS-1123 label.
    #[error(
        "invalid package name `{}`: must consist of at most 63 lowercase letters, digits and hyphens, and begin and end \
         with a letter or a digit", .0.escape_debug()
    )]
    PackageName(String),
    /// The CSV's name is not the name of an object.
    #[error(
        "invalid name `{}` of the ClusterServiceVersion: must be at most 253 lowercase letters, digits, hyphens and dots; the \
         version cannot have build metadata (`+…`)", .0.escape_debug()
    )]
    CsvName(String),
    /// The file of an object would have too long a name.
    #[error("{place}: {title}: its file name would exceed the limit of {limit} bytes; shorten metadata.name")]
    FileName {
        /// Where the object is.
        place: SourceLocation,
        /// Kind and name of the object.
        title: String,
        /// The limit in bytes.
        limit: usize,
    },
    /// The manifest of an object would be too large: nested values grow by their indentation.
    #[error("{title}: its manifest would exceed the limit of {limit} bytes")]
    FileSize {
        /// Kind and name of the object.
        title: String,
        /// The limit in bytes.
        limit: usize,
    },
    /// The rules of roles, repeated for each subject, are too large for a CSV.
    #[error(
        "the permissions of service account `{account}` exceed the limit of {limit} bytes: role `{role}` is bound to it too often; \
         bind it once"
    )]
    Permissions {
        /// The service account.
        account: String,
        /// The role whose rules exceed the limit.
        role: String,
        /// The limit in bytes.
        limit: usize,
    },
    /// The base CSV's version is not a semantic version.
    #[error("{place}: invalid spec.version `{}`: {reason}; write it as 1.2.3, or pass --version", .version.escape_debug())]
    Version {
        /// Where it is.
        place: SourceLocation,
        /// The value.
        version: String,
        /// What is wrong.
        reason: String,
    },
    /// A range of versions is not valid.
    #[error("invalid skip range `{}`: {reason}; write it as '>=1.0.0 <1.2.0'", .range.escape_debug())]
    SkipRange {
        /// The range.
        range: String,
        /// What is wrong with it.
        reason: VersionError,
    },
    /// A dependency or a property is not typed.
    #[error(
        "{key}: {entry} lacks a type or a value; write it as {{ type = \"olm.package\", value = {{ … }} }}"
    )]
    Typed {
        /// `dependencies` or `properties`
        key: &'static str,
        /// The entry.
        entry: String,
    },
    /// A CSV replaces or skips itself.
    #[error("spec.{field} of {name} contains {name} itself; use an older version")]
    OwnPredecessor {
        /// The CSV's name.
        name: String,
        /// `replaces` or `skips`
        field: &'static str,
    },
    /// The default channel is not one of the channels.
    #[error("the default channel `{}` is not one of the channels: {channels}", .default.escape_debug())]
    DefaultChannel {
        /// The default channel.
        default: String,
        /// The channels.
        channels: String,
    },
}
