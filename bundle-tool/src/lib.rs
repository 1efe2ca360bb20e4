//! The library behind `bundle-tool`: packages Kubernetes operators for OLM.
//!
//! A program that validates bundles reads one, runs the rules and looks at the findings; one that builds catalogs renders it:
//!
//! ```
//! use std::path::Path;
//!
//! use bundle_tool::rules::{self, Selection};
//! use bundle_tool::{catalog, read};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let bundle = read::bundle::directory(Path::new("tests/fixtures/bundle"))?;
//! let report = rules::validate(&bundle, &Selection::default());
//! for finding in &report.findings {
//!     println!("{}: {}: {}", finding.severity, finding.rule, finding.message);
//! }
//! assert!(report.passed());
//!
//! let blob = catalog::render(&bundle, Some("quay.io/example/gizmo-bundle:v1.2.0"))?;
//! assert_eq!(blob.package, "gizmo-operator");
//! # Ok(())
//! # }
//! ```
//!
//! One that generates bundles gives the manifests and gets the files:
//!
//! ```
//! use bundle_tool::generate::{self, Input, Options};
//! use bundle_tool::read::manifests;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let manifests = "
//! apiVersion: apps/v1
//! kind: Deployment
//! metadata: {name: gizmo-operator}
//! spec:
//!   selector: {matchLabels: {app: gizmo}}
//!   template:
//!     metadata: {labels: {app: gizmo}}
//!     spec:
//!       containers:
//!       - {name: manager, image: quay.io/example/gizmo-operator:v1.2.0}
//! ";
//! let documents = manifests::stream("manifests", manifests.as_bytes())?;
//! let options = Options {
//!     package: Some("gizmo-operator".into()),
//!     version: Some("1.2.0".parse()?),
//!     now: "2026-01-01T00:00:00Z".into(),
//!     ..Options::default()
//! };
//! let generated = generate::bundle(&Input { documents, ..Input::default() }, &options)?;
//! assert_eq!(generated.name, "gizmo-operator.v1.2.0");
//! assert!(generated.files.contains_key("metadata/annotations.yaml"));
//! # Ok(())
//! # }
//! ```
//!
//! Data flows one way, which a test (`tests/it/directions.rs`) enforces:
//!
//! | module | contents | may import |
//! | --- | --- | --- |
//! | [`model`] | YAML documents with positions, bundles, annotations, the CSV, catalog blobs; no I/O | nothing |
//! | [`read`] | reads files, directories and standard input into the model | `model` |
//! | [`report`] | findings and their printers | `model` |
//! | [`rules`] | one file for each rule; validates the model | `model`, `report` |
//! | [`generate`] | builds a bundle from plain manifests | `model` |
//! | [`catalog`] | builds file-based catalogs from bundles, and validates them | `model`, `report` |
//! | [`cluster`] | what happens to an operator on a cluster with OLM: manifests, stages, reasons, the API client | `model` |
//! | [`diff`] | compares two versions of an operator: what an upgrade changes and breaks | `model` |
//! | [`scaffold`] | the files of a Rust operator's project, and three-way merges of a newer scaffold | `model`, `read`, `report` |
//! | [`serve`] | serves a catalog over gRPC, from an index | `model`, `read`, `report`, `catalog` |
//! | [`scorecard`] | operator-sdk's stock scorecard tests, on the model | `model`, `report`, `rules` |
//! | [`cli`] | the command line; the only module that composes the others | all |

pub mod catalog;
pub mod cli;
pub mod cluster;
pub mod diff;
pub mod generate;
pub mod model;
pub mod read;
pub mod report;
pub mod rules;
pub mod scaffold;
pub mod scorecard;
pub mod serve;
