//! `bundle-tool catalog migrate`.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use clap::Args;

use super::store::{Change, Store, check_target};
use super::validate::{Next, check};
use crate::cli::commands::render::{self, Invalid, Output};
use crate::cli::exit::Exit;
use crate::cli::format::OutputOption;
use crate::cli::images::RegistryArgs;
use crate::cli::lock::lock;
use crate::cli::rendering::Rendering;
use crate::cli::runtime::SharedRuntime;
use crate::terminal::messages;
use kube_yaml::text::counted;
use olm_catalog::validate::Blob;
use olm_model::names::check_label;
use olm_model::read::catalog::{Content, Source};

/// Replace olm.bundle.object with olm.csv.metadata in a file-based catalog
///
/// OpenShift 4.17 and later require olm.csv.metadata, and the catalog becomes several times smaller. Only bundles with
/// olm.bundle.object change. With --output-dir, writes the whole catalog as `opm migrate` does: PACKAGE/catalog.json for
/// each package.
///
/// Exit status: 0 on success, 1 if the migrated catalog would be invalid, 2 on an error; with 1 or 2, nothing is written.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  # Migrate a catalog in place
  bundle-tool catalog migrate ./catalog

  # Write a copy of a published catalog that has only what consoles read
  bundle-tool catalog migrate quay.io/example/catalog:latest \\
    --output-dir catalog --minimal --output yaml")]
pub(crate) struct Migrate {
    /// Catalog directory; with --output-dir also `oci:DIR`, `oci-archive:FILE` or an image name
    #[arg(value_name = "REF")]
    catalog: String,
    /// Directory for the migrated catalog, which must be empty or not exist [default: change the catalog itself]
    #[arg(long, value_name = "DIR", alias = "to")]
    output_dir: Option<PathBuf>,
    /// Keep only what consoles read: remove alm-examples, descriptors and resources from olm.csv.metadata
    #[arg(long)]
    minimal: bool,
    /// Write the catalog even if it is invalid
    #[arg(long)]
    no_validate: bool,
    #[command(flatten)]
    format: OutputOption<Output>,
    #[command(flatten)]
    registries: RegistryArgs,
}

impl Migrate {
    pub(crate) fn run(self) -> Result<Exit> {
        let rendering = Rendering::migrated(self.minimal);
        match &self.output_dir {
            Some(to) => self.copy(to, &rendering),
            None => self.in_place(&rendering),
        }
    }

    fn in_place(&self, rendering: &Rendering) -> Result<Exit> {
        let path = Path::new(&self.catalog);
        if !path.is_dir() {
            bail!(
                "{} is not a directory; to migrate a catalog in an image or an archive, pass --output-dir",
                path.display()
            );
        }
        let failed = || format!("failed to migrate {}", path.display());
        let mut lock = lock(path)?;
        let store = Store::read(lock.path()).with_context(failed)?;
        let (mut indexes, mut bundles) = (Vec::new(), Vec::new());
        for (index, _) in store.blobs.iter().enumerate().filter(|(_, blob)| matches!(blob, Blob::Bundle(_))) {
            indexes.push(index);
            bundles.push(store.bundle(index)?);
        }
        let is_changed = rendering.apply(&mut bundles).with_context(failed)?;
        let mut changes = BTreeMap::new();
        for ((index, bundle), _) in
            indexes.into_iter().zip(bundles).zip(is_changed).filter(|(_, changed)| *changed)
        {
            changes.insert(index, Change::To(store.with_properties(index, bundle)?));
        }
        let count = changes.len();
        let files = store.changed(&changes, &[])?;
        if !store.write(&mut lock, path, files, self.no_validate)? {
            return Ok(Exit::Findings);
        }
        writeln!(messages(), "migrated {}", counted(count, "bundle"))?;
        Ok(Exit::Success)
    }

    fn copy(&self, to: &Path, rendering: &Rendering) -> Result<Exit> {
        check_target(Path::new(&self.catalog), to)?;
        let failed = || format!("failed to migrate {}", self.catalog);
        let mut catalog = render::read(
            &self.catalog,
            None,
            rendering,
            Invalid::Refused,
            &self.registries,
            &SharedRuntime::default(),
        )
        .with_context(failed)?;
        rendering.apply(&mut catalog.bundles).with_context(failed)?;
        let extension = match self.format.output {
            Output::Json => "json",
            Output::Yaml => "yaml",
        };
        let mut files = BTreeMap::new();
        for (package, part) in catalog.by_package() {
            if let Err(reason) = check_label(&package)
                && !package.is_empty()
            {
                bail!("{}: invalid package name `{package}`: {reason}", failed());
            }
            let mut bytes = Vec::new();
            self.format.output.write(&part, &mut bytes)?;
            let directory = if package.is_empty() { String::new() } else { format!("{package}/") };
            files.insert(format!("{directory}catalog.{extension}"), bytes);
        }
        if !self.no_validate {
            let source = |(name, bytes): (&String, &Vec<u8>)| Source {
                name: name.as_str().into(),
                content: Content::Bytes(bytes.clone()),
            };
            if !check(&to.display().to_string(), files.iter().map(source).collect(), Next::Write)? {
                return Ok(Exit::Findings);
            }
        }
        let count = files.len();
        atomic_files::tree(to, files)?;
        writeln!(messages(), "wrote {} to {}", counted(count, "package"), to.display())?;
        Ok(Exit::Success)
    }
}
