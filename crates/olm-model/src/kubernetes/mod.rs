//! Minor versions of Kubernetes, sets of them, and the table of those that the rules reproduce: `releases.txt`, beside this file,
//! with the versions of OpenShift.
//!
//! The date of the table, not the clock, decides what is supported upstream, so that the same bundle has the same findings every
//! day.

mod minor;
mod table;
mod versions;

pub use minor::{Minor, MinorError, OpenShiftMinorError};
pub use table::{
    Release, newest, of_openshift, oldest, openshift_of, openshift_versions, programs, releases, reproduced,
    updated,
};
pub use versions::{Versions, VersionsError};
