//! Parsing the names of images.

use super::error::Error;
use crate::reference::Reference;
use crate::secrets::Address;

/// Parses the name of an image; without a tag or a digest it is `latest`.
///
/// # Errors
///
/// [`Error::Name`] if it is invalid.
pub(crate) fn parse(name: &str) -> Result<Reference, Error> {
    let parsed = name.parse::<Reference>().map(Reference::or_latest);
    parsed.map_err(|error| Error::Name { name: Address::new(name).to_string(), reason: error.to_string() })
}
