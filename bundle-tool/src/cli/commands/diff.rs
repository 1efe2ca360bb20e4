//! `bundle-tool diff`: what an upgrade between two bundles changes and breaks.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use clap::{Args, ValueEnum};
use serde_json::Value as Json;

use super::catalog::edges::{self, AvailableBundles};
use super::catalog::{contents, load};
use crate::cli::bundles;
use crate::cli::exit::Exit;
use crate::cli::format::{Formats, OutputOption};
use crate::cli::images::RegistryArgs;
use crate::cli::runtime::SharedRuntime;
use crate::cli::versions::Versions;
use crate::terminal::{DIFF_STYLES, WARNING, stderr, stdout};
use kube_yaml::Tree;
use kube_yaml::text::{counted, excerpt, source_name, write_json};
use olm_catalog::validate::resolve;
use olm_model::disk;
use olm_model::disk::format::{self, Format, FormatError};
use olm_model::read;

#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  # Compare two bundle directories
  bundle-tool diff bundle-0.0.1 bundle-0.0.2

  # Report every change that OLM v1 rejects
  bundle-tool diff registry.example.com/my-operator-bundle:v1 bundle \\
    --all-crd-changes

  # Validate the objects of a cluster against both versions
  kubectl get memcacheds -A -o yaml |
    bundle-tool diff --objects - bundle-0.0.1 bundle-0.0.2

  # Compare the CRDs along every upgrade that the edges of a catalog permit
  bundle-tool diff --catalog catalog --package my-operator --bundles ./bundles

  # Write a comment for a pull request
  bundle-tool diff --output markdown old new > comment.md")]
#[command(mut_arg("old", |argument| argument.help(
    "Bundle to upgrade from: a directory (of a bundle or of plain manifests), `oci:DIR`, `oci-archive:FILE` or an image")))]
