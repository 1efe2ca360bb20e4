//! Credentials, from the files that container tools use.
//!
//! `REGISTRY_AUTH_FILE` alone if it is set; otherwise `$XDG_RUNTIME_DIR/containers/auth.json`,
//! `~/.config/containers/auth.json` and Docker's `config.json`, in this order (containers-auth.json(5)). In each, a
//! credential helper of the registry comes first, then the entry with the longest prefix of the repository, then the
//! store for everything. Nothing here prints or logs a secret.

mod credentials;
mod error;
mod explain;
mod file;
mod helper;
mod login;
mod resolver;

pub use credentials::Credentials;
pub use error::Error;
pub use explain::{Explanation, Outcome};
pub use login::Stored;
pub use resolver::Resolver;

pub(crate) use credentials::Secret;
