//! Catalogs that commands read: from directories, files, images and standard input.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result, bail};

use crate::cli::images::{Location, RegistryArgs};
use crate::cli::runtime::runtime;
use crate::cli::stdin;
use crate::terminal::{WARNING, messages};
use kube_yaml::text::{excerpt, printable, source_name};
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
    let failed = || format!("failed to read {}", source_name(reference));
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
    let file = source_name(file.as_deref().unwrap_or_default());
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
        let known: BTreeSet<&str> = catalogs.iter().flat_map(|packages| packages.keys().copied()).collect();
        let (missing, list) = if N == 1 {
            ("is not in the catalog", "its packages are")
        } else {
            ("is in none of the catalogs", "their packages are")
        };
        let known = suggest::or_known(name, list, known.iter().copied());
        bail!("package `{}` {missing}{known}", excerpt(name));
    }
    for packages in &mut catalogs {
        packages.retain(|other, _| *other == name);
    }
    Ok(())
}

/// Fails if none of the packages has the channel.
pub(crate) fn require_channel(packages: &Packages<'_>, channel: &str) -> Result<()> {
    let known: BTreeSet<&str> =
        packages.values().flat_map(|linked| linked.channels.keys().copied()).collect();
    if known.contains(channel) {
        return Ok(());
    }
    let known = suggest::or_known(channel, "its channels are", known.iter().copied());
    bail!("channel `{}` is not in the catalog{known}", excerpt(channel));
}

/// Warns of a catalog without any blob: a wrong path looks like this.
pub(crate) fn warn_of_empty(reference: &str) -> Result<()> {
    let name = printable(source_name(reference));
    writeln!(messages(), "{WARNING} {name} contains no packages, channels or bundles")?;
    Ok(())
}
