//! `bundle-tool catalog add`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use clap::{Args, ValueEnum};

use super::store::{Store, lock};
use crate::catalog::validate::Blob;
use crate::catalog::{self, PackageBlob};
use crate::cli::exit::Exit;
use crate::model::Annotations;
use crate::model::csv::ClusterServiceVersion;
use crate::read;

/// Add a bundle to a file-based catalog
///
/// The bundle becomes an entry of its channels, with the upgrade edges of its CSV; a bundle of the same name is replaced.
/// The blobs of its package are changed in place; new ones are added to the file of the `olm.package` blob, which is
/// CATALOG/PACKAGE/catalog.yaml for a new package. Nothing is written unless the resulting catalog is valid.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  # Add a bundle to the channels of its annotations
  bundle-tool catalog add catalog bundle --image quay.io/example/operator-bundle:v1.0.0

  # Add a bundle to other channels, one of which becomes the default
  bundle-tool catalog add catalog bundle --image quay.io/example/operator-bundle:v1.0.0 \\
    --channels stable,candidate --default-channel stable

  # Replace the bundle with the next lower version, whatever its CSV replaces
  bundle-tool catalog add catalog bundle --image quay.io/example/operator-bundle:v1.0.1 \\
    --edges semver")]
pub(super) struct Add {
    /// Catalog directory, created if it does not exist
    catalog: PathBuf,
    /// Bundle directory
    bundle: PathBuf,
    /// Image of the bundle, which need not exist yet
    #[arg(long, value_name = "NAME")]
    image: String,
    /// Channels, separated by commas [default: the channels in the bundle's annotations]
    #[arg(long, value_delimiter = ',', value_name = "CHANNEL")]
    channels: Vec<String>,
    /// Default channel of the package [default: the one in the bundle's annotations]
    #[arg(long, value_name = "CHANNEL")]
    default_channel: Option<String>,
    /// Where the upgrade edges of the bundle come from
    #[arg(long, value_enum, default_value = "csv")]
    edges: Edges,
    /// Write the catalog even if it is invalid
    #[arg(long)]
    no_validate: bool,
}

/// Where upgrade edges come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Edges {
    /// `replaces`, `skips` and `olm.skipRange` of the CSV
    Csv,
    /// The versions: each bundle replaces the one with the next lower version
    Semver,
}

impl From<Edges> for catalog::Edges {
    fn from(edges: Edges) -> Self {
        match edges {
            Edges::Csv => Self::Csv,
            Edges::Semver => Self::Versions,
        }
    }
}

impl Add {
    pub(super) fn run(self) -> Result<Exit> {
        let bundle = read::bundle::directory(&self.bundle)?;
        let failed = || format!("failed to add {}", self.bundle.display());
        let blob = catalog::render(&bundle, Some(&self.image)).with_context(failed)?;
        if let Err(reason) = catalog::validate::check_package_name(&blob.package) {
            bail!("{}: invalid package name `{}`: {reason}", failed(), blob.package);
        }
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
        let mut lock = lock(&self.catalog)?;
        let store = Store::read(lock.path())?;
        let of_package = |found: &&(usize, &Blob)| {
            found.1.package() == blob.package
                && matches!(found.1, Blob::Package(_) | Blob::Channel(_) | Blob::Bundle(_))
        };
        let known: Vec<(usize, &Blob)> =
            store.blobs.iter().enumerate().filter(|found| of_package(&found)).collect();
        let home = known.iter().find(|(_, blob)| matches!(blob, Blob::Package(_)));
        let home = home.and_then(|(index, _)| store.file(*index));
        let home = home.unwrap_or_else(|| format!("{}/catalog.yaml", blob.package).into());
        let mut blobs = Vec::with_capacity(known.len());
        for (index, _) in &known {
            blobs.push(PackageBlob::known(store.json(*index)?));
        }
        catalog::add(&mut blobs, &blob, &csv, &channels, default, self.edges.into()).with_context(failed)?;
        let mut changes = BTreeMap::new();
        let mut new = Vec::new();
        for (place, blob) in blobs.into_iter().enumerate().filter(|(_, blob)| blob.is_changed) {
            match known.get(place) {
                Some((index, _)) => {
                    changes.insert(*index, Some(blob.json));
                }
                None => new.push((home.clone(), blob.json)),
            }
        }
        let files = store.changed(&changes, &new)?;
        let is_written = store.write(&mut lock, &self.catalog, files, self.no_validate)?;
        Ok(if is_written { Exit::Success } else { Exit::Findings })
    }
}
