//! Parsing the names of images.

use super::error::Error;
use super::foreign::escape;
use crate::reference::Reference;

/// Parses the name of an image; without a tag or a digest it is `latest`.
///
/// # Errors
///
/// [`Error::Name`] if it is invalid.
pub(super) fn parse(name: &str) -> Result<Reference, Error> {
    let parsed = name.parse::<Reference>().map(Reference::or_latest);
    parsed.map_err(|error| Error::Name { name: escape(name), reason: error.to_string() })
}
