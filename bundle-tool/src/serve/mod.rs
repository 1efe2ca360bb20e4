//! Serves a file-based catalog: the registry's gRPC API as `opm serve` does, and catalogd's HTTP API with pages to browse.
//!
//! A catalog's files become an [`Index`] ([`load`]), of which [`Catalog`] answers questions; [`Live`] holds the state that
//! is served, and [`Server`] puts it on a port. Over gRPC alone, nothing of the catalog but its upgrade graph stays in
//! memory; over HTTP, its blobs do.

mod browse;
pub mod client;
mod csv;
mod document;
mod fields;
mod grpc;
mod http;
mod index;
mod live;
pub mod load;
mod metrics;
pub mod probe;
pub mod proto;
mod query;
mod reflection;
mod server;
mod site;

pub use index::{Digest, Index, IndexError, VERSION};
pub use live::{Live, Served};
pub use query::{Api, Catalog, QueryError};
pub use server::{GRACE, Protocol, Server};
pub use site::{Site, is_catalog_name};
