//! Scaffolds Rust operators: a project's files are a function of its [`Project`], and a command changes the project.
//!
//! [`render`] returns the files of a project; [`merge::plan`] brings a project's directory from what was last written
//! ([`Record`]) to what is to be written now, and keeps what was edited in between. Nothing here touches files: the
//! commands read and write.
//!
//! The copy of the runtime crate in a project is not merged but replaced ([`vendor`]).
//!
//! The files' templates are in `src/scaffold/templates`, as they are written, with minijinja's `{{ }}` and `{% %}`.

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub mod adopt;
mod adopt_bundle;
mod adopt_metadata;
mod adopt_version;
mod error;
mod files;
mod kubebuilder;
mod layout;
mod lines;
mod makefile_variables;
pub mod merge;
pub mod names;
pub mod plugins;
pub mod project;
pub mod record;
mod templates;
pub mod vendor;
pub mod version;

pub use error::Error;
pub use files::{Files, ScaffoldFile};
pub use kubebuilder::{Gvk, KubebuilderProject};
pub use project::{DeployImage, License, Project, Resource, Runtime, Webhooks};
pub use record::Record;
pub use templates::{copies, render};
pub use version::Version;
