//! Bundles into file-based catalogues. Pure: what is read and written here is the [`crate::model`].
//!
//! [`render`] makes the `olm.bundle` blob of a bundle, [`add`] puts it into a catalogue with its package and channels.

mod add;
mod csv_metadata;
mod error;
mod properties;
mod render;

pub use add::{AddError, add};
pub use error::RenderError;
pub use render::render;
