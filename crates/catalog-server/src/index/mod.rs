//! The index of a catalog: one file from which the catalog is served, read in place by position.
//!
//! `docs/internals/index-format.md` describes the format. The file names the digest of the catalog that it was made of and its own
//! digest; [`Index::open`] checks both before anything is served from it. Of its content only the tables with the
//! upgrade graph stay in memory; the bundles are read when they are asked for.

mod error;
mod header;
mod open;
mod tables;
mod write;

pub use error::{IndexError, VERSION};
pub use header::Digest;
pub use open::Index;
pub(crate) use tables::{Row, Table, find};
pub(crate) use write::{Prepared, Purpose, make, prepare, push_field};