pub(crate) struct Diff {
    #[command(flatten)]
    versions: Versions,
    /// Existing objects to validate against both bundles, such as the output of `kubectl get KIND -A -o yaml`: a file, a directory, or
    /// `-` for standard input (repeatable)
    #[arg(long, value_name = "PATH", conflicts_with = "catalog")]
    objects: Vec<PathBuf>,
    /// Channel of the catalog to compare [default: all]
    #[arg(long, value_name = "NAME", conflicts_with = "old")]
    channel: Option<String>,
    /// Report every CRD change that OLM v1 rejects, even if it cannot affect existing objects or a conversion webhook
    /// handles it
    #[arg(long, alias = "strict")]
    all_crd_changes: bool,
    /// Versions in which objects are stored on the cluster (`status.storedVersions` of the CRD); as `CRD=VERSION` where
    /// several CRDs have the version [default: the old storage version]
    #[arg(long, value_delimiter = ',', value_name = "VERSION", conflicts_with = "catalog")]
    stored_versions: Vec<String>,
    #[command(flatten)]
    format: OutputOption<Output>,
    #[command(flatten)]
    registries: RegistryArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Output {
    /// Human-readable text
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
    pub(crate) fn run(self) -> Result<Exit> {
        let Some((old, new)) = self.versions.pair() else {
            return self.upgrades(self.versions.catalog.as_deref().unwrap_or_default());
        };
        let runtime = SharedRuntime::default();
        let read = |reference| read(reference, &self.registries, &runtime);
        let (old, new) = rayon::join(|| read(old), || read(new));
        let (old, new) = (old?, new?);
        let objects = match self.objects.as_slice() {
            [] => None,
            paths => Some(olm_diff::objects(&old, &new, &existing(paths)?, &tree)),
        };
        if let Some(objects) = objects.as_ref().filter(|objects| objects.unverified > 0) {
            let count = counted(objects.unverified, "existing object");
            writeln!(stderr(), "{WARNING} {count} not validated: the cost limit was exceeded")?;
        }
        let stored_versions = stored_versions(&self.stored_versions, &old)?;
        let options = olm_diff::Options { strict: self.all_crd_changes, stored_versions };
        let mut difference = olm_diff::compare(old, new, &options);
        difference.objects = objects;
        let mut out = io::BufWriter::new(stdout().lock());
        match self.format.output {
            Output::Text => olm_diff::write_text(&difference, &DIFF_STYLES, &mut out)?,
            Output::Markdown => olm_diff::write_markdown(&difference, &mut out)?,
            Output::Json => {
                write_json(&difference, &mut out)?;
            }
        }
        out.flush()?;
        let breaks = if self.all_crd_changes {
            difference.breaks_crds() || !difference.immutable_fields.is_empty()
        } else {
            difference.breaks()
        };
        Ok(if breaks { Exit::Findings } else { Exit::Success })
    }
}

impl Diff {
    /// Compares the CRDs along the upgrade edges of a catalog.
    fn upgrades(&self, catalog: &str) -> Result<Exit> {
        let available = AvailableBundles::read(&self.versions.bundles)?;
        let failed = || format!("failed to read {}", source_name(catalog));
        let sources = load::sources(catalog, &self.registries).with_context(failed)?;
        let (blobs, kept) = contents::read(sources, |bundle| edges::crds_of(&bundle)).with_context(failed)?;
        let name = source_name(catalog);
        if blobs.is_empty() {
            bail!("{name} is empty: expected a file-based catalog");
        }
        let (mut packages, _) = resolve(&blobs);
        load::select([&mut packages], self.versions.package.as_deref())?;
        let options = olm_diff::Options { strict: self.all_crd_changes, ..olm_diff::Options::default() };
        let found = edges::breaking(&packages, &available.with(kept), self.channel.as_deref(), &options)?;
        if found.available == 0 {
            bail!(
                "{name} contains no manifests of its bundles, and no directory of --bundles is one of them; pass their \
                 directories with --bundles"
            );
        }
        let mut out = io::BufWriter::new(io::stdout().lock());
        match self.format.output {
            Output::Text => edges::write_text(&found, &mut out)?,
            Output::Markdown => edges::markdown(&found, &mut out)?,
            Output::Json => {
                write_json(&found.json(), &mut out)?;
            }
        }
        out.flush()?;
        Ok(if found.upgrades.is_empty() { Exit::Success } else { Exit::Findings })
    }
}

/// Returns the versions that --stored-versions names, by CRD.
fn stored_versions(listed: &[String], old: &olm_diff::Version) -> Result<olm_diff::StoredVersions> {
    if listed.is_empty() {
        return Ok(olm_diff::StoredVersions::default());
    }
    let mut of_crds: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for one in listed {
        if let Some((name, version)) = one.split_once('=') {
            if !old.has_crd(name) {
                bail!("--stored-versions: the old version has no CRD `{name}`");
            }
            of_crds.entry(name.to_owned()).or_default().push(version.to_owned());
            continue;
        }
        let crds = old.crds_with_version(one);
        match crds.as_slice() {
            [] => bail!("--stored-versions: no CRD of the old version has `{one}`"),
            // A CRD can have a version that no object is stored in.
            [(first, _), _, ..] if crds.iter().any(|(_, is_storage)| !is_storage) => bail!(
                "--stored-versions: `{one}` is a version of several CRDs: name the CRD, as in `{first}={one}`"
            ),
            _ => {}
        }
        for (name, _) in crds {
            of_crds.entry(name.to_owned()).or_default().push(one.clone());
        }
    }
    Ok(olm_diff::StoredVersions::OfCrds(of_crds))
}

/// Reads the objects of --objects; lists stand for their items, and may be empty.
fn existing(paths: &[PathBuf]) -> Result<Vec<Json>> {
    let mut objects = Vec::new();
    for path in paths {
        let (name, documents) = match path.to_str() {
            Some("-") => ("standard input".into(), read::manifests::stream("-", io::stdin().lock())?),
            _ => (path.to_string_lossy(), disk::manifests::directory(path)?),
        };
        if documents.is_empty() {
            bail!("{name} contains no objects");
        }
        let first = objects.len();
        for document in documents {
            let mut object = document.tree.root().to_json();
            let is_list = object["kind"].as_str().is_some_and(|kind| kind.ends_with("List"));
            match object.get_mut("items").filter(|_| is_list).map(Json::take) {
                Some(Json::Array(items)) => objects.extend(items),
                _ => objects.push(object),
            }
        }
        if let Some(other) = objects[first..].iter().find(|object| !object["kind"].is_string()) {
            let text = other.to_string();
            bail!(
                "{name} contains a value that is not a Kubernetes object: `{}` has no kind",
                excerpt(&text)
            );
        }
    }
    Ok(objects)
}

fn tree(json: &Json) -> Tree {
    let parsed = kube_yaml::parse(json.to_string().as_bytes());
    parsed.documents.into_iter().next().unwrap_or_default()
}

fn read(reference: &str, registries: &RegistryArgs, runtime: &SharedRuntime) -> Result<olm_diff::Version> {
    let path = Path::new(reference);
    let version = if path.is_dir() && !path.join("manifests").is_dir() {
        let shown = || reference.to_owned();
        match format::detect(path)? {
            Format::Catalog => return Err(FormatError::CatalogAsBundle { path: shown() }.into()),
            Format::Layout => return Err(FormatError::Layout { path: shown() }.into()),
            _ => {}
        }
        let manifests = disk::manifests::directory(path)?;
        olm_diff::Version::of_objects(manifests.iter().map(|manifest| manifest.tree.root()))
    } else {
        olm_diff::Version::of_bundle(&bundles::read_complete(reference, registries, runtime)?)
    };
    if version.is_empty() {
        bail!("{reference} contains neither a ClusterServiceVersion nor a CustomResourceDefinition");
    }
    Ok(version)
}
