//! Catalogs that commands read: from directories, files, images and standard input.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context as _, Result, bail};

use crate::cli::images::{Location, RegistryArgs};
use crate::cli::runtime::runtime;
use crate::cli::stdin;
use oci_images::compressed::is_compressed;
use olm_catalog::validate::decode;
use olm_catalog::validate::{Blob, Decoded, Packages};
use olm_model::disk;
use olm_model::disk::format::FormatError;
use olm_model::read::catalog as reader;
use olm_model::read::catalog::{CatalogError, Content, Limits, Source};
use olm_model::report::{Finding, suggest};

/// Returns the files of the catalog that a REF names.
pub(crate) fn sources(reference: &str, registries: &RegistryArgs) -> Result<Vec<Source>> {
    if reference == "-" {
        let bytes = stdin::read(stdin::MAX_CATALOG, "a file-based catalog")?;
        if is_compressed(&bytes) {
            return Err(FormatError::Compressed { path: "standard input".to_owned() }.into());
        }
        return Ok(vec![Source { name: "-".into(), content: Content::Bytes(bytes) }]);
    }
    let Some(location) = Location::of_image(reference)? else {
        return Ok(disk::catalog::sources(Path::new(reference))?);
    };
    let contents = runtime()?.block_on(location.contents(registries))?;
    if !contents.is_catalog() {
        return Err(FormatError::BundleAsCatalog { path: reference.to_owned() }.into());
    }
    Ok(reader::sources_in(contents.files)?)
}

/// Reads the files and decodes their documents.
pub(crate) fn decoded(sources: Vec<Source>) -> Result<Vec<Decoded>, CatalogError> {
    reader::documents(sources, Limits::default(), |document| decode(&document))
}

/// Reads the blobs of a catalog, which may be invalid as long as every document can be read.
pub(crate) fn blobs(reference: &str, registries: &RegistryArgs) -> Result<Vec<Blob>> {
    let failed = || format!("failed to read {reference}");
    let documents = decoded(sources(reference, registries).with_context(failed)?).with_context(failed)?;
    readable(documents).with_context(failed)
}

/// Returns the blobs of documents, each of which can be read.
pub(crate) fn readable(documents: Vec<Decoded>) -> Result<Vec<Blob>> {
    let mut blobs = Vec::with_capacity(documents.len());
    for document in documents {
        check_readable(&document)?;
        blobs.push(document.blob);
    }
    Ok(blobs)
}

/// Fails if a document cannot be read.
pub(crate) fn check_readable(document: &Decoded) -> Result<()> {
    let (Blob::Invalid, Some(Finding { file, line, column, message, .. })) =
        (&document.blob, document.findings.first())
    else {
        return Ok(());
    };
    let file = file.as_deref().unwrap_or_default();
    match line.zip(*column) {
        Some((line, column)) => bail!("{file}:{line}:{column}: {message}"),
        None => bail!("{file}: {message}"),
    }
}

/// Keeps the package of this name in each of the catalogs, one of which has it; all of them where none is given.
pub(crate) fn select<const N: usize>(
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
