//! What the other modules talk about: YAML documents with places, bundles and their parts, file-based catalogues.
//!
//! Nothing here does I/O and nothing here imports another module of the crate: [`crate::read`] fills the model,
//! rules and generators look at it.

pub mod bundle;
pub mod catalog;
pub mod crd;
pub mod csv;
pub mod json;
pub mod quantity;
pub mod text;
pub mod version;
pub mod yaml;

pub use bundle::{Annotations, Bundle, Content, File, First, Object};
pub use quantity::Quantity;
