//! Serves a file-based catalog: the registry's gRPC API as `opm serve` does, and catalogd's HTTP API with pages to browse.
//!
//! [`load`] compiles a catalog's files into an [`Index`], which [`Catalog`] queries; [`CatalogState`] holds the catalog that is
//! served, and [`Server`] serves it on a port. With gRPC alone, only the upgrade graph of the catalog stays in memory; with HTTP,
//! its blobs do, too.

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod browse;
pub mod client;
mod csv;
mod document;
mod fields;
mod grpc;
mod http;
mod index;
pub mod load;
mod metrics;
pub mod probe;
#[doc(hidden)] // The messages of the gRPC API, for the clients in tests.
pub mod proto;
mod query;
mod reflection;
mod server;
mod site;
mod state;

pub use index::{Digest, Index, IndexError, VERSION};
pub use query::{Api, Catalog, QueryError};
pub use server::{GRACE, Protocol, Server};
pub use site::{Site, is_catalog_name};
pub use state::{CatalogSnapshot, CatalogState};
