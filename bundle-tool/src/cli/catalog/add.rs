//! `bundle-tool catalog add`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use atomic_files::{DirectoryLock, Tree};
use clap::Args;

use super::validate::check;
use crate::catalog::{self, PackageBlob};
use crate::cli::exit::Exit;
use crate::model::Annotations;
use crate::model::csv::ClusterServiceVersion;
use crate::model::json;
use crate::model::yaml;
use crate::read::catalog::{self as reader, CatalogError, Content, Document, Limits, Source};
use crate::read::{self, file};

/// How long to wait for another process that changes the catalog.
const LOCK_WAIT: Duration = Duration::from_mins(1);

/// The maximum size in bytes of a file that is changed.
const MAX_FILE_SIZE: u64 = 1 << 30;

/// Add a bundle to a file-based catalog
///
/// The bundle becomes an entry of its channels, with the upgrade edges of its CSV; a bundle of the same name is replaced.
/// The blobs of its package are changed where they are; new ones are added to the file of the `olm.package` blob, which is
/// CATALOG/PACKAGE/catalog.yaml for a new package. Nothing is written unless the resulting catalog is valid.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  # Add a bundle to the channels of its annotations
  bundle-tool catalog add catalog bundle --image quay.io/example/operator-bundle:v1.0.0

  # Add a bundle to other channels, one of which becomes the default
  bundle-tool catalog add catalog bundle --image quay.io/example/operator-bundle:v1.0.0 \\
    --channels stable,candidate --default-channel stable")]
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
    /// Write the catalog even if it is invalid
    #[arg(long)]
    no_validate: bool,
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
        // From reading to writing, so that two processes do not overwrite each other's bundle.
        let mut lock = DirectoryLock::acquire(&self.catalog, LOCK_WAIT, |path| {
            eprintln_waiting(path);
        })?;
        let package = PackageFiles::read(lock.path(), &blob.package)?;
        let mut blobs = package.blobs();
        catalog::add(&mut blobs, &blob, &csv, &channels, default).with_context(failed)?;
        let changed = package.changed(&blobs)?;
        if !self.no_validate {
            let sources = with_changes(reader::sources(lock.path())?, &changed);
            if !check(&self.catalog.display().to_string(), sources)? {
                return Ok(Exit::Findings);
            }
        }
        let mut tree = Tree::new();
        for (path, bytes) in changed {
            tree.file(path, bytes);
        }
        lock.write(&tree)?;
        Ok(Exit::Success)
    }
}

fn eprintln_waiting(path: &Path) {
    use std::io::Write as _;
    // Nothing is left to do where standard error is closed.
    let _ = writeln!(std::io::stderr(), "waiting for another process that changes {}", path.display());
}

/// The files as they will be.
fn with_changes(sources: Vec<Source>, changed: &BTreeMap<String, Vec<u8>>) -> Vec<Source> {
    let mut sources: BTreeMap<Arc<str>, Source> =
        sources.into_iter().map(|source| (source.name.clone(), source)).collect();
    for (name, bytes) in changed {
        let name: Arc<str> = name.as_str().into();
        sources.insert(name.clone(), Source { name, content: Content::Bytes(bytes.clone()) });
    }
    sources.into_values().collect()
}

/// The blobs of one package, and where they are.
struct PackageFiles {
    root: PathBuf,
    name: String,
    found: Vec<Found>,
    /// Whether all documents of a file are JSON, by the file's path.
    is_json: BTreeMap<Arc<str>, bool>,
}

/// A blob of the package.
struct Found {
    file: Arc<str>,
    offset: u64,
    length: usize,
    is_json: bool,
    blob: serde_json::Value,
}

impl PackageFiles {
    /// Reads the catalog and keeps what belongs to the package.
    fn read(root: &Path, name: &str) -> Result<Self, CatalogError> {
        let documents = reader::documents(reader::sources(root)?, Limits::default(), |document| {
            let file = document.file.clone();
            Self::found(document, name).map(|found| (file, found))
        })?;
        let mut package = Self {
            root: root.to_owned(),
            name: name.to_owned(),
            found: Vec::new(),
            is_json: BTreeMap::new(),
        };
        for document in documents {
            let (file, (is_json, found)) = document?;
            *package.is_json.entry(file).or_insert(true) &= is_json;
            package.found.extend(found);
        }
        Ok(package)
    }

