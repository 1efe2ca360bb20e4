//! File-based catalogs. Pure: what is read and written here is the [`olm_model`].
//!
//! [`render()`] makes the `olm.bundle` blob of a bundle, [`add()`] puts it into a catalog with its package and channels.
//! [`template`] makes catalogs of templates. [`validate`] finds what opm rejects and links the blobs; on these work [`graph`],
//! [`upgrade`], [`diff`] and [`prune`]. [`browse`] is what pages show of a catalog.

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod add;
pub mod browse;
mod csv_metadata;
pub mod diff;
pub mod edit;
mod error;
pub mod fix;
pub mod graph;
mod migrate;
mod properties;
pub mod prune;
mod render;
pub mod template;
pub mod upgrade;
pub mod validate;

pub use add::{AddError, DefaultChannel, Edges, PackageBlob, add, check_default_channel, describe};
pub use error::RenderError;
pub use migrate::{Omitted, migrate, minimize};
pub use render::{render, render_with_objects};
