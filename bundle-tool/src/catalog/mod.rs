//! File-based catalogs. Pure: what is read and written here is the [`crate::model`].
//!
//! [`render`] makes the `olm.bundle` blob of a bundle, [`add`] puts it into a catalog with its package and channels, and
//! [`validate`] finds what opm rejects.

mod add;
mod csv_metadata;
mod error;
mod properties;
mod render;
pub mod validate;

pub use add::{AddError, PackageBlob, add};
pub use error::RenderError;
pub use render::render;
