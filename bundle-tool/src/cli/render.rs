//! `bundle-tool render`: bundles and catalogues as file-based catalogue blobs.

use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use clap::{Args, ValueEnum};

use super::images::{Location, Registries};
use super::{Exit, runtime};
use crate::model::catalog::Catalog;
use crate::{catalog, read};

/// Renders bundles and catalogues into the blobs of a file-based catalogue.
#[derive(Debug, Args)]
pub(super) struct Render {
    /// Bundles or catalogues: folders, `oci:DIR`, `oci-archive:FILE` or names of images
    #[arg(required = true, value_name = "REF")]
    references: Vec<String>,
    /// Where the bundle's image is or will be; with it, objects are reduced to what consoles show
    #[arg(long, value_name = "NAME")]
    image: Option<String>,
    /// The form of the blobs
    #[arg(long, short, value_enum, default_value_t = Output::Json)]
    output: Output,
    #[command(flatten)]
    registries: Registries,
}

/// The forms that catalogues are written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Output {
    /// JSON documents one after the other
    Json,
    /// YAML documents
    Yaml,
}

impl Render {
    pub(super) fn run(self) -> Result<Exit> {
        let mut rendered = Catalog::default();
        for reference in &self.references {
            let image = self.image.as_deref();
            let read = match Location::of_image(reference)? {
                Some(location) => self.read_image(reference, &location),
                None => read_folder(Path::new(reference), image),
            };
            rendered.merge(read.with_context(|| format!("failed to render {reference}"))?);
        }
        let text = match self.output {
            Output::Json => rendered.to_json()?,
            Output::Yaml => rendered.to_yaml()?,
        };
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes())?;
        out.flush()?;
        Ok(Exit::Success)
    }

    /// The blobs of a bundle's image, or of an index image. A bundle pulled from a registry is where it was pulled from.
    fn read_image(&self, reference: &str, location: &Location) -> Result<Catalog> {
        let contents = runtime()?.block_on(location.contents(&self.registries))?;
        if contents.is_catalog() {
            let scratch = tempfile::tempdir().context("failed to make a temporary folder")?;
            atomic_files::tree(scratch.path(), contents.files)?;
            return Ok(read::catalog::read(scratch.path())?);
        }
        let bundle = read::bundle::files(reference, &contents.into_bundle());
        let pulled = matches!(location, Location::Registry(_)).then_some(reference);
        let blob = catalog::render(&bundle, self.image.as_deref().or(pulled))?;
        Ok(Catalog { bundles: vec![blob], ..Catalog::default() })
    }
}

/// The blobs of a bundle's folder, or of a catalogue's.
fn read_folder(path: &Path, image: Option<&str>) -> Result<Catalog> {
    if path.join("manifests").is_dir() && path.join("metadata").is_dir() {
        let bundle = read::bundle::folder(path)?;
        if let Some((file, reason)) = bundle.unreadable() {
            bail!("failed to read {}: {reason}", path.join(&file.path).display());
        }
        let blob = catalog::render(&bundle, image)?;
        return Ok(Catalog { bundles: vec![blob], ..Catalog::default() });
    }
    let catalog = read::catalog::read(path)?;
    if catalog == Catalog::default() {
        bail!("it is neither a bundle (no manifests/ and metadata/) nor a catalogue (no file holds a blob)");
    }
    Ok(catalog)
}
