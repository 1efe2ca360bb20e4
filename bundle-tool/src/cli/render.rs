//! `bundle-tool render`: renders bundles and catalogs as file-based catalog blobs.

use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use clap::{Args, ValueEnum};

use super::exit::Exit;
use super::format::{Formats, OutputOption};
use super::images::{Location, Registries};
use super::runtime::runtime;
use crate::model::catalog::Catalog;
use crate::{catalog, read};

/// Render bundles and catalogs as file-based catalog blobs
///
/// The blobs match those of `opm render`.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct Render {
    /// Bundles or catalogs: directories, `oci:DIR`, `oci-archive:FILE` or image names
    #[arg(required = true, value_name = "REF")]
    references: Vec<String>,
    /// Image that the bundle is or will be pushed to; reduces its objects to the metadata that consoles show
    #[arg(long, value_name = "NAME")]
    image: Option<String>,
    #[command(flatten)]
    format: OutputOption<Output>,
    #[command(flatten)]
    registries: Registries,
}

/// The formats of catalogs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Output {
    /// Concatenated JSON documents
    Json,
    /// YAML documents
    Yaml,
}

impl Formats for Output {
    const DEFAULT: &'static str = "json";
}

const EXAMPLES: &str = "\
Examples:
  # Render a bundle directory for a catalog that serves its image
  bundle-tool render ./bundle --image quay.io/example/gizmo-bundle:v1.2.0 --output yaml

  # Render a bundle image
  bundle-tool render quay.io/example/gizmo-bundle:v1.2.0

  # Merge two catalogs into one file
  bundle-tool render ./catalog-a ./catalog-b > catalog.json";

impl Render {
    pub(super) fn run(self) -> Result<Exit> {
        let mut rendered = Catalog::default();
        for reference in &self.references {
            let image = self.image.as_deref();
            let read = match Location::of_image(reference)? {
                Some(location) => self.read_image(reference, &location),
                None => read_directory(Path::new(reference), image),
            };
            rendered.merge(read.with_context(|| format!("failed to render {reference}"))?);
        }
        let mut out = io::BufWriter::with_capacity(64 << 10, io::stdout().lock());
        match self.format.output {
            Output::Json => rendered.write_json(&mut out)?,
            Output::Yaml => rendered.write_yaml(&mut out)?,
        }
        out.flush()?;
        Ok(Exit::Success)
    }

    /// Returns the blobs of a bundle's image, or of a catalog's. The image of a bundle in a registry is its own.
    fn read_image(&self, reference: &str, location: &Location) -> Result<Catalog> {
        let contents = runtime()?.block_on(location.contents(&self.registries))?;
        if contents.is_catalog() {
            let scratch = tempfile::tempdir().context("failed to create a temporary directory")?;
            atomic_files::tree(scratch.path(), contents.files)?;
            return Ok(read::catalog::read(scratch.path())?);
        }
        let bundle = read::bundle::files(reference, &contents.into_bundle());
        let pulled = matches!(location, Location::Registry(_)).then_some(reference);
        let blob = catalog::render(&bundle, self.image.as_deref().or(pulled))?;
        Ok(Catalog { bundles: vec![blob], ..Catalog::default() })
    }
}

/// The blobs of a bundle's or a catalog's directory.
fn read_directory(path: &Path, image: Option<&str>) -> Result<Catalog> {
    if path.join("manifests").is_dir() && path.join("metadata").is_dir() {
        let bundle = read::bundle::directory(path)?;
        if let Some((file, reason)) = bundle.unreadable() {
            bail!("failed to read {}: {reason}", path.join(&file.path).display());
        }
        let blob = catalog::render(&bundle, image)?;
        return Ok(Catalog { bundles: vec![blob], ..Catalog::default() });
    }
    let catalog = read::catalog::read(path)?;
    if catalog == Catalog::default() {
        bail!("expected a bundle (manifests/ and metadata/) or a catalog (at least one blob), found neither");
    }
    Ok(catalog)
}
