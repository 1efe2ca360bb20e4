//! The bundles that commands read: from directories, layouts, archives, registries and standard input.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context as _, Result, anyhow, bail};
use tempfile::NamedTempFile;

use super::images::{Location, RegistryArgs};
use super::runtime::SharedRuntime;
use super::stdin;
use crate::terminal::{NOTE, messages};
use olm_model::Bundle;
use olm_model::disk;
use olm_model::disk::bundle::ReadError;
use olm_model::disk::format;
use olm_model::disk::format::{Format, FormatError};
use olm_model::disk::overlay::Overlay;
use olm_model::read;
use olm_model::read::catalog;
use olm_model::read::catalog::Source;
use olm_model::report::Suite;
use olm_rules::Selection;

/// Something to validate.
#[derive(Debug)]
pub(crate) enum ValidateInput {
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
pub(crate) struct StandardInput(Mutex<Vec<Source>>);

impl StandardInput {
    /// Returns the files of the catalog.
    pub(crate) fn take(&self) -> Vec<Source> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl ValidateInput {
    /// Returns the name that users know it by.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Directory(name) | Self::Image { name, .. } => name.clone(),
            Self::Catalog(path) => kube_yaml::text::path(path),
            Self::StandardInput(_) => "-".to_owned(),
        }
    }
}

/// What an image contains.
pub(crate) enum Content {
    /// A bundle.
    Bundle(Box<Bundle>),
    /// The files of a catalog.
    Catalog(Vec<Source>),
}

/// Returns what a REF stands for: one bundle or catalog, or all bundles and catalogs of a repository.
pub(crate) fn targets(reference: &str) -> Result<Vec<ValidateInput>> {
    if reference == "-" {
        return Ok(vec![standard_input()?]);
    }
    if let Some(location) = Location::of_image(reference)? {
        return Ok(vec![ValidateInput::Image { name: reference.to_owned(), location, _file: None }]);
    }
    let directory = || ValidateInput::Directory(reference.to_owned());
    let path = Path::new(reference);
    if !path.exists() {
        // Reading it says what is wrong.
        return Ok(vec![directory()]);
    }
    if let Some(bundle) = bundle_of_project(path) {
        writeln!(
            messages(),
            "{NOTE} {reference} is the root of a project: reading its bundle {}",
            bundle.display()
        )?;
        return Ok(vec![ValidateInput::Directory(bundle.display().to_string())]);
    }
    Ok(match format::detect(path)? {
        Format::Repository { bundles, catalogs } => bundles
            .iter()
            .map(|path| ValidateInput::Directory(path.display().to_string()))
            .chain(catalogs.into_iter().map(ValidateInput::Catalog))
            .collect(),
        Format::Catalog => vec![ValidateInput::Catalog(path.to_owned())],
        format @ (Format::Archive | Format::Layout) => {
            let location = match format {
                Format::Layout => Location::layout(path.into()),
                _ => Location::archive(path.into()),
            };
            vec![ValidateInput::Image { name: reference.to_owned(), location, _file: None }]
        }
        Format::Compressed => bail!(FormatError::Compressed { path: reference.to_owned() }),
        Format::Sqlite(database) => bail!(FormatError::Sqlite { path: database.display().to_string() }),
        _ => vec![directory()],
    })
}

/// Returns the bundle in the root of an operator's project.
pub(crate) fn bundle_of_project(path: &Path) -> Option<PathBuf> {
    const MARKS: [&str; 6] = ["PROJECT", "Makefile", "Cargo.toml", "go.mod", "pom.xml", "watches.yaml"];
    let bundle = path.join("bundle");
    let is_project = MARKS.iter().any(|mark| path.join(mark).is_file());
    (is_project && !path.join("manifests").is_dir() && bundle.join("manifests").is_dir()).then_some(bundle)
}

/// Reads standard input: an image archive, or a catalog.
fn standard_input() -> Result<ValidateInput> {
    let bytes = stdin::read(stdin::MAX_CATALOG, "an image archive or a catalog")?;
    let format = format::of_bytes(&bytes);
    if format == Format::Compressed {
        bail!(FormatError::Compressed { path: "standard input".to_owned() });
    }
    if format == Format::Archive {
        let mut file = NamedTempFile::new().context("failed to create a temporary file")?;
        file.write_all(&bytes).context("failed to write a temporary file")?;
        let location = Location::archive(file.path().to_owned());
        return Ok(ValidateInput::Image { name: "-".to_owned(), location, _file: Some(file) });
    }
    let source = Source { name: "-".into(), content: catalog::Content::Bytes(bytes) };
    Ok(ValidateInput::StandardInput(StandardInput(Mutex::new(vec![source]))))
}

/// Reads the bundle that a REF names. The runtime is started with the first image.
pub(crate) fn read(reference: &str, registries: &RegistryArgs, runtime: &SharedRuntime) -> Result<Bundle> {
    let Some(location) = Location::of_image(reference)? else {
        return directory(reference, &Selection::default());
    };
    match image(reference, &location, registries, runtime)? {
        Content::Bundle(bundle) => Ok(*bundle),
        Content::Catalog(_) => Err(FormatError::CatalogAsBundle { path: reference.to_owned() }.into()),
    }
}

/// Reads the bundle that a REF names, of which every manifest can be read and is valid YAML.
pub(crate) fn read_complete(
    reference: &str,
    registries: &RegistryArgs,
    runtime: &SharedRuntime,
) -> Result<Bundle> {
    let bundle = read(reference, registries, runtime)?;
    bundle.complete().with_context(|| format!("failed to read {reference}"))?;
    Ok(bundle)
}

/// Reads the bundle or the catalog in an image. The runtime is started with the first one.
pub(crate) fn image(
    reference: &str,
    location: &Location,
    registries: &RegistryArgs,
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

/// Reads the bundle in a directory whole, for all rules of the selection.
pub(crate) fn whole(path: &Path, overlay: &Overlay, selection: &Selection) -> Result<Bundle, ReadError> {
    // The other bundles of an operator are read for these rules only.
    disk::whole::bundle(path, overlay, selection.suites.contains(&Suite::Community))
}

/// Reads the bundle in a directory as [`whole`] does; an error names the other forms of a REF, or how to migrate an older format.
pub(crate) fn directory(reference: &str, selection: &Selection) -> Result<Bundle> {
    if reference.is_empty() {
        bail!("empty REF: expected a bundle directory, `oci:DIR`, `oci-archive:FILE` or an image name");
    }
    if reference == "-" {
        bail!(
            "a bundle cannot be read from standard input: pass a directory, `oci:DIR`, `oci-archive:FILE` or an image name"
        );
    }
    let path = Path::new(reference);
    whole(path, &Overlay::default(), selection).map_err(|error| {
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