    fn found(document: Document, name: &str) -> Result<(bool, Option<Found>), CatalogError> {
        let parsed = match document.content {
            Ok(parsed) => parsed,
            Err(error) => return Err(CatalogError::Syntax { file: document.file.to_string(), error }),
        };
        let root = parsed.tree.root();
        let is = |key: &str| root.get(key).and_then(yaml::Value::as_str) == Some(name);
        let belongs = match root.get("schema").and_then(yaml::Value::as_str) {
            Some("olm.package") => is("name"),
            Some("olm.channel" | "olm.bundle") => is("package"),
            _ => false,
        };
        let found = belongs.then(|| Found {
            file: document.file,
            offset: parsed.offset,
            length: parsed.length,
            is_json: parsed.is_json,
            blob: root.to_json(),
        });
        Ok((parsed.is_json, found))
    }

    fn blobs(&self) -> Vec<PackageBlob> {
        let blobs = self.found.iter().map(|found| found.blob.clone());
        blobs.map(|json| PackageBlob { json, is_changed: false }).collect()
    }

    /// Returns the files that change, with their bytes: the changed blobs in place, the new ones behind the others.
    fn changed(&self, blobs: &[PackageBlob]) -> Result<BTreeMap<String, Vec<u8>>> {
        let home = self.found.iter().find(|found| found.blob["schema"] == "olm.package");
        let home: Arc<str> =
            home.map_or_else(|| format!("{}/catalog.yaml", self.name).into(), |home| home.file.clone());
        let mut files: BTreeMap<String, Vec<u8>> = BTreeMap::new();
        // From the end of each file, so that the offsets before it stay valid.
        let known = self.found.iter().zip(blobs).rev();
        for (found, blob) in known.filter(|(_, blob)| blob.is_changed) {
            let bytes = self.bytes(&found.file, &mut files)?;
            let start = usize::try_from(found.offset).unwrap_or(usize::MAX);
            let end = start.saturating_add(found.length);
            let Some(old) = bytes.get(start..end) else {
                bail!("{} was changed while it was read", found.file)
            };
            let new = if found.is_json { json::pretty(&blob.json) } else { replaced(old, &blob.json) };
            bytes.splice(start..end, new.into_bytes());
        }
        let new: Vec<&PackageBlob> = blobs.iter().skip(self.found.len()).collect();
        if new.is_empty() {
            return Ok(files);
        }
        let is_json = self.is_json.get(&home).copied().unwrap_or_default();
        let bytes = self.bytes(&home, &mut files)?;
        if !bytes.is_empty() && !bytes.ends_with(b"\n") {
            bytes.push(b'\n');
        }
        for blob in new {
            let text = if is_json {
                json::pretty(&blob.json) + "\n"
            } else {
                format!("---\n{}", yaml::emit(&blob.json))
            };
            bytes.extend_from_slice(text.as_bytes());
        }
        Ok(files)
    }

    fn bytes<'f>(&self, name: &str, files: &'f mut BTreeMap<String, Vec<u8>>) -> Result<&'f mut Vec<u8>> {
        if !files.contains_key(name) {
            let path = self.root.join(name);
            let bytes = if self.is_json.contains_key(name) || path.exists() {
                file::read(&path, MAX_FILE_SIZE)
                    .with_context(|| format!("failed to read {}", path.display()))?
            } else {
                Vec::new()
            };
            files.insert(name.to_owned(), bytes);
        }
        Ok(files.entry(name.to_owned()).or_default())
    }
}

/// The text of a changed YAML document. The separator and the comments before its first key are kept.
fn replaced(old: &[u8], blob: &serde_json::Value) -> String {
    let mut text = String::new();
    for line in old.split_inclusive(|&byte| byte == b'\n') {
        let is_kept = line.starts_with(b"---") || line.starts_with(b"#") || line.trim_ascii().is_empty();
        if !is_kept {
            break;
        }
        text.push_str(&String::from_utf8_lossy(line));
    }
    if text.starts_with("---") && !text.ends_with('\n') {
        text.push('\n');
    }
    text + &yaml::emit(blob)
}
