//! The bundles that commands read: from directories, layouts, archives, registries and standard input.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context as _, Result, anyhow, bail};
use tempfile::NamedTempFile;

use super::images::{Location, Registries};
use super::runtime::SharedRuntime;
use super::stdin;
use crate::model::Bundle;
use crate::read::catalog::Source;
use crate::read::format::{self, Format};
use crate::read::{self, catalog};

/// Something to validate.
#[derive(Debug)]
pub(super) enum Target {
    /// A directory that should be a bundle.
    Directory(String),
    /// A file-based catalog: a directory or a file.
    Catalog(PathBuf),
    /// An image of a bundle or a catalog; the file is removed with the target.
    Image { name: String, location: Location, _file: Option<NamedTempFile> },
    /// A catalog from standard input.
    StandardInput(StandardInput),
}

/// The catalog on standard input, which can be taken once.
#[derive(Debug)]
pub(super) struct StandardInput(Mutex<Vec<Source>>);

impl StandardInput {
    /// Returns the files of the catalog.
    pub(super) fn take(&self) -> Vec<Source> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Target {
    /// Returns the name that users know it by.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Directory(name) | Self::Image { name, .. } => name.clone(),
            Self::Catalog(path) => path.display().to_string(),
            Self::StandardInput(_) => "-".to_owned(),
        }
    }
}

/// What an image contains.
pub(super) enum Content {
    /// A bundle.
    Bundle(Box<Bundle>),
    /// The files of a catalog.
    Catalog(Vec<Source>),
}

/// Returns what a REF stands for: one bundle or catalog, or all bundles and catalogs of a repository.
pub(super) fn targets(reference: &str) -> Result<Vec<Target>> {
    if reference == "-" {
        return Ok(vec![standard_input()?]);
    }
    if let Some(location) = Location::of_image(reference)? {
        return Ok(vec![Target::Image { name: reference.to_owned(), location, _file: None }]);
    }
    let directory = || Target::Directory(reference.to_owned());
    let path = Path::new(reference);
    if !path.exists() {
        // Reading it says what is wrong.
        return Ok(vec![directory()]);
    }
    Ok(match format::of(path)? {
        Format::Repository { bundles, catalogs } => bundles
            .iter()
            .map(|path| Target::Directory(path.display().to_string()))
            .chain(catalogs.into_iter().map(Target::Catalog))
            .collect(),
        Format::Catalog => vec![Target::Catalog(path.to_owned())],
        Format::Archive => {
            let location = Location::archive(path.into());
            vec![Target::Image { name: reference.to_owned(), location, _file: None }]
        }
        Format::Sqlite(database) => bail!(
            "{} is an SQLite index, which OLM no longer reads: convert it with `opm migrate IMAGE catalog`, then validate that",
            database.display()
        ),
        _ => vec![directory()],
    })
}

/// Reads standard input: an image archive, or a catalog.
fn standard_input() -> Result<Target> {
    let bytes = stdin::read(stdin::MAX_CATALOG).context("failed to read standard input")?;
    if bytes.is_empty() {
        bail!("standard input is empty: expected an image archive or a catalog");
    }
    if format::of_bytes(&bytes) == Format::Archive {
        let mut file = NamedTempFile::new().context("failed to create a temporary file")?;
        file.write_all(&bytes).context("failed to write a temporary file")?;
        let location = Location::archive(file.path().to_owned());
        return Ok(Target::Image { name: "-".to_owned(), location, _file: Some(file) });
    }
    let source = Source { name: "-".into(), content: catalog::Content::Bytes(bytes) };
    Ok(Target::StandardInput(StandardInput(Mutex::new(vec![source]))))
}

/// Reads the bundle that a REF names. The runtime is started with the first image.
pub(super) fn read(reference: &str, registries: &Registries, runtime: &SharedRuntime) -> Result<Bundle> {
    let Some(location) = Location::of_image(reference)? else { return directory(reference) };
    match image(reference, &location, registries, runtime)? {
        Content::Bundle(bundle) => Ok(*bundle),
        Content::Catalog(_) => bail!("{reference} is a catalog image, expected a bundle image"),
    }
}

/// Reads the bundle or the catalog in an image. The runtime is started with the first one.
pub(super) fn image(
    reference: &str,
    location: &Location,
    registries: &Registries,
    runtime: &SharedRuntime,
) -> Result<Content> {
    let contents = runtime
        .get()?
        .block_on(location.contents(registries))
        .map_err(|error| without_file(reference, location, error))
        .with_context(|| format!("failed to read {reference}"))?;
    Ok(if contents.is_catalog() {
        Content::Catalog(catalog::sources_in(contents.files)?)
    } else {
        Content::Bundle(Box::new(read::bundle::files(reference, &contents.into_bundle())))
    })
}

/// Replaces the temporary file of standard input in an error.
fn without_file(reference: &str, location: &Location, error: anyhow::Error) -> anyhow::Error {
    match location.archive_path() {
        Some(path) if reference == "-" => {
            anyhow!(format!("{error:#}").replace(&*path.to_string_lossy(), "standard input"))
        }
        _ => error,
    }
}

/// Reads the bundle in a directory; an error names the other forms of a REF, or how to migrate an older format.
pub(super) fn directory(reference: &str) -> Result<Bundle> {
    if reference.is_empty() {
        bail!("empty REF: expected a bundle directory, `oci:DIR`, `oci-archive:FILE` or an image name");
    }
    let path = Path::new(reference);
    if path.is_dir() && format::of(path)? == Format::PackageManifests {
        bail!(
            "{reference} is in the package manifests format, which OLM no longer reads: convert it with \
             `operator-sdk pkgman-to-bundle {reference}`"
        );
    }
    read::bundle::directory(path).map_err(|error| {
        let help = if path.is_file() {
            "expected a bundle directory, a catalog, or `oci-archive:FILE` for an image archive"
        } else if path.exists() {
            return error.into();
        } else {
            "expected a bundle directory, `oci:DIR`, `oci-archive:FILE` or an image name with its registry"
        };
        anyhow!("{:#}; {help}", anyhow::Error::from(error))
    })
}
