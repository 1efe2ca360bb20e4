//! `bundle-tool` takes an operator from code to a listing: generate → validate → push → install.
//!
//! Data flows one way, and a test (`tests/it/directions.rs`) holds the arrows:
//!
//! | module | what is in it | may import |
//! | --- | --- | --- |
//! | [`model`] | YAML documents with places, bundles, annotations, the CSV, catalogue blobs; no I/O | nothing |
//! | [`read`] | folders, archives and standard input into the model | `model` |
//! | [`report`] | findings and how they are printed | `model` |
//! | [`rules`] | one file per rule; judges the model | `model`, `report` |
//! | [`generate`] | plain manifests into a bundle | `model` |
//! | [`catalog`] | bundles into file-based catalogs, and what is wrong with these | `model`, `report` |
//! | [`cli`] | arguments, and the only place that composes the others | all |

pub mod catalog;
pub mod cli;
pub mod generate;
pub mod model;
pub mod read;
pub mod report;
pub mod rules;
