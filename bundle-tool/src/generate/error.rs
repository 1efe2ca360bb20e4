//! Why no bundle can be made from an input.

use super::ledger::Place;

/// Why no bundle can be made from an input.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A field holds what its type does not take.
    #[error("{place}: {title}: {path}: {message}")]
    Field {
        /// Where the value stands.
        place: Place,
        /// Kind and name of the object.
        title: String,
        /// The field.
        path: String,
        /// What is wrong.
        message: String,
    },
    /// The API version of an object is none that is known.
    #[error("{place}: {title}: the API version {api_version:?} is not one of {known}")]
    ApiVersion {
        /// Where the object stands.
        place: Place,
        /// Kind and name of the object.
        title: String,
        /// What it says.
        api_version: String,
        /// What it could say.
        known: &'static str,
    },
    /// Nothing would be installed.
    #[error(
        "the input holds no Deployment, and without one OLM has nothing to install; \
         give all of the operator's manifests, for instance `kustomize build config/manifests`"
    )]
    NoDeployment,
    /// Two objects of a kind that must be told apart by name have the same.
    #[error("{second}: a second {kind} named {name:?}; the first is at {first}")]
    Duplicate {
        /// `Deployment`
        kind: &'static str,
        /// The name.
        name: String,
        /// Where the first one stands.
        first: Place,
        /// Where the second one stands.
        second: Place,
    },
    /// The input holds CSVs of several packages, and none was asked for.
    #[error("the input holds ClusterServiceVersions of several packages ({}); choose one with --package", .0.join(", "))]
    Packages(Vec<String>),
    /// Nobody said what the package is called.
    #[error("the package has no name: give --package NAME, or a base ClusterServiceVersion")]
    NoPackage,
    /// The package's name is not a DNS-1123 label.
    #[error(
        "invalid package name {0:?}: must consist of at most 63 lower-case letters, digits and hyphens, and begin and end \
         with a letter or a digit"
    )]
    PackageName(String),
    /// The file of an object would have too long a name.
    #[error("{place}: {title}: its file name would exceed the limit of {limit} bytes; shorten metadata.name")]
    FileName {
        /// Where the object stands.
        place: Place,
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
    /// The base CSV's version is no semantic version.
    #[error(
        "{place}: spec.version: {version:?} is no semantic version ({reason}); write it as 1.2.3, or give --version"
    )]
    Version {
        /// Where it stands.
        place: Place,
        /// What it says.
        version: String,
        /// What is wrong.
        reason: String,
    },
    /// A range of versions is none.
    #[error(
        "the skip range {range:?} is no range of versions: {part:?} is not understood; write it as '>=1.0.0 <1.2.0'"
    )]
    SkipRange {
        /// The range.
        range: String,
        /// The part that is wrong.
        part: String,
    },
    /// A dependency or a property is not typed.
    #[error(
        "{key}: {entry} has no type or no value; write it as {{ type = \"olm.package\", value = {{ … }} }}"
    )]
    Typed {
        /// `dependencies` or `properties`
        key: &'static str,
        /// The entry.
        entry: String,
    },
    /// A CSV cannot be upgraded from itself.
    #[error("spec.{field} of {name} names {name} itself; name an older version")]
    OwnPredecessor {
        /// The CSV's name.
        name: String,
        /// `replaces` or `skips`
        field: &'static str,
    },
    /// The default channel is none of the channels.
    #[error("the default channel {default:?} is none of the channels ({channels})")]
    DefaultChannel {
        /// The default channel.
        default: String,
        /// The channels.
        channels: String,
    },
}
