//! `bundle-tool` takes an operator from code to a listing: generate → validate → push → install.
//!
//! Data flows one way, and a test (`tests/directions.rs`) holds the arrows:
//!
//! | module | what is in it | may import |
//! | --- | --- | --- |
//! | [`model`] | YAML documents with places, bundles, annotations, the CSV, catalogue blobs; no I/O | nothing |
//! | [`go_regex`] | regular expressions as Go reads them; no I/O | nothing |
//! | [`cel`] | the type checker and cost estimator for Kubernetes' CEL rules; no I/O | `go_regex` |
//! | [`read`] | folders, archives and standard input into the model | `model` |
//! | [`write`] | files on disk, replaced whole or not at all | nothing |
//! | [`report`] | findings and how they are printed | `model` |
//! | [`rules`] | one file per rule; judges the model | `model`, `cel`, `go_regex`, `report` |
//! | [`generate`] | plain manifests into a bundle | `model` |
//! | [`catalog`] | bundles into file-based catalogues | `model` |
//! | [`layout`] | image layers, manifests and OCI layouts | `model`, `write` |
//! | [`registry`] | the distribution protocol: client and a small server | `layout`, `model`, `write` |
//! | [`cli`] | arguments, and the only place that composes the others | all |

pub mod catalog;
pub mod cel;
pub mod cli;
pub mod generate;
pub mod go_regex;
pub mod layout;
pub mod model;
pub mod read;
pub mod registry;
pub mod report;
pub mod rules;
pub mod write;
