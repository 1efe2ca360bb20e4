//! The library behind `bundle-tool`: packages Kubernetes operators for OLM.
//!
//! To validate a bundle, read it, run the rules and examine the findings; to build a catalog, render it:
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
//! To generate a bundle, pass the manifests:
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
//! | [`catalog`] | builds file-based catalogs from bundles and templates, validates and changes them, and draws upgrade graphs | `model`, `report` |
//! | [`decode`] | decodes the documents of catalogs that were read | `read`, `catalog` |
//! | [`cluster`] | what happens to an operator on a cluster with OLM: manifests, stages, reasons, the API client; OLM itself | `model` |
//! | [`diff`] | compares two versions of an operator: what an upgrade changes and breaks | `model`, `rules` |
//! | [`manifests`] | renders a bundle as plain manifests that install it without OLM | `model` |
//! | [`fix`] | changes the source of documents to fix findings, and preserves comments and layout | `model`, `read`, `report` |
//! | [`provenance`] | statements of how images were built | nothing |
//! | [`sbom`] | software bills of materials of images | nothing |
//! | [`lsp`] | a language server: diagnostics, quick fixes and documentation in editors | `model`, `read`, `report`, `rules`, `catalog`, `fix` |
//! | [`scaffold`] | the files of a Rust operator's project, and three-way merges of a newer scaffold | `model`, `read`, `report` |
//! | [`serve`] | serves a catalog over gRPC from an index, and over HTTP with pages to browse it | `model`, `read`, `report`, `catalog`, `decode` |
//! | [`scorecard`] | operator-sdk's stock scorecard tests, on the model | `model`, `report`, `rules` |
//! | [`cli`] | the command line; the only module that composes the others | all |

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub mod catalog;
pub mod generate;
pub mod model;
pub mod read;
pub mod report;
pub mod rules;

// Public for the program, the tests (also those in `e2e`) and the fuzz targets only.
#[doc(hidden)]
pub mod cli;
#[doc(hidden)]
pub mod cluster;
#[doc(hidden)]
pub mod decode;
#[doc(hidden)]
pub mod diff;
#[doc(hidden)]
pub mod fix;
#[doc(hidden)]
pub mod lsp;
#[doc(hidden)]
pub mod manifests;
#[doc(hidden)]
pub mod provenance;
#[doc(hidden)]
pub mod sbom;
#[doc(hidden)]
pub mod scaffold;
#[doc(hidden)]
pub mod scorecard;
#[doc(hidden)]
pub mod serve;
