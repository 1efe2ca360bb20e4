//! `bundle-tool push catalog`: a file-based catalog as an index image.

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use clap::Args;

use super::destination::Destination;
use crate::cli::catalog::check;
use crate::cli::exit::Exit;
use crate::cli::images::{Location, created};
use crate::cli::runtime::runtime;
use crate::read;
use oci_images::labels;
use oci_images::layout::{FileMap, Platform, Recipe, layer};

/// Build and push the index image of a file-based catalog
///
/// The catalog is in /configs. With --base, an image with opm, the result serves the catalog: a `CatalogSource` of type grpc
/// can name it, and opm builds its cache when it starts. Without --base, the image contains data only, for clusters that
/// extract the catalog (spec.grpcPodConfig.extractContent) and for OLM v1.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  # Push a catalog that opm serves
  bundle-tool push catalog catalog quay.io/example/operator-catalog:latest \\
    --base quay.io/operator-framework/opm:latest

  # Push a catalog as data only
  bundle-tool push catalog catalog quay.io/example/operator-catalog:latest")]
pub(super) struct PushCatalog {
    /// Catalog directory
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Name of the image, such as registry.example.com/name-catalog:latest
    #[arg(value_name = "IMAGE")]
    name: String,
    /// Base image with opm: a name, oci:DIR or oci-archive:FILE
    #[arg(long, value_name = "IMAGE")]
    base: Option<String>,
    /// Platform of the base image [default: linux/amd64]
    #[arg(long, value_name = "OS/ARCH", requires = "base")]
    platform: Option<Platform>,
    /// Push the catalog even if it is invalid
    #[arg(long)]
    no_validate: bool,
    #[command(flatten)]
    destination: Destination,
}

impl PushCatalog {
    pub(super) fn run(self) -> Result<Exit> {
        let created = created()?;
        let sources = read::catalog::sources(&self.directory)?;
        if sources.is_empty() {
            bail!("{} is not a catalog: it contains no file", self.directory.display());
        }
        if !self.no_validate && !check(&self.directory.display().to_string(), sources)? {
            return Ok(Exit::Findings);
        }
        let mut files = FileMap::new();
        files.collect(&self.directory, "/configs")?;
        let mut recipe = Recipe {
            labels: [(labels::CONFIGS.to_owned(), "/configs".to_owned())].into(),
            created,
            ..Recipe::default()
        };
        let Some(base) = &self.base else {
            recipe.layers.push(layer(&files, created)?);
            return self.destination.send_whole(&self.name, recipe.build()?);
        };
        // opm's cache is below /tmp, which an image with nothing but programs may lack.
        files.add_scratch_directory("/tmp")?;
        recipe.layers.push(layer(&files, created)?);
        // Without --cache-dir, opm builds a new cache at every start, so none can be stale.
        recipe.command = Some(vec!["serve".into(), "/configs".into()]);
        let platform = self.platform.clone().unwrap_or_default();
        runtime()?.block_on(async {
            let (image, repository) = Location::parse(base)?
                .open(&platform, &self.destination.registries)
                .await
                .with_context(|| format!("failed to read the base image {base}"))?;
            recipe.base = Some(image);
            self.destination
                .send(&self.name, recipe.build()?, repository.as_ref())
                .await
                .with_context(|| format!("failed to push {}", self.name))
        })?;
        Ok(Exit::Success)
    }
}
