//! `bundle-tool fix`: fixes findings in the files of bundles and catalogs.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use clap::Args;

use super::catalog::validate::OpenshiftOption;
use super::catalog::{fix_catalog, fixed_catalog};
use super::exit::Exit;
use super::fixed::Fixed;
use super::images::Location;
use super::settings::{Choice, Selections};
use crate::fix;
use crate::model::dockerfile::BESIDE;
use crate::read;
use crate::read::format::{self, Format};
use crate::read::overlay::Overlay;
use crate::report::{Fix as FindingFix, Safety};
use crate::rules::{self, Selection};

/// Maximum number of times that a bundle is validated: a fix can bring up the next finding.
const MAX_ROUNDS: usize = 50;

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
        let mut changed = false;
        for directory in &self.directories {
            let fixed = if self.diff {
                let fixed = self.options.find(directory, &selections, self.openshift)?;
                fixed.print_diff(directory)?;
                fixed
            } else {
                self.options.fix(directory, &selections, self.openshift)?
            };
            changed |= !fixed.files.is_empty();
            fixed.print_summary(directory, self.diff)?;
        }
        Ok(if self.diff && changed { Exit::Findings } else { Exit::Success })
    }
}

impl FixOptions {
    /// Fixes the bundle or the catalog in a directory.
    pub(super) fn fix(
        &self,
        directory: &str,
        selections: &Selections,
        openshift: OpenshiftOption,
    ) -> Result<Fixed> {
        if is_catalog(directory)? {
            return fix_catalog(Path::new(directory), openshift, self.unsafe_fixes);
        }
        let fixed = self.bundle(directory, &*selections.of(Some(Path::new(directory)))?)?;
        write(&fixed, directory)?;
        Ok(fixed)
    }

    /// Returns what fixing the bundle or the catalog in a directory would change.
    fn find(&self, directory: &str, selections: &Selections, openshift: OpenshiftOption) -> Result<Fixed> {
        if is_catalog(directory)? {
            return fixed_catalog(Path::new(directory), openshift, self.unsafe_fixes);
        }
        self.bundle(directory, &*selections.of(Some(Path::new(directory)))?)
    }

    /// Fixes the bundle in a directory, in memory.
    fn bundle(&self, bundle: &str, selection: &Selection) -> Result<Fixed> {
        let mut fixed = Fixed::default();
        let mut contents = texts(Path::new(bundle))?;
        let mut dockerfile = read::dockerfile::of(Path::new(bundle), &Overlay::default());
        for _ in 0..MAX_ROUNDS {
            let mut read = read::bundle::files(bundle, &contents);
            read.dockerfile =
                dockerfile.as_ref().and_then(|file| read::dockerfile::parse(&file.path, file.bytes.clone()));
            let findings = rules::validate(&read, selection).findings;
            let mut by_file: BTreeMap<&str, Vec<(&'static str, &FindingFix)>> = BTreeMap::new();
            fixed.unsafe_fixes = 0;
            for finding in &findings {
                let (Some(file), Some(fix), None) = (&finding.file, &finding.fix, &finding.ignored) else {
                    continue;
                };
                if fix.safety == Safety::Unsafe && !self.unsafe_fixes {
                    fixed.unsafe_fixes += 1;
                } else {
                    by_file.entry(file).or_default().push((finding.rule, fix));
                }
            }
            let mut changes = Vec::new();
            for (file, fixes) in by_file {
                let of_dockerfile = dockerfile.as_ref().filter(|one| one.path == file).map(|one| &one.bytes);
                let bytes = of_dockerfile.or_else(|| contents.get(file));
                let Some(Ok(text)) = bytes.map(|bytes| std::str::from_utf8(bytes)) else { continue };
                let only: Vec<&FindingFix> = fixes.iter().map(|(_, fix)| *fix).collect();
                let (new, applied) = fix::apply(text, &only);
                if applied.is_empty() || new == text {
                    continue;
                }
                let what = |index: usize| (file.to_owned(), fixes[index].0, fixes[index].1.title.clone());
                fixed.done.extend(applied.into_iter().map(what));
                changes.push((file.to_owned(), text.to_owned(), new));
            }
            if changes.is_empty() {
                break;
            }
            for (file, old, new) in changes {
                match &mut dockerfile {
                    Some(one) if one.path == file => one.bytes = new.clone().into_bytes(),
                    _ => {
                        contents.insert(file.clone(), new.clone().into_bytes());
                    }
                }
                fixed.files.entry(file).or_insert_with(|| (old, String::new())).1 = new;
            }
        }
        fixed.files.retain(|_, (old, new)| old != new);
        Ok(fixed)
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

/// Returns the files that a bundle is validated from.
fn texts(directory: &Path) -> Result<BTreeMap<String, Vec<u8>>> {
    let bundle = read::bundle::directory(directory)?;
    if let Some((file, reason)) = bundle.unreadable() {
        bail!("failed to read {}: {reason}", directory.join(&file.path).display());
    }
    let mut texts = BTreeMap::new();
    for file in bundle.files.iter().filter(|file| file.is_manifest() || file.is_metadata()) {
        let path = directory.join(&file.path);
        let bytes = read::file::read(&path, read::file::MAX_FILE_SIZE)
            .with_context(|| format!("failed to read {}", path.display()))?;
        texts.insert(file.path.clone(), bytes);
    }
    if texts.is_empty() {
        bail!(
            "cannot fix {}: expected a bundle, with files in manifests/ and metadata/, or a file-based catalog",
            directory.display()
        );
    }
    Ok(texts)
}

/// Writes the files of a bundle that change.
///
/// # Errors
/// A file is a symbolic link that leads out of the bundle: then nothing is written. A file cannot be written.
fn write(fixed: &Fixed, bundle: &str) -> Result<()> {
    let resolved =
        |path: &Path| path.canonicalize().with_context(|| format!("failed to resolve {}", path.display()));
    let root = resolved(Path::new(bundle))?;
    for file in fixed.files.keys() {
        let path = root.join(file);
        // The Dockerfile beside the bundle belongs to it.
        let root = if file == BESIDE { root.parent().unwrap_or(&root) } else { &root };
        if !resolved(&path)?.starts_with(root) {
            bail!(
                "cannot fix {}: symbolic link to a file outside the bundle; fix that file, or replace the link with it",
                Path::new(bundle).join(file).display()
            );
        }
    }
    for (file, (_, new)) in &fixed.files {
        atomic_files::file(&Path::new(bundle).join(file), new.as_bytes())?;
    }
    Ok(())
}
