//! Image layers, manifests and OCI layouts.
//!
//! An [`Image`] is an immutable view: a manifest, a configuration and layers whose bytes are opened when they are read.
//! This module builds images from files, writes them to and reads them from OCI layouts (directories and archives), and
//! extracts files from them. Everything that is read is foreign data: readers verify sizes and digests and state their
//! limits. There is no network here: see [`registry`](crate::registry).

mod architecture;
mod archive;
mod artifact;
mod blob;
mod changeset;
mod contents;
mod decompress;
mod digest;
mod directory;
mod docker_archive;
mod entries;
mod error;
mod extract;
mod files;
mod gzip;
mod image;
mod layer;
mod oci_layout;
mod regular;
mod search;
mod writer;

pub use crate::platform::Platform;
pub use architecture::{architectures, is_static};
pub use archive::{open_archive, write_archive};
pub use artifact::{Artifact, Wanted, is_image_config};
pub use blob::Blob;
pub use contents::Contents;
pub use digest::{Hashing, sha256};
pub use directory::{open_directory, write_directory};
pub use docker_archive::{open_docker_archive, write_docker_archive};
pub use entries::{Listed, list};
pub use error::Error;
pub use extract::{Limits, extract};
pub use files::{File, FileMap, Source, is_executable};
pub use image::{Image, ImageBuilder};
pub use layer::{Layer, layer};
pub use oci_layout::OciLayout;
pub use writer::DirectoryWriter;

pub(crate) use archive::pack;
pub(crate) use artifact::{Document, check_count, check_depth, is_index};
pub(crate) use blob::DOCUMENT_LIMIT;
#[cfg(feature = "sign")]
pub(crate) use digest::hex;
pub(crate) use docker_archive::require_image;
pub(crate) use image::document;
pub(crate) use oci_layout::choose;

pub(crate) use search::{Found, Search};

pub use oci_spec::image::{Descriptor, Digest, MediaType};
