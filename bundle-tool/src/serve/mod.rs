//! Serves a file-based catalog to OLM, as `opm serve` does: the registry's gRPC API from an index of the catalog.
//!
//! A catalog's files become an [`Index`] ([`load`]), of which [`Catalog`] answers questions; [`Server`] puts them on a
//! port. Nothing of the catalog but its upgrade graph stays in memory.

pub mod client;
mod csv;
mod document;
mod fields;
mod grpc;
mod index;
pub mod load;
pub mod probe;
pub mod proto;
mod query;
mod reflection;
mod server;

pub use index::{Digest, Index, IndexError, VERSION};
pub use query::{Api, Catalog, QueryError};
pub use server::{GRACE, Server};
