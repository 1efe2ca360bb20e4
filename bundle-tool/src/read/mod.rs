//! Files, folders, archives and standard input into the [`crate::model`]. The only module that reads the disk for
//! the judging and generating ones.

pub mod bundle;
pub mod catalog;
mod json;
mod libyaml;
pub mod manifests;
pub mod yaml;
