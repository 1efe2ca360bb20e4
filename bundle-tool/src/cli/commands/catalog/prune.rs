//! `bundle-tool catalog prune`.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use serde_json::Value as Json;

use super::store::{Change, Changed, MAX_FILE_SIZE, Store, check_target};
use super::validate::{Next, check, validate};
use crate::cli::exit::Exit;
use crate::cli::lock::lock;
use crate::terminal::{NOTE, messages};
use kube_yaml::text::{counted, printable};
use olm_catalog::prune::{Keep, Kept, prune};
use olm_catalog::validate::{Blob, Packages, resolve};
use olm_model::disk;
use olm_model::disk::file;
use olm_rules::Selection;

/// Remove packages, channels and versions from a file-based catalog
///
/// Keeps what --keep names and removes everything else. Every upgrade path between remaining bundles is preserved:
/// bundles that lie on one are also kept, and no upgrade edge is added. The edges of a remaining bundle are unchanged,
/// so clusters that run a removed version can still upgrade. If what is left of a channel is not a valid upgrade graph,
/// nothing is written unless you pass --no-validate.
///
/// Exit status: 0 on success, 1 if the pruned catalog would be invalid, 2 on an error; with 1 or 2, nothing is written.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  # Keep one package and one channel of another in a copy of the catalog
  bundle-tool catalog prune ./catalog --keep gizmo --keep gadget/stable \\
    --output-dir pruned

  # Remove old versions of one package
  bundle-tool catalog prune ./catalog --keep 'gizmo@>=1.4.0'

  # Keep versions of several packages, and choose a new default channel
  bundle-tool catalog prune ./catalog --keep 'gizmo/fast@>=1.2.0 <2.0.0' \\
    --keep gadget --default-channel gizmo=fast")]
pub(crate) struct Prune {
    /// Catalog directory
    catalog: PathBuf,
    /// Package to keep, optionally only one channel or a range of versions (repeatable)
    #[arg(long, required = true, value_name = "PACKAGE[/CHANNEL][@RANGE]")]
    keep: Vec<Keep>,
    /// Default channel of a package whose default channel is removed (repeatable)
    #[arg(long, value_name = "PACKAGE=CHANNEL", value_parser = default_channel)]
    default_channel: Vec<(String, String)>,
    /// Directory for the pruned catalog, which must be empty or not exist [default: change the catalog itself]
    #[arg(long, value_name = "DIR", alias = "to")]
    output_dir: Option<PathBuf>,
    /// Write the catalog even if it is invalid
    #[arg(long)]
    no_validate: bool,
}

/// Parses `PACKAGE=CHANNEL`.
pub(crate) fn default_channel(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((package, channel)) if !package.is_empty() && !channel.is_empty() => {
            Ok((package.to_owned(), channel.to_owned()))
        }
        _ => Err("expected PACKAGE=CHANNEL".to_owned()),
    }
}

impl Prune {
    pub(crate) fn run(self) -> Result<Exit> {
        if !self.catalog.is_dir() {
            bail!("{} is not a catalog directory", self.catalog.display());
        }
        let failed = || format!("failed to prune {}", self.catalog.display());
        let mut lock = lock(&self.catalog)?;
        let store = Store::read(lock.path()).with_context(failed)?;
        let (packages, _) = resolve(&store.blobs);
        let defaults: BTreeMap<String, String> = self.default_channel.iter().cloned().collect();
        let kept = prune(&packages, &self.keep, &defaults).with_context(failed)?;
        let changes = changes(&store, &kept)?;
        let files = store.changed(&changes, &[])?;
        let is_written = match &self.output_dir {
            None => store.write(&mut lock, &self.catalog, files, self.no_validate)?,
            Some(to) => {
                check_target(&self.catalog, to)?;
                if !self.no_validate
                    && !check(&to.display().to_string(), store.sources(&files)?, Next::Write)?
                {
                    return Ok(Exit::Findings);
                }
                copy(&store, lock.path(), to, files)?;
                true
            }
        };
        if !is_written {
            return Ok(Exit::Findings);
        }
        report(&store, &kept, &changes)?;
        Ok(Exit::Success)
    }
}

/// A part of a catalog.
pub(crate) struct Part {
    /// What it consists of.
    pub(crate) keep: Vec<Keep>,
    /// Default channels by package, where they change.
    pub(crate) defaults: BTreeMap<String, String>,
}

