//! What registries answer about the images that a bundle refers to.

use std::collections::BTreeMap;

use oci_images::platform::Platform;

/// The answers by the names of images, as they are written.
pub type Images = BTreeMap<String, Availability>;

/// Whether an image can be pulled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Availability {
    /// The name is invalid, for this reason.
    InvalidName(String),
    /// Its registry could not be asked, for this reason.
    Unknown(String),
    /// Its registry does not have it.
    Missing,
    /// Its registry has it for these platforms; none if it does not specify them.
    Available(Vec<Platform>),
}
