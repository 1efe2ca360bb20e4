//! The distribution protocol (OCI distribution specification 1.1): a client for registries, and a small server.
//!
//! The client pushes and pulls [`Image`](crate::layout::Image)s: it finds credentials where container tools keep them,
//! uploads only what a registry lacks, retries what may be retried and checks every digest on the way. The
//! [server] stores into a folder, for trying things out and for tests.

mod auth;
mod client;
mod error;
mod options;
mod progress;
mod pull;
mod push;
mod retry;
pub mod server;

pub use auth::{Credentials, Resolver};
pub use client::Repository;
pub use error::Error;
pub use options::Options;
pub use progress::Progress;
pub use pull::pull;
pub use push::Pushed;
pub use retry::Backoff;

pub use oci_client::Reference;
