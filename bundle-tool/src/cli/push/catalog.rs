//! `bundle-tool push catalog`: a file-based catalogue as an index image.

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use clap::Args;

use super::super::catalog::check;
use super::super::images::{Location, created};
use super::super::{Exit, runtime};
use super::Destination;
use crate::read;
use oci_images::layout::{FileMap, Platform, Recipe, layer};

/// The label that says where an index image has its catalogue (operator-registry, `pkg/containertools`).
const CONFIGS_LABEL: &str = "operators.operatorframework.io.index.configs.v1";

/// Makes an index image: a file-based catalogue in /configs.
///
/// On --base, an image with opm, it is what a `CatalogSource` of type grpc names: opm builds its cache when it starts.
/// Without it the image holds data only, for clusters that extract the catalogue (spec.grpcPodConfig.extractContent) and
/// for OLM v1.
#[derive(Debug, Args)]
pub(super) struct PushCatalog {
    /// Catalog directory
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Name of the image: registry.example.com/name-catalog:latest
    #[arg(value_name = "IMAGE")]
    name: String,
    /// The image with opm to stand on: a name, oci:DIR or oci-archive:FILE
    #[arg(long, value_name = "IMAGE")]
    base: Option<String>,
    /// Which of the base's platforms is taken
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
            labels: [(CONFIGS_LABEL.to_owned(), "/configs".to_owned())].into(),
            created,
            ..Recipe::default()
        };
        let Some(base) = &self.base else {
            recipe.layers.push(layer(&files, created)?);
            return self.destination.send_whole(&self.name, recipe.build()?);
        };
        // opm's cache lies below /tmp, which an image with nothing but programs may lack.
        files.add_scratch_directory("/tmp")?;
        recipe.layers.push(layer(&files, created)?);
        // Without --cache-dir opm makes a cache of its own at every start, so none can be stale.
        recipe.command = Some(vec!["serve".into(), "/configs".into()]);
        let platform = self.platform.clone().unwrap_or_default();
        runtime()?.block_on(async {
            let (image, repository) = Location::parse(base)?
                .open(&platform, &self.destination.registries)
                .await
                .with_context(|| format!("failed to read the base {base}"))?;
            recipe.base = Some(image);
            self.destination
                .send(&self.name, recipe.build()?, repository.as_ref())
                .await
                .with_context(|| format!("failed to push {}", self.name))
        })?;
        Ok(Exit::Success)
    }
}
