//! `bundle-tool fix`: fixes findings in the files of bundles and catalogs.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use atomic_files::{DirectoryLock, Pending, Tree};
use clap::Args;

use super::catalog::validate::OpenshiftOption;
use super::catalog::{fix_catalog, fixed_catalog};
use super::exit::Exit;
use super::fixed::{Done, Fixed};
use super::images::Location;
use super::lock::lock;
use super::rounds::{self, Fixable};
use super::settings::{Choice, Selections};
use crate::fix;
use crate::model::File;
use crate::model::dockerfile::BESIDE;
use crate::read;
use crate::read::format::{self, Format};
use crate::read::overlay::Overlay;
use crate::report::{Finding, Fix as FindingFix, Severity};
use crate::rules::{self, Selection};

#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct Fix {
    /// Directories of bundles, with manifests/ and metadata/, or of file-based catalogs
    #[arg(required = true, value_name = "DIRECTORY")]
    directories: Vec<String>,
    /// Print the changes as a diff instead of writing files
    #[arg(long)]
    diff: bool,
    #[command(flatten)]
    options: FixOptions,
    #[command(flatten)]
    openshift: OpenshiftOption,
    #[command(flatten)]
    choice: Choice,
}

// What is fixed.
#[derive(Debug, Clone, Args)]
pub(super) struct FixOptions {
    /// Also apply fixes that require review
    #[arg(long)]
    pub(super) unsafe_fixes: bool,
}

