//! Catalogs that commands read: from directories, files, images and standard input.

use std::io::{self, Read as _};
use std::path::Path;

use anyhow::{Context as _, Result, bail};

use crate::catalog::validate::{self, Blob, Decoded, Input, Packages};
use crate::cli::images::{Location, Registries};
use crate::cli::runtime::runtime;
use crate::read::catalog::{self as reader, CatalogError, Content, Document, Limits, Source};
use crate::read::yaml;

/// The maximum size of a catalog on standard input, in bytes.
const MAX_STDIN: u64 = 512 << 20;

/// Returns the files of the catalog that a REF names.
pub(super) fn sources(reference: &str, registries: &Registries) -> Result<Vec<Source>> {
    if reference == "-" {
        let mut bytes = Vec::new();
        io::stdin().lock().take(MAX_STDIN + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > MAX_STDIN {
            bail!("standard input exceeds the limit of {MAX_STDIN} bytes");
        }
        return Ok(vec![Source { name: "-".into(), content: Content::Bytes(bytes) }]);
    }
    let Some(location) = Location::of_image(reference)? else {
        return Ok(reader::sources(Path::new(reference))?);
    };
    let contents = runtime()?.block_on(location.contents(registries))?;
    if !contents.is_catalog() {
        bail!("the image is not a catalog: it lacks the label that names the catalog's directory");
    }
    let source =
        |(name, bytes): (String, Vec<u8>)| Source { name: name.into(), content: Content::Bytes(bytes) };
    Ok(contents.files.into_iter().map(source).collect())
}

/// Reads the files and decodes their documents.
pub(super) fn decoded(sources: Vec<Source>) -> Result<Vec<Decoded>, CatalogError> {
    reader::documents(sources, Limits::default(), decode)
}

fn decode(document: Document) -> Decoded {
    let (root, line, is_rest_ignored) = match &document.content {
        Ok(parsed) => (Ok(parsed.tree.root()), parsed.line, parsed.is_rest_ignored),
        Err(error) => (Err(error.clone()), 0, false),
    };
    let check_yaml = |text: &[u8]| {
        let parsed = yaml::parse(text);
        match parsed.error {
            Some(error) if parsed.documents.is_empty() => Err(error),
            _ => Ok(()),
        }
    };
    validate::decode(&Input { file: document.file, line, root, is_rest_ignored, check_yaml })
}

/// Reads the blobs of a catalog, which may be invalid as long as every document can be read.
pub(super) fn blobs(reference: &str, registries: &Registries) -> Result<Vec<Blob>> {
    let failed = || format!("failed to read {reference}");
    let documents = decoded(sources(reference, registries).with_context(failed)?).with_context(failed)?;
    let mut blobs = Vec::with_capacity(documents.len());
    for document in documents {
        if let (Blob::Invalid, Some(problem)) = (&document.blob, document.problems.first()) {
            bail!("{}: {}: {}", failed(), problem.place, problem.message);
        }
        blobs.push(document.blob);
    }
    Ok(blobs)
}

/// Keeps the package of this name; all of them where none is given.
pub(super) fn select(packages: &mut Packages<'_>, package: Option<&str>) -> Result<()> {
    let Some(name) = package else { return Ok(()) };
    if !packages.contains_key(name) {
        const MAX_NAMES: usize = 10;
        let known: Vec<_> = packages.keys().take(MAX_NAMES).copied().collect();
        let more = if packages.len() > MAX_NAMES { ", …" } else { "" };
        bail!("package `{name}` is not in the catalog: its packages are {}{more}", known.join(", "));
    }
    packages.retain(|other, _| *other == name);
    Ok(())
}
