//! `bundle-tool render`: bundles and catalogues as file-based catalogue blobs.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use clap::{Args, ValueEnum};

use super::Exit;
use crate::model::catalog::Catalog;
use crate::{catalog, read};

/// Renders bundles and catalogues into the blobs of a file-based catalogue.
#[derive(Debug, Args)]
pub(super) struct Render {
    /// Folders of bundles or of catalogues
    #[arg(required = true, value_name = "REF")]
    references: Vec<PathBuf>,
    /// Where the bundle's image is or will be; with it, objects are reduced to what consoles show
    #[arg(long, value_name = "NAME")]
    image: Option<String>,
    /// The form of the blobs
    #[arg(long, short, value_enum, default_value_t = Output::Json)]
    output: Output,
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
        for path in &self.references {
            let folder = read_reference(path, self.image.as_deref())
                .with_context(|| format!("failed to render {}", path.display()))?;
            rendered.merge(folder);
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
}

/// The blobs of a bundle's folder, or of a catalogue's.
fn read_reference(path: &Path, image: Option<&str>) -> Result<Catalog> {
    if path.join("manifests").is_dir() && path.join("metadata").is_dir() {
        let bundle = read::bundle::folder(path)?;
        let blob = catalog::render(&bundle, image)?;
        return Ok(Catalog { bundles: vec![blob], ..Catalog::default() });
    }
    let catalog = read::catalog::folder(path)?;
    if catalog == Catalog::default() {
        bail!("it is neither a bundle (no manifests/ and metadata/) nor a catalogue (no file holds a blob)");
    }
    Ok(catalog)
}
