//! Parsing the names of images.

use std::str::FromStr;

use oci_spec::distribution::Reference;

use super::error::Error;
use super::foreign::escape;

/// Parses the name of an image; without a tag or a digest it is `latest`.
///
/// # Errors
///
/// [`Error::Name`] if it is invalid.
pub(super) fn parse(name: &str) -> Result<Reference, Error> {
    Reference::from_str(name)
        .map_err(|error| Error::Name { name: escape(name), reason: escape(&error.to_string()) })
}
