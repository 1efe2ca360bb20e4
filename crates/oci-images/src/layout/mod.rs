//! Image layers, manifests and OCI layouts.
//!
//! An [`Image`] is an immutable view: a manifest, a configuration and layers whose bytes are opened only when somebody
//! reads them. Here images are made out of files, written to and read from OCI layouts (folders and archives), and
//! unpacked with suspicion. Nothing here talks to a network: that is [`registry`](crate::registry).

mod archive;
mod blob;
mod contents;
mod digest;
mod error;
mod extract;
mod files;
mod folder;
mod image;
mod layer;
mod machine;
mod oci_layout;

pub use archive::{open_archive, write_archive};
pub use blob::Blob;
pub use contents::{Contents, wanted_by_labels};
pub use digest::{Hashing, sha256};
pub use error::Error;
pub use extract::{Limits, extract};
pub use files::{File, FileMap, Source};
pub use folder::{open_folder, write_folder};
pub use image::{Image, Platform, Recipe};
pub use layer::{Layer, layer};
pub use machine::architectures;
pub use oci_layout::OciLayout;

pub(crate) use blob::DOCUMENT_LIMIT;
pub(crate) use oci_layout::choose;

pub use oci_spec::image::{Descriptor, Digest, MediaType};
