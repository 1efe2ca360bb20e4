//! Bundles and file-based catalogs of the Operator Lifecycle Manager: what rules, generators, graphs and servers share.
//!
//! | module | contents |
//! | --- | --- |
//! | [`bundle`], [`file`](mod@file), [`csv`], [`crd`], [`dockerfile`] | a bundle, its files and objects, and typed views of them |
//! | [`catalog`] | the blobs of a file-based catalog |
//! | [`read`] | bundles, catalogs and manifests from bytes, within stated limits |
//! | `disk` | bundles, catalogs and manifests from files and directories, and whether they change; needs the feature `fs` |
//! | [`report`] | findings, fixes, and the documentation of rules |
//! | [`fix`] | changes the source of files to fix findings, and keeps comments and layout |
//! | [`kubernetes`] | minor versions of Kubernetes and OpenShift, and the table of those that the rules reproduce |
//! | [`openshift`] | the versions of OpenShift that a bundle declares |
//! | [`version`], [`names`], [`image`], [`selector`] | values that several of them use |
//!
//! Without the feature `fs`, nothing here does I/O.

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub mod bundle;
pub mod catalog;
pub mod crd;
pub mod csv;
#[cfg(feature = "fs")]
pub mod disk;
pub mod dockerfile;
mod document;
pub mod file;
pub mod fix;
pub mod icon;
pub mod image;
pub mod kubernetes;
pub mod names;
pub mod openshift;
pub mod pull_request;
pub mod read;
pub mod report;
pub mod selector;
mod severity;
pub mod submission;
pub mod version;

pub use bundle::{Annotations, Bundle, Object};
pub use document::Document;
pub use file::{Content, File};
pub use image::{Availability, Images};
pub use pull_request::PullRequest;
pub use selector::LabelSelector;
pub use severity::{Level, Severity};
pub use submission::RepositoryContext;