const EXAMPLES: &str = "\
Examples:
  # Apply the safe fixes
  bundle-tool fix ./bundle

  # Show what would change, including fixes that require review
  bundle-tool fix ./bundle --unsafe-fixes --diff

  # Apply the safe fixes to a file-based catalog
  bundle-tool fix ./catalog

  # Fix the bundles of an operator for the OpenShift community catalog
  bundle-tool fix operators/gizmo-operator/*/ --profile community";

impl Fix {
    pub(super) fn run(self) -> Result<Exit> {
        let selections = self.choice.selections()?;
        let (mut changed, mut is_complete) = (false, true);
        for directory in &self.directories {
            let fixed = if self.diff {
                let fixed = self.options.find(directory, &selections, self.openshift)?;
                fixed.print_diff(directory)?;
                fixed
            } else {
                self.options.fix(directory, &selections, self.openshift)?
            };
            changed |= !fixed.files.is_empty();
            is_complete &= !fixed.is_incomplete;
            fixed.print_summary(directory, self.diff)?;
        }
        Ok(if self.diff && changed || !is_complete { Exit::Findings } else { Exit::Success })
    }
}

impl FixOptions {
    /// Fixes the bundle or the catalog in a directory: all of its files or, if one cannot be written, none.
    pub(super) fn fix(
        &self,
        directory: &str,
        selections: &Selections,
        openshift: OpenshiftOption,
    ) -> Result<Fixed> {
        let shown = Path::new(directory);
        if is_catalog(directory)? {
            return fix_catalog(shown, openshift, self.unsafe_fixes);
        }
        let selection = selections.of(Some(shown))?;
        let mut lock = lock(shown)?;
        let fixed = self.bundle(lock.path(), shown, &selection)?;
        write(&fixed, &mut lock, shown)?;
        Ok(fixed)
    }

    /// Returns what fixing the bundle or the catalog in a directory would change.
    fn find(&self, directory: &str, selections: &Selections, openshift: OpenshiftOption) -> Result<Fixed> {
        let shown = Path::new(directory);
        if is_catalog(directory)? {
            return fixed_catalog(shown, openshift, self.unsafe_fixes);
        }
        self.bundle(shown, shown, &*selections.of(Some(shown))?)
    }

    /// Fixes the bundle in the directory `root` in memory. `shown` is the directory as the user named it.
    fn bundle(&self, root: &Path, shown: &Path, selection: &Selection) -> Result<Fixed> {
        let mut files = BundleFiles {
            shown,
            selection,
            contents: texts(root, shown)?,
            dockerfile: read::dockerfile::of(root, &Overlay::default()),
            changed: BTreeMap::new(),
        };
        let mut fixed = rounds::fix(&mut files, shown, self.unsafe_fixes)?;
        files.changed.retain(|_, (old, new)| old != new);
        fixed.files = files.changed;
        Ok(fixed)
    }
}

/// The files of a bundle, in memory.
struct BundleFiles<'a> {
    shown: &'a Path,
    selection: &'a Selection,
    contents: BTreeMap<String, Vec<u8>>,
    dockerfile: Option<File>,
    /// The files that were changed: old text, new text.
    changed: BTreeMap<String, (String, String)>,
}

/// Returns the fix of a finding that counts, and its file.
fn fix_of(finding: &Finding) -> Option<(&str, &FindingFix)> {
    match (&finding.file, &finding.fix, &finding.ignored) {
        (Some(file), Some(fix), None) => Some((file, fix)),
        _ => None,
    }
}

impl Fixable for BundleFiles<'_> {
    type Found = Vec<Finding>;

    fn size(&self, _: &Vec<Finding>) -> usize {
        self.contents.values().map(Vec::len).sum()
    }

    fn validate(&self) -> Result<Vec<Finding>> {
        let mut bundle = read::bundle::files(&self.shown.display().to_string(), &self.contents);
        bundle.dockerfile =
            self.dockerfile.as_ref().and_then(|file| read::dockerfile::parse(&file.path, file.bytes.clone()));
        Ok(rules::validate(&bundle, self.selection).findings)
    }

    fn errors(found: &Vec<Finding>) -> usize {
        let is_error = |one: &&Finding| one.severity == Severity::Error && one.ignored.is_none();
        found.iter().filter(is_error).count()
    }

    fn unread(found: &Vec<Finding>) -> Vec<&Finding> {
        found.iter().filter(|finding| rules::UNREAD_INPUT.contains(&finding.rule)).collect()
    }

    fn fixes(found: &Vec<Finding>) -> impl Iterator<Item = &FindingFix> {
        found.iter().filter_map(fix_of).map(|(_, fix)| fix)
    }

    fn apply(
        &mut self,
        found: &Vec<Finding>,
        allowed: impl Fn(&FindingFix) -> bool,
        done: &mut Vec<Done>,
    ) -> Result<bool> {
        let mut by_file: BTreeMap<&str, Vec<(&'static str, &FindingFix)>> = BTreeMap::new();
        for finding in found {
            if let Some((file, fix)) = fix_of(finding).filter(|(_, fix)| allowed(fix)) {
                by_file.entry(file).or_default().push((finding.rule, fix));
            }
        }
        let mut has_changed = false;
        for (file, fixes) in by_file {
            let of_dockerfile = self.dockerfile.as_mut().filter(|one| one.path == file);
            let bytes = of_dockerfile.map(|one| &mut one.bytes).or_else(|| self.contents.get_mut(file));
            let Some(bytes) = bytes else { continue };
            let Ok(text) = std::str::from_utf8(bytes) else { continue };
            let only: Vec<&FindingFix> = fixes.iter().map(|(_, fix)| *fix).collect();
            let (new, applied) = fix::apply(text, &only);
            if applied.is_empty() || new == text {
                continue;
            }
            let what = |index: usize| (file.to_owned(), fixes[index].0, fixes[index].1.title.clone());
            done.extend(applied.into_iter().map(what));
            let old = text.to_owned();
            *bytes = new.clone().into_bytes();
            self.changed.entry(file.to_owned()).or_insert_with(|| (old, String::new())).1 = new;
            has_changed = true;
        }
        Ok(has_changed)
    }
}

/// Returns whether a directory is a catalog.
///
/// # Errors
/// It is not a directory.
fn is_catalog(directory: &str) -> Result<bool> {
    if Location::of_image(directory)?.is_some() || !Path::new(directory).is_dir() {
        bail!("cannot fix {directory}: expected a directory");
    }
    Ok(format::of(Path::new(directory))? == Format::Catalog)
}

/// Returns the files that the bundle in `directory` is validated from.
fn texts(directory: &Path, shown: &Path) -> Result<BTreeMap<String, Vec<u8>>> {
    let bundle = read::bundle::directory(directory)?;
    if let Some((file, reason)) = bundle.unreadable() {
        bail!("failed to read {}: {reason}", shown.join(&file.path).display());
    }
    let mut texts = BTreeMap::new();
    for file in bundle.files.iter().filter(|file| file.is_manifest() || file.is_metadata()) {
        let bytes = read::file::read(&directory.join(&file.path), read::file::MAX_FILE_SIZE)
            .with_context(|| format!("failed to read {}", shown.join(&file.path).display()))?;
        texts.insert(file.path.clone(), bytes);
    }
    if texts.is_empty() {
        bail!(
            "cannot fix {}: expected a bundle, with files in manifests/ and metadata/, or a file-based catalog",
            shown.display()
        );
    }
    Ok(texts)
}

/// Writes the files of a bundle that change, all or none. A symbolic link within the bundle stays one.
///
/// # Errors
/// A file is a symbolic link that leads out of the bundle, or cannot be written: then nothing is written.
fn write(fixed: &Fixed, lock: &mut DirectoryLock, shown: &Path) -> Result<()> {
    let root = lock.path();
    let mut tree = Tree::new();
    let mut beside = None;
    for (file, (_, new)) in &fixed.files {
        let path = root.join(file).canonicalize();
        let path = path.with_context(|| format!("failed to resolve {}", shown.join(file).display()))?;
        // The Dockerfile beside the bundle belongs to it.
        let is_beside = file == BESIDE && root.parent().is_some_and(|parent| path.starts_with(parent));
        match path.strip_prefix(root).ok().and_then(Path::to_str) {
            Some(name) => {
                tree.file(name, new.as_bytes());
            }
            None if is_beside => {
                let mut pending = Pending::new(&path)?;
                pending.append(new.as_bytes())?;
                beside = Some(pending);
            }
            None => bail!(
                "cannot fix {}: symbolic link to a file outside the bundle; fix that file, or replace the link with it",
                shown.join(file).display()
            ),
        }
    }
    lock.write(&tree)?;
    // It is on the disk already, and only renamed.
    if let Some(pending) = beside {
        pending.commit()?;
    }
    Ok(())
}
