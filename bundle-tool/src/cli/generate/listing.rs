//! `bundle-tool generate listing`: a bundle into a clone of an `OperatorHub` repository.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use clap::{Args, ValueEnum};

use super::output::{self, Output};
use crate::cli::Exit;
use crate::generate::{self, Publishing};
use crate::model::yaml;
use crate::read;

/// Lays a bundle out as the OperatorHub repositories want it submitted: operators/PACKAGE/VERSION/ in DIR.
///
/// ci.yaml is written beside it, or kept with what it says; with --catalogs also release-config.yaml and, where there
/// is none, the template that the pipeline fills.
#[derive(Debug, Args)]
pub(super) struct Listing {
    /// A clone of community-operators, community-operators-prod or a repository like them
    #[arg(value_name = "DIR")]
    repository: PathBuf,
    /// Folder of the bundle
    #[arg(long, value_name = "DIR", default_value = "bundle")]
    bundle: PathBuf,
    /// People on GitHub who may approve changes, separated by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    reviewers: Vec<String>,
    /// How a version follows another
    #[arg(long, value_enum, default_value_t = Graph::Replaces)]
    update_graph: Graph,
    /// Publish as file-based catalogues with these names, separated by commas: v4.19,v4.20
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    catalogs: Vec<String>,
    /// Change a version that is there already
    #[arg(long)]
    overwrite: bool,
    /// Write nothing; print what would change, and exit with 1 where something would
    #[arg(long)]
    check: bool,
    /// Say nothing but warnings and errors
    #[arg(long, short)]
    quiet: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Graph {
    /// As spec.replaces says
    #[value(name = "replaces-mode", alias = "replaces")]
    Replaces,
    /// By number
    #[value(name = "semver-mode", alias = "semver")]
    Semver,
}

impl Listing {
    pub(super) fn run(self) -> Result<Exit> {
        if !self.repository.is_dir() {
            bail!("{} is no folder; clone the repository first", self.repository.display());
        }
        let by_version = self.update_graph == Graph::Semver;
        let publishing = if self.catalogs.is_empty() {
            Publishing::Bundles { by_version }
        } else {
            Publishing::Catalogs { names: self.catalogs.clone(), by_version }
        };
        let bundle = read::bundle::folder(&self.bundle)?;
        let plan = |ci: Option<&serde_json::Value>| {
            generate::listing(&bundle, &self.reviewers, &publishing, ci)
                .with_context(|| format!("{} cannot be listed", self.bundle.display()))
        };
        let ci_path = self.repository.join(&plan(None)?.folder).join("ci.yaml");
        let there = ci(&ci_path)?;
        let listing = plan(there.as_ref().map(|(_, tree)| tree.root().to_json()).as_ref())?;

        let mut output = Output { folder: self.repository.clone(), ..Output::default() };
        output.files = generate::listing_files(&listing, &self.files()?);
        let ci = match &there {
            Some((text, tree)) => generate::patch(text, tree.root(), &listing.ci),
            None => yaml::emit(&listing.ci),
        };
        output.files.insert(format!("{}/ci.yaml", listing.folder), ci.into_bytes());
        if let Some(release) = &listing.release {
            let path = format!("{}/release-config.yaml", listing.version_folder);
            output.files.insert(path, yaml::emit(release).into_bytes());
        }
        if let Some((path, template)) = &listing.template
            && !self.repository.join(path).exists()
        {
            output.files.insert(path.clone(), yaml::emit(template).into_bytes());
        }
        if self.check {
            let differs = output.check(&mut io::BufWriter::new(io::stdout().lock()))?;
            return Ok(if differs { Exit::Findings } else { Exit::Success });
        }
        let version = self.repository.join(&listing.version_folder);
        if version.exists() && !self.overwrite && output.check(&mut io::sink())? {
            bail!(
                "{} is there already, and a version that people may have installed should not change; \
                 raise the version, or give --overwrite",
                version.display()
            );
        }
        output.write(&listing.version_folder, self.quiet)?;
        Ok(Exit::Success)
    }

    /// The bundle's files, without what only a build needs.
    fn files(&self) -> Result<BTreeMap<String, Vec<u8>>> {
        output::previous(&self.bundle)
    }
}

/// What ci.yaml says; nothing where there is none.
fn ci(path: &Path) -> Result<Option<(String, yaml::Tree)>> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(|| format!("failed to read {}", path.display())),
    };
    let parsed = read::yaml::parse(text.as_bytes());
    if let Some(error) = parsed.error {
        bail!("{} is no YAML: {error}", path.display());
    }
    Ok(parsed.documents.into_iter().next().map(|tree| (text, tree)))
}
