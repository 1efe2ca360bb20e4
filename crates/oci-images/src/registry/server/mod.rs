//! A small registry that stores into a directory, for tests and trials.
//!
//! It implements the OCI distribution specification 1.1: pulls with ranges, pushes in one piece or in chunks, mounts
//! between repositories, tags in pages, referrers and deletions; over TLS and with basic authentication if asked to. Content is hashed as it arrives, and nothing appears
//! under its name before it is complete. It can be a cache of another registry. By default it listens on loopback only and accepts every client there except
//! web pages of other origins; [`Limits`] bounds what clients can occupy.

mod access;
mod blobs;
mod body;
mod error;
mod gc;
mod handler;
mod limits;
mod listener;
mod manifests;
mod options;
mod own;
mod proxy;
mod response;
mod route;
mod store;
mod tls;
mod uploads;
mod users;

pub use error::Error;
pub use gc::{Garbage, collect_garbage};
pub use limited_http::Limits as HttpLimits;
pub use limits::Limits;
pub use listener::Server;
pub use options::Options;
pub use proxy::Upstream;
pub use tls::Certificate;
