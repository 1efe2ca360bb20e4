//! Reads files, directories and standard input into the [`crate::model`].
//!
//! The only module that reads the disk for validation, generation and catalogs. What it reads is not trusted:
//! directories are listed by [`walk`], files are read by [`mod@file`], YAML by [`yaml`], each within stated limits.

pub mod bundle;
pub mod catalog;
pub mod dockerfile;
mod document;
pub mod file;
pub mod format;
mod json;
mod libyaml;
pub mod manifests;
pub mod overlay;
pub mod settings;
pub mod spans;
mod stream;
pub mod submission;
mod usual;
pub mod walk;
pub mod watch;
pub mod yaml;