/// Writes the part that `choose` returns of the catalog in the directory `from` to the directory `to`.
///
/// # Errors
/// The catalog cannot be read, or the part would not be valid; nothing is written then.
pub(crate) fn prune_into(
    from: &Path,
    to: &Path,
    choose: impl FnOnce(&Packages<'_>) -> Result<Part>,
) -> Result<()> {
    let store = Store::read(from)?;
    let (packages, _) = resolve(&store.blobs);
    let Part { keep, defaults } = choose(&packages)?;
    let kept = prune(&packages, &keep, &defaults)?;
    let changes = changes(&store, &kept)?;
    let files = store.changed(&changes, &[])?;
    let report = validate("", None, store.sources(&files)?, None, &Selection::default())?;
    if let Some(error) = report.findings.iter().find(|finding| finding.is_failure()) {
        bail!("the pruned catalog is invalid: {}", error.message);
    }
    copy(&store, from, to, files)?;
    report_between(&kept)
}

/// Returns what becomes of each blob that changes.
fn changes(store: &Store, kept: &BTreeMap<&str, Kept<'_>>) -> Result<BTreeMap<usize, Change>> {
    let mut changes = BTreeMap::new();
    for (index, blob) in store.blobs.iter().enumerate() {
        if let Some(change) = change(blob, kept, || store.json(index))? {
            changes.insert(index, change);
        }
    }
    Ok(changes)
}

/// What becomes of a blob, if anything.
fn change(
    blob: &Blob,
    kept: &BTreeMap<&str, Kept<'_>>,
    json: impl FnOnce() -> Result<Json>,
) -> Result<Option<Change>> {
    if blob.package().is_empty() {
        return Ok(None);
    }
    let Some(kept) = kept.get(blob.package()) else { return Ok(Some(Change::Remove)) };
    Ok(match blob {
        Blob::Package(package) if package.default_channel != kept.default_channel => {
            let mut json = json()?;
            set(&mut json, "defaultChannel", kept.default_channel.into());
            Some(Change::To(json))
        }
        Blob::Channel(channel) => match kept.channels.get(channel.name.as_str()) {
            None => Some(Change::Remove),
            Some(entries) if channel.entries.iter().all(|entry| entries.contains(entry.name.as_str())) => {
                None
            }
            Some(entries) => {
                let names = channel.entries.iter().map(|entry| entries.contains(entry.name.as_str()));
                Some(Change::To(with_items(json()?, names)))
            }
        },
        Blob::Bundle(bundle) if !kept.has_bundle(&bundle.name) => Some(Change::Remove),
        Blob::Deprecations(deprecations) => {
            let is_kept = |schema: &str, name: &str| match schema {
                "olm.channel" => kept.channels.contains_key(name),
                "olm.bundle" => kept.has_bundle(name),
                _ => true,
            };
            let left: Vec<bool> =
                deprecations.entries.iter().map(|entry| is_kept(&entry.schema, &entry.name)).collect();
            match () {
                () if left.iter().all(|left| *left) => None,
                () if left.iter().any(|left| *left) => {
                    Some(Change::To(with_items(json()?, left.into_iter())))
                }
                () => Some(Change::Remove),
            }
        }
        _ => None,
    })
}

/// Keeps some of the items of `entries`.
fn with_items(mut json: Json, keep: impl Iterator<Item = bool>) -> Json {
    let key = key(&json, "entries");
    if let Some(items) = json.get_mut(&key).and_then(Json::as_array_mut) {
        let mut keep = keep;
        items.retain(|_| keep.next().unwrap_or(true));
    }
    json
}

/// Returns the key of a field, whatever its case.
fn key(json: &Json, name: &str) -> String {
    let mut keys = json.as_object().into_iter().flat_map(serde_json::Map::keys);
    keys.find(|key| kube_yaml::is_same_name(key, name)).map_or_else(|| name.to_owned(), Clone::clone)
}

fn set(json: &mut Json, name: &str, value: Json) {
    let key = key(json, name);
    json[key] = value;
}

/// Writes the catalog with the changed files to another directory.
fn copy(store: &Store, root: &Path, to: &Path, changed: Changed) -> Result<()> {
    let mut files = BTreeMap::new();
    for source in disk::catalog::sources(root)? {
        let name: Arc<str> = source.name;
        if store.has(&name) && !changed.contains_key(&*name) {
            let path = root.join(&*name);
            let bytes = file::read_below(root, &*name, MAX_FILE_SIZE)
                .with_context(|| format!("failed to read {}", path.display()))?;
            files.insert(name.to_string(), bytes);
        }
    }
    files.extend(changed.into_iter().filter_map(|(name, bytes)| Some((name, bytes.bytes?))));
    atomic_files::tree(to, files)?;
    Ok(())
}

fn report(store: &Store, kept: &BTreeMap<&str, Kept<'_>>, changes: &BTreeMap<usize, Change>) -> Result<()> {
    report_between(kept)?;
    let bundles = || store.blobs.iter().enumerate().filter(|(_, blob)| matches!(blob, Blob::Bundle(_)));
    let all = bundles().count();
    let left = bundles().filter(|(index, _)| !changes.contains_key(index)).count();
    let packages = counted(kept.len(), "package");
    writeln!(messages(), "kept {left} of {} in {packages}", counted(all, "bundle"))?;
    Ok(())
}

/// Names what is kept without having been chosen.
fn report_between(kept: &BTreeMap<&str, Kept<'_>>) -> Result<()> {
    let mut out = messages();
    for (package, kept) in kept {
        for (channel, bundle) in &kept.between {
            writeln!(
                out,
                "{NOTE} {} of channel {} in package {} is also kept: an upgrade path between other bundles leads through it",
                printable(bundle),
                printable(channel),
                printable(package)
            )?;
        }
    }
    Ok(())
}
