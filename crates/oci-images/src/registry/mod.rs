//! The distribution protocol (OCI distribution specification 1.1): a client for registries, and a small server.
//!
//! The client pushes and pulls [`Image`](crate::layout::Image)s: it reads credentials from the files that container
//! tools use, uploads only what a registry lacks, retries what may succeed later and verifies every digest. It
//! assumes that registries are hostile: everything that they send has a limit in size and time (see [`Options`]),
//! credentials go to the registry and its token server only, and what they say is cleaned before it is shown. The
//! [server] stores into a directory, for trials and for tests.

mod attach;
mod auth;
#[cfg(feature = "sign")]
mod certificate_names;
mod certificates;
mod challenge;
mod client;
mod connections;
mod deadline;
#[cfg(feature = "sign")]
mod der;
mod error;
mod error_remedy;
mod failure;
mod fetch;
mod file;
mod http;
#[cfg(feature = "sign")]
mod inclusion;
#[cfg(feature = "sign")]
mod key_file;
#[cfg(feature = "sign")]
mod keyless;
mod login;
mod mirrors;
mod options;
#[cfg(feature = "sign")]
mod policy;
#[cfg(feature = "sign")]
mod problem;
mod progress;
#[cfg(feature = "sign")]
mod promise;
#[cfg(feature = "sign")]
mod protobuf_json;
mod pull;
mod push;
mod reference;
mod referrers;
mod retry;
#[cfg(feature = "sign")]
mod secretbox;
mod send;
#[cfg(feature = "server")]
pub mod server;
mod session;
#[cfg(feature = "sign")]
mod signature;
#[cfg(feature = "sign")]
mod signed;
#[cfg(feature = "sign")]
mod signing_key;
#[cfg(feature = "sign")]
mod sigstore_bundle;
#[cfg(test)]
#[cfg(feature = "sign")]
mod sigstore_fixtures;
mod target;
#[cfg(feature = "sign")]
mod timestamp;
#[cfg(feature = "sign")]
mod trusted_root;
mod upload;
#[cfg(feature = "sign")]
mod verifier;
#[cfg(feature = "sign")]
mod verifying_key;

pub use attach::Attachment;
pub use auth::{Credentials, Error as AuthError, Explanation, Outcome, Resolver, Stored};
pub use certificates::certificate_directories;
pub use client::Repository;
pub use deadline::{Deadline, Timeout};
pub use error::{Action, Error};
pub use error_remedy::Remedy;
#[cfg(feature = "sign")]
pub use key_file::KeyError;
#[cfg(feature = "sign")]
pub use keyless::Identity;
pub use login::{Login, log_in};
pub use mirrors::Mirrors;
pub use options::{ClientCertificate, IdleTimeout, Options, Parallel};
#[cfg(feature = "sign")]
pub use policy::Policy;
#[cfg(feature = "sign")]
pub use problem::Problem;
pub use progress::{Progress, ProgressSink};
pub use pull::pull;
pub use push::Pushed;
pub use referrers::Referrer;
pub use retry::Backoff;
#[cfg(feature = "sign")]
pub use signature::Verification;
#[cfg(feature = "sign")]
pub use signing_key::SigningKey;
#[cfg(feature = "sign")]
pub use verifier::{Verified, Verifier};
#[cfg(feature = "sign")]
pub use verifying_key::VerifyingKey;

pub use crate::reference::Reference;
