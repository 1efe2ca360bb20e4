//! Generation as a whole: bundles taken apart and generated again, and time in proportion to the input.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod round_trip;
mod scale;
mod warnings;

use olm_generate::{Destination, Document, Error, Generated, ImagePins, Manifests, Options, SortedManifests};

/// Generates a bundle from documents, without digests and without an existing bundle.
fn generate(documents: Vec<Document>, options: &Options) -> Result<Generated, Error> {
    let sorted = SortedManifests::new(&Manifests { documents, base: None }, options)?;
    let destination = Destination { now: "2026-01-01T00:00:00Z".to_owned(), ..Destination::default() };
    sorted.pin(&ImagePins::default()).generate(&destination)
}
