//! Generates a bundle from plain manifests: the `ClusterServiceVersion`, the other objects, annotations and Dockerfile.
//!
//! From the same manifests, operator-sdk (`internal/generate` of operator-framework/operator-sdk) generates the same bundle;
//! what it drops silently is reported here. Nothing in this module does I/O: documents come in, files and notes go out.
//! Time and memory grow in proportion to the input.
//!
//! ```
//! use olm_generate::{Destination, Document, ImagePins, Manifests, Options, SortedManifests};
//!
//! let manifests = "
//! apiVersion: apps/v1
//! kind: Deployment
//! metadata: {name: lake-operator}
//! spec:
//!   selector: {matchLabels: {app: lake}}
//!   template:
//!     metadata: {labels: {app: lake}}
//!     spec: {containers: [{name: manager, image: 'quay.io/example/lake:v1'}]}
//! ---
//! apiVersion: v1
//! kind: Pod
//! metadata: {name: debug}
//! ";
//! let parsed = kube_yaml::parse(manifests.as_bytes());
//! let documents = parsed.documents.into_iter();
//! let manifests = Manifests {
//!     documents: documents.map(|tree| Document { file: "all.yaml".to_owned(), tree }).collect(),
//!     base: None,
//! };
//! let options = Options {
//!     package: Some("lake-operator".to_owned()),
//!     version: Some(semver::Version::new(0, 1, 0)),
//!     ..Options::default()
//! };
//! let sorted = SortedManifests::new(&manifests, &options)?;
//! let destination = Destination { now: "2026-01-01T00:00:00Z".to_owned(), ..Destination::default() };
//! let generated = sorted.pin(&ImagePins::default()).generate(&destination)?;
//! assert_eq!(generated.name, "lake-operator.v0.1.0");
//! let files: Vec<&String> = generated.files.keys().collect();
//! assert_eq!(files, ["manifests/lake-operator.clusterserviceversion.yaml", "metadata/annotations.yaml"]);
//! // A bundle cannot contain a Pod.
//! let omitted = generated.report.notes.iter().find(|note| note.message.contains("debug"));
//! assert_eq!(omitted.unwrap().message, "Pod debug was omitted: OLM does not support Pod in a bundle");
//! # Ok::<(), olm_generate::Error>(())
//! ```

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod annotations;
mod base;
mod certificates;
mod crds;
mod csv;
mod descriptors;
mod dockerfile;
mod error;
mod examples;
mod go_types;
mod images;
mod input;
mod json;
pub mod manifests;
mod manifests_base;
mod merge;
mod objects;
mod options;
mod project;
mod rbac;
mod related_images;
mod report;
mod scorecard;
mod stages;
mod submission;
mod upgrade;
mod webhooks;

pub use base::{check_package_name, display_name, placeholder_base};
pub use csv::created_at;
pub use error::Error;
pub use input::decode_csv;
pub use manifests_base::{Base, UpdatedBase, base};
pub use merge::overlay;
pub use options::{
    Destination, ImagePins, Manifests, Options, Origin, PreviousBundle, Replaces, Rewrite, Upgrade,
};
pub use project::{Icon, Link, Maintainer, Olm, Project, ProjectError};
pub use report::{GenerateNote, GenerateReport, ObjectOutcome, SourceLocation, SourceObject};
pub use stages::{Generated, PinnedManifests, SortedManifests};
pub use submission::{Publishing, Submission, SubmissionError, submission};

pub use olm_model::{Document, Severity};
