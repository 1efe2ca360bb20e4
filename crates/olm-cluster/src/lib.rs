//! What happens to an operator on a cluster with OLM: objects to create, observed objects, stages and reasons.
//!
//! [`Snapshot`] holds observed objects. [`progress`](fn@stage::progress) and [`problems`](diagnose::problems) are pure
//! functions of it; [`Cluster`] reads and writes, and [`install::Installation`] ties them together.

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub mod cleanup;
pub mod client;
mod credentials;
pub mod deadline;
pub mod diagnose;
pub mod gather;
pub mod install;
pub mod kinds;
pub mod manifests;
pub mod olm;
pub mod preflight;
mod process_group;
pub mod queries;
pub mod samples;
pub mod snapshot;
pub mod stage;
pub mod test_pods;
pub mod test_storage;
pub mod v1;

pub use client::{Cluster, Error};
pub use deadline::Deadline;
pub use diagnose::{Diagnosis, Scope};
pub use kinds::Kind;
pub use snapshot::Snapshot;
