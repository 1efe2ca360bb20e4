//! `bundle-tool catalog`: file-based catalogues in folders.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::{Args, Subcommand};

use super::Exit;
use crate::model::Annotations;
use crate::model::catalog::Catalog as Blobs;
use crate::model::csv::ClusterServiceVersion;
use crate::{catalog, read};

/// Works on file-based catalogues.
#[derive(Debug, Args)]
pub(super) struct Catalog {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Add(Add),
}

/// Puts a bundle into a catalogue, with its package and channels.
///
/// The catalogue's file for the package, CATALOG/PACKAGE/catalog.yaml, is made or replaced; a bundle of the same name
/// is replaced in it. The upgrade edges are those that the bundle's CSV names.
#[derive(Debug, Args)]
struct Add {
    /// The catalogue's folder; it need not exist
    catalog: PathBuf,
    /// The bundle's folder
    bundle: PathBuf,
    /// Where the bundle's image is or will be
    #[arg(long, value_name = "NAME")]
    image: String,
    /// The channels, separated by commas, instead of those in the bundle's annotations
    #[arg(long, value_delimiter = ',', value_name = "CHANNEL")]
    channels: Vec<String>,
    /// The package's default channel, instead of the one in the bundle's annotations
    #[arg(long, value_name = "CHANNEL")]
    default_channel: Option<String>,
}

impl Catalog {
    pub(super) fn run(self) -> Result<Exit> {
        match self.command {
            Command::Add(command) => command.run(),
        }
    }
}

impl Add {
    fn run(self) -> Result<Exit> {
        let bundle = read::bundle::folder(&self.bundle)?;
        let failed = || format!("failed to add {}", self.bundle.display());
        let blob = catalog::render(&bundle, Some(&self.image)).with_context(failed)?;
        let csv = bundle.csv().context("the bundle has no ClusterServiceVersion")?;
        let csv = csv.decode::<ClusterServiceVersion>()?.object;
        let annotations = bundle.annotations().context("the bundle has no annotations")?;
        let channels = if self.channels.is_empty() {
            annotations.channels().map(str::to_owned).collect()
        } else {
            self.channels.clone()
        };
        let default =
            self.default_channel.as_deref().or_else(|| annotations.get(Annotations::DEFAULT_CHANNEL));
        let file = self.catalog.join(&blob.package).join("catalog.yaml");
        let mut blobs = if file.is_file() { read::catalog::file(&file)? } else { Blobs::default() };
        catalog::add(&mut blobs, blob, &csv, &channels, default).with_context(failed)?;
        if let Some(folder) = file.parent() {
            std::fs::create_dir_all(folder)
                .with_context(|| format!("failed to make {}", folder.display()))?;
        }
        atomic_files::file(&file, blobs.to_yaml()?.as_bytes())?;
        Ok(Exit::Success)
    }
}
