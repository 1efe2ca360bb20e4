//! Random objects for `tests/it/verdicts.rs`: valid ones, and valid ones with exactly one change.
//!
//! Each kind of object has a file with its template. [`template`] generates objects, `values` has the classes of values,
//! [`edit`] the changes, [`subject`] the bundle that contains an object and the requests that create it; [`cel`]
//! generates expressions and [`cel_case`] CRDs with them, [`Generator`] chooses what is generated next, [`shrink`]
//! minimizes an object with a difference, [`report`] counts and prints.
//! The same seed generates the same objects.

mod case;
pub mod cel;
pub mod cel_case;
mod cel_crd;
mod cel_defects;
mod crd;
mod csv;
mod deployment;
pub mod edit;
mod generator;
mod kinds;
mod manifests;
mod metadata;
mod rbac;
pub mod report;
mod service;
pub mod shrink;
pub mod subject;
pub mod template;
mod typed;
mod values;
mod webhook;

pub use case::{Case, Change, Used};
pub use generator::{Count, Generator, wanted};
pub use kinds::{Kind, kinds};
