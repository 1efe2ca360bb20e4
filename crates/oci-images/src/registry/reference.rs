//! Parsing the names of images.

use oci_spec::distribution::Reference;

use super::error::Error;
use super::foreign::escape;
use crate::reference;

/// Parses the name of an image; without a tag or a digest it is `latest`.
///
/// The parser of `oci-spec` compiles a regular expression first, which takes longer than most requests.
///
/// # Errors
///
/// [`Error::Name`] if it is invalid.
pub(super) fn parse(name: &str) -> Result<Reference, Error> {
    let parsed: reference::Reference = name.parse().map_err(|error: reference::ReferenceError| {
        Error::Name { name: escape(name), reason: error.to_string() }
    })?;
    let (registry, repository) = (parsed.registry().to_owned(), parsed.repository().to_owned());
    let (tag, digest) = (parsed.tag().map(str::to_owned), parsed.digest().map(str::to_owned));
    Ok(match (tag, digest) {
        (Some(tag), Some(digest)) => Reference::with_tag_and_digest(registry, repository, tag, digest),
        (None, Some(digest)) => Reference::with_digest(registry, repository, digest),
        (tag, None) => Reference::with_tag(registry, repository, tag.unwrap_or_else(|| "latest".to_owned())),
    })
}
