//! `bundle-tool diff`: what an upgrade between two bundles changes and breaks.

use std::io::{self, Write};
use std::path::Path;

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};

use super::bundles;
use super::exit::Exit;
use super::format::{Formats, OutputOption};
use super::images::Registries;
use super::runtime::SharedRuntime;
use crate::{diff, read};

/// Show what an upgrade from one bundle to another changes and breaks
///
/// Compares CRDs as OLM v1 does before it upgrades, and permissions, install modes, webhooks, required APIs and images.
/// Exit status: 0 if nothing breaks, 1 if something does, 2 if a bundle cannot be read.
///
/// Examples:
///   bundle-tool diff bundle-0.0.1 bundle-0.0.2
///   bundle-tool diff --strict registry.example.com/my-operator-bundle:v1 bundle
///   bundle-tool diff --output markdown old new > comment.md
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(super) struct Diff {
    /// Bundle to upgrade from: a directory (of a bundle or of plain manifests), `oci:DIR`, `oci-archive:FILE` or an image
    #[arg(value_name = "OLD")]
    old: String,
    /// Bundle to upgrade to
    #[arg(value_name = "NEW")]
    new: String,
    /// Report every CRD change that OLM v1 rejects, including those that existing objects do not notice
    #[arg(long)]
    strict: bool,
    /// Versions that objects are stored in (`status.storedVersions` of the installed CRDs) [default: the old storage version]
    #[arg(long, value_delimiter = ',', value_name = "VERSION")]
    stored_versions: Vec<String>,
    #[command(flatten)]
    format: OutputOption<Output>,
    #[command(flatten)]
    registries: Registries,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Output {
    /// Plain text
    Text,
    /// Markdown, for a pull request
    Markdown,
    /// One JSON document
    Json,
}

impl Formats for Output {
    const DEFAULT: &'static str = "text";
}

impl Diff {
    pub(super) fn run(self) -> Result<Exit> {
        let runtime = SharedRuntime::default();
        let old = read(&self.old, &self.registries, &runtime)?;
        let new = read(&self.new, &self.registries, &runtime)?;
        let options = diff::Options { strict: self.strict, stored_versions: self.stored_versions };
        let difference = diff::compare(old, new, &options);
        let mut out = io::BufWriter::new(io::stdout().lock());
        match self.format.output {
            Output::Text => diff::text(&difference, &mut out)?,
            Output::Markdown => diff::markdown(&difference, &mut out)?,
            Output::Json => {
                serde_json::to_writer_pretty(&mut out, &difference)?;
                writeln!(out)?;
            }
        }
        out.flush()?;
        let breaks = if self.strict { difference.breaks_crds() } else { difference.breaks() };
        Ok(if breaks { Exit::Findings } else { Exit::Success })
    }
}

fn read(reference: &str, registries: &Registries, runtime: &SharedRuntime) -> Result<diff::Version> {
    let path = Path::new(reference);
    let version = if path.is_dir() && !path.join("manifests").is_dir() {
        let manifests = read::manifests::directory(path)?;
        diff::Version::of_objects(manifests.iter().map(|manifest| manifest.tree.root()))
    } else {
        diff::Version::of_bundle(&bundles::read(reference, registries, runtime)?)
    };
    if version.is_empty() {
        bail!("{reference} contains neither a ClusterServiceVersion nor a CustomResourceDefinition");
    }
    Ok(version)
}
