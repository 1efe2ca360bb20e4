//! Reads bundles, catalogs and manifests from files and directories.
//!
//! What is read is not trusted: [`Directory`] opens nothing outside of the directory, [`mod@walk`] lists it, and [`mod@file`]
//! reads files that the user names, each within stated limits.

pub mod bundle;
pub mod catalog;
mod directory;
pub mod dockerfile;
mod error;
pub mod file;
pub mod format;
pub mod manifests;
pub mod overlay;
mod regular;
pub mod submission;
pub(crate) mod sys;
pub mod walk;
pub mod watch;
pub mod whole;

pub use directory::Directory;
pub use error::WalkError;

use crate::read::Unreadable;
use crate::{Content, File};

/// Returns a file that is not read, with the reason.
fn unreadable(path: &str, reason: &Unreadable) -> File {
    let content = Content::Unreadable(reason.to_string());
    File { path: path.to_owned(), size: 0, content, bytes: Vec::new() }
}
