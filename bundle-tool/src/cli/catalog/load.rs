//! Catalogs that commands read: from directories, files, images and standard input.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context as _, Result, bail};

use crate::catalog::validate::{Blob, Decoded, Packages};
use crate::cli::images::{Location, Registries};
use crate::cli::runtime::runtime;
use crate::cli::stdin;
use crate::decode::decode;
use crate::read::catalog::{self as reader, CatalogError, Content, Limits, Source};
use crate::report::suggest;

/// Returns the files of the catalog that a REF names.
pub(in crate::cli) fn sources(reference: &str, registries: &Registries) -> Result<Vec<Source>> {
    if reference == "-" {
        let bytes = stdin::read(stdin::MAX_CATALOG)?;
        return Ok(vec![Source { name: "-".into(), content: Content::Bytes(bytes) }]);
    }
    let Some(location) = Location::of_image(reference)? else {
        return Ok(reader::sources(Path::new(reference))?);
    };
    let contents = runtime()?.block_on(location.contents(registries))?;
    if !contents.is_catalog() {
        bail!("the image is not a catalog: it has no label with the catalog's directory");
    }
    Ok(reader::sources_in(contents.files)?)
}

/// Reads the files and decodes their documents.
pub(super) fn decoded(sources: Vec<Source>) -> Result<Vec<Decoded>, CatalogError> {
    reader::documents(sources, Limits::default(), |document| decode(&document))
}

/// Reads the blobs of a catalog, which may be invalid as long as every document can be read.
pub(super) fn blobs(reference: &str, registries: &Registries) -> Result<Vec<Blob>> {
    let failed = || format!("failed to read {reference}");
    let documents = decoded(sources(reference, registries).with_context(failed)?).with_context(failed)?;
    readable(documents).with_context(failed)
}

/// Returns the blobs of documents, each of which can be read.
pub(super) fn readable(documents: Vec<Decoded>) -> Result<Vec<Blob>> {
    let mut blobs = Vec::with_capacity(documents.len());
    for document in documents {
        if let (Blob::Invalid, Some(problem)) = (&document.blob, document.problems.first()) {
            bail!("{}: {}", problem.place, problem.message);
        }
        blobs.push(document.blob);
    }
    Ok(blobs)
}

/// Keeps the package of this name in each of the catalogs, one of which has it; all of them where none is given.
pub(in crate::cli) fn select<const N: usize>(
    mut catalogs: [&mut Packages<'_>; N],
    package: Option<&str>,
) -> Result<()> {
    let Some(name) = package else { return Ok(()) };
    if !catalogs.iter().any(|packages| packages.contains_key(name)) {
        const MAX_NAMES: usize = 10;
        let known: BTreeSet<&str> = catalogs.iter().flat_map(|packages| packages.keys().copied()).collect();
        let missing = if N == 1 { "is not in the catalog" } else { "is in none of the catalogs" };
        let near = suggest::did_you_mean(name, known.iter().copied());
        if !near.is_empty() || known.is_empty() {
            bail!("package `{name}` {missing}{near}");
        }
        let names: Vec<_> = known.iter().take(MAX_NAMES).copied().collect();
        let more = if known.len() > MAX_NAMES { ", …" } else { "" };
        let whose = if N == 1 { "its" } else { "their" };
        bail!("package `{name}` {missing}: {whose} packages are {}{more}", names.join(", "));
    }
    for packages in &mut catalogs {
        packages.retain(|other, _| *other == name);
    }
    Ok(())
}
