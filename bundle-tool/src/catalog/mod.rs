//! File-based catalogs. Pure: what is read and written here is the [`crate::model`].
//!
//! [`render()`] makes the `olm.bundle` blob of a bundle, [`add()`] puts it into a catalog with its package and channels.
//! [`validate`] finds what opm rejects and links the blobs; on these work [`graph`], [`upgrade`] and [`diff`].

mod add;
mod csv_metadata;
pub mod diff;
mod error;
pub mod graph;
mod properties;
mod render;
pub mod upgrade;
pub mod validate;

pub use add::{AddError, PackageBlob, add};
pub use error::RenderError;
pub use render::render;
