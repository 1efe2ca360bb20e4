//! Reads bundles, catalogs and manifests from bytes, within stated limits: nothing of it is trusted.

pub mod bundle;
pub mod catalog;
pub mod dockerfile;
pub mod manifests;
pub mod submission;
pub(crate) mod unreadable;

pub use unreadable::{MAX_FILE_SIZE, Unreadable, read_stream};
