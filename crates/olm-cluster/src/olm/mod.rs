//! OLM itself on a cluster: installed from its manifests, inspected, and removed.
//!
//! `prepare` and `status` are pure; `install` and `uninstall` change the cluster.

mod operations;
mod prepare;
mod status;

pub use operations::{Failure, Installed, install, leftovers, observe, operators, uninstall};
pub use prepare::{Mirror, Options, PrepareError, Prepared, prepare};
pub use status::{Component, Status, status};
