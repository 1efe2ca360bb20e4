//! What the other modules share: YAML documents with positions, bundles and their parts, file-based catalogs.
//!
//! Nothing here does I/O or imports another module of the crate: [`crate::read`] fills the model, rules and generators
//! work on it.

pub mod bundle;
pub mod catalog;
pub mod crd;
pub mod csv;
pub mod dockerfile;
mod document;
pub mod file;
pub mod image;
pub mod json;
pub mod names;
pub mod pull_request;
pub mod quantity;
mod severity;
pub mod submission;
pub mod text;
pub mod version;
pub mod yaml;

pub use bundle::{Annotations, Bundle, Object};
pub use document::Document;
pub use file::{Content, File, First};
pub use image::{Availability, Images};
pub use pull_request::PullRequest;
pub use quantity::Quantity;
pub use severity::{Level, Severity};
pub use submission::Submission;
