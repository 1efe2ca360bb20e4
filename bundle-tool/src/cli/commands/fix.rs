//! `bundle-tool fix`: fixes findings in the files of bundles and catalogs.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use atomic_files::{DirectoryLock, Pending, Tree};
use clap::Args;
use serde_json::{Value as Json, json};

use super::catalog::fix_catalog;
use crate::cli::bundles;
use crate::cli::exit::Exit;
use crate::cli::fix_outcome::{Done, FixMode, FixOutcome};
use crate::cli::fixpoint::{self, FixTarget};
use crate::cli::format::{Format as OutputFormat, OutputOption};
use crate::cli::images::Location;
use crate::cli::lock::lock;
use crate::cli::openshift::OpenshiftOption;
use crate::cli::settings::{RuleArgs, Selections};
use kube_yaml::text::write_json;
use olm_model::disk::format;
use olm_model::disk::format::Format;
use olm_model::disk::overlay::Overlay;
use olm_model::dockerfile::BESIDE;
use olm_model::fix;
use olm_model::read;
use olm_model::report::{Finding, Fix as FindingFix, Severity};
use olm_model::{Bundle, Content};
use olm_rules::Selection;

#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Fix {
    /// Bundle directories (with manifests/ and metadata/) or catalog directories
    #[arg(required = true, value_name = "DIRECTORY")]
    directories: Vec<String>,
    /// Write nothing, print the changes as a diff, and exit with 1 if there are any
    #[arg(long, alias = "diff")]
    check: bool,
    #[command(flatten)]
    format: OutputOption<OutputFormat>,
    #[command(flatten)]
    options: FixOptions,
    #[command(flatten)]
    choice: RuleArgs,
}

// What is fixed.
#[derive(Debug, Clone, Args)]
pub(crate) struct FixOptions {
    /// Also apply fixes that you should review
    #[arg(long)]
    pub(crate) unsafe_fixes: bool,
}

const EXAMPLES: &str = "\
Examples:
  # Apply the safe fixes
  bundle-tool fix ./bundle

  # Show what would change, including fixes that require review
  bundle-tool fix ./bundle --unsafe-fixes --check

  # Apply the safe fixes to a file-based catalog
  bundle-tool fix ./catalog

  # Fix the bundles of an operator for the OpenShift community catalog
  bundle-tool fix operators/gizmo-operator/*/ --profile community";

impl Fix {
    pub(crate) fn run(self) -> Result<Exit> {
        let selections = self.choice.selections()?;
        let openshift = self.choice.openshift()?;
        let mode = if self.check { FixMode::Preview } else { FixMode::Write };
        let mut entries = Vec::new();
        let exit = self.apply_all(&selections, openshift, mode, &mut entries);
        // What was written before an error is reported, too.
        if self.format.output == OutputFormat::Json && (exit.is_ok() || !entries.is_empty()) {
            let document = json!({ "version": 1, "written": !self.check, "directories": entries });
            let mut out = io::BufWriter::new(io::stdout().lock());
            write_json(&document, &mut out)?;
            out.flush()?;
        }
        exit
    }

    /// Fixes all directories; `entries` are those of the JSON document.
    fn apply_all(
        &self,
        selections: &Selections,
        openshift: OpenshiftOption,
        mode: FixMode,
        entries: &mut Vec<Json>,
    ) -> Result<Exit> {
        let (mut changed, mut is_complete) = (false, true);
        for directory in &self.directories {
            let fixed = self.options.apply(directory, selections, openshift, mode)?;
            match self.format.output {
                OutputFormat::Text => {
                    if self.check {
                        fixed.print_diff(directory)?;
                    }
                    fixed.print_summary(directory, self.check)?;
                }
                OutputFormat::Json => entries.push(fixed.to_json(directory)),
            }
            changed |= !fixed.files.is_empty();
            is_complete &= !fixed.is_incomplete;
        }
        Ok(if self.check && changed || !is_complete { Exit::Findings } else { Exit::Success })
    }
}

impl FixOptions {
    /// Fixes the bundle or the catalog in a directory, or returns what that would change.
    pub(crate) fn apply(
        &self,
        directory: &str,
        selections: &Selections,
        openshift: OpenshiftOption,
        mode: FixMode,
    ) -> Result<FixOutcome> {
        let shown = Path::new(directory);
        let is_catalog = is_catalog(directory)?;
        let selection = selections.for_directory(Some(shown))?;
        if is_catalog {
            return fix_catalog(shown, openshift, &selection, self.unsafe_fixes, mode);
        }
        if mode == FixMode::Preview {
            return self.bundle(shown, shown, &selection);
        }
        let mut lock = lock(shown)?;
        let fixed = self.bundle(lock.path(), shown, &selection)?;
        write(&fixed, &mut lock, shown)?;
        Ok(fixed)
    }

    /// Fixes the bundle in the directory `root` in memory. `shown` is the directory as the user named it.
    fn bundle(&self, root: &Path, shown: &Path, selection: &Selection) -> Result<FixOutcome> {
        let mut files =
            BundleFiles { selection, bundle: load(root, shown, selection)?, changed: BTreeMap::new() };
        let mut fixed = fixpoint::fix(&mut files, shown, self.unsafe_fixes)?;
        files.changed.retain(|_, (old, new)| old != new);
        fixed.files = files.changed;
        Ok(fixed)
    }
}

/// A bundle in memory.
struct BundleFiles<'a> {
    selection: &'a Selection,
    bundle: Bundle,
    /// The files that were changed: old text, new text.
    changed: BTreeMap<String, (String, String)>,
}

/// Returns the fix of a finding that counts, and its file.
fn fix_of(finding: &Finding) -> Option<(&str, &FindingFix)> {
    match (&finding.file, &finding.fix, &finding.ignored) {
        (Some(file), Some(fix), None) => Some((fix.file.as_deref().unwrap_or(file), fix)),
        _ => None,
    }
}

impl FixTarget for BundleFiles<'_> {
    type Found = Vec<Finding>;

    fn size(&self, _: &Vec<Finding>) -> usize {
        self.bundle.files.iter().map(|file| file.bytes.len()).sum()
    }

    fn validate(&self) -> Result<Vec<Finding>> {
        Ok(olm_rules::validate(&self.bundle, self.selection).findings)
    }

    fn errors(found: &Vec<Finding>) -> usize {
        let is_error = |one: &&Finding| one.severity == Severity::Error && one.ignored.is_none();
        found.iter().filter(is_error).count()
    }

    fn unread(found: &Vec<Finding>) -> Vec<&Finding> {
        found.iter().filter(|finding| olm_rules::UNREAD_INPUT.contains(&finding.rule)).collect()
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
        let mut has_changed = false;
        for (file, fixes) in by_file(found, allowed) {
            let Some(target) = self.bundle.source(file) else { continue };
            let Ok(text) = std::str::from_utf8(&target.bytes) else { continue };
            let only: Vec<&FindingFix> = fixes.iter().map(|(_, fix)| *fix).collect();
            let (new, applied) = fix::apply(text, &only);
            if applied.is_empty() || new == text {
                continue;
            }
            let what = |index: usize| (file.to_owned(), fixes[index].0, fixes[index].1.title.clone());
            done.extend(applied.into_iter().map(what));
            let old = text.to_owned();
            read::bundle::replace(&mut self.bundle, file, new.clone().into_bytes());
            self.changed.entry(file.to_owned()).or_insert_with(|| (old, String::new())).1 = new;
            has_changed = true;
        }
        Ok(has_changed)
    }

    fn count(&self, found: &Vec<Finding>, wanted: impl Fn(&FindingFix) -> bool) -> Result<usize> {
        let mut count = 0;
        for (file, fixes) in by_file(found, wanted) {
            let Some(target) = self.bundle.source(file) else { continue };
            let Ok(text) = std::str::from_utf8(&target.bytes) else { continue };
            let fixes = fixes.into_iter().map(|(_, fix)| fix).collect();
            count += fixpoint::applicable(fixes, |fixes| {
                let (new, applied) = fix::apply(text, fixes);
                if new == text { Vec::new() } else { applied }
            });
        }
        Ok(count)
    }
}

/// Returns the allowed fixes of findings that count, by file, with their rules.
fn by_file(
    found: &[Finding],
    allowed: impl Fn(&FindingFix) -> bool,
) -> BTreeMap<&str, Vec<(&'static str, &FindingFix)>> {
    let mut by_file: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for finding in found {
        if let Some((file, fix)) = fix_of(finding).filter(|(_, fix)| allowed(fix)) {
            by_file.entry(file).or_default().push((finding.rule, fix));
        }
    }
    by_file
}

/// Returns whether a directory is a catalog.
///
/// # Errors
/// It is not a directory, or is an image.
fn is_catalog(directory: &str) -> Result<bool> {
    let is_image = Location::of_image(directory)?.is_some();
    if !is_image && !Path::new(directory).exists() {
        bail!("failed to fix {directory}: no such file or directory");
    }
    let path = Path::new(directory);
    let format = match (is_image, path.is_dir() || path.is_file()) {
        (true, _) => Format::Layout,
        (false, true) => format::detect(path)?,
        (false, false) => Format::Other,
    };
    match format {
        Format::Layout | Format::Archive => bail!(
            "cannot fix {directory}: an image cannot be changed; fix the directory that it was built from, and push that"
        ),
        _ if !path.is_dir() => bail!("cannot fix {directory}: expected a directory"),
        format => Ok(format == Format::Catalog),
    }
}

/// Reads the bundle in `directory`, which `shown` names to the user.
fn load(directory: &Path, shown: &Path, selection: &Selection) -> Result<Bundle> {
    let mut bundle = bundles::whole(directory, &Overlay::default(), selection)?;
    let of_dockerfile = bundle.dockerfile.as_ref().and_then(|file| match &file.content {
        Content::Unreadable(reason) => Some((file, reason.as_str())),
        _ => None,
    });
    if let Some((file, reason)) = bundle.unreadable().or(of_dockerfile) {
        bail!("failed to read {}: {reason}", shown.join(&file.path).display());
    }
    if !bundle.files.iter().any(|file| file.is_manifest() || file.is_metadata()) {
        bail!(
            "cannot fix {}: expected a bundle, with files in manifests/ and metadata/, or a file-based catalog",
            shown.display()
        );
    }
    bundle.path = kube_yaml::text::path(shown);
    Ok(bundle)
}

/// Writes the files of a bundle that change, all or none. A symbolic link within the bundle stays one.
///
/// # Errors
/// A file is a symbolic link that leads out of the bundle, was changed since it was read, or cannot be written: then nothing is
/// written.
fn write(fixed: &FixOutcome, lock: &mut DirectoryLock, shown: &Path) -> Result<()> {
    let root = lock.path();
    let mut tree = Tree::new();
    let mut beside = None;
    for (file, (old, new)) in &fixed.files {
        let path = root.join(file).canonicalize();
        let path = path.with_context(|| format!("failed to resolve {}", shown.join(file).display()))?;
        // The Dockerfile beside the bundle belongs to it.
        let is_beside = file == BESIDE && root.parent().is_some_and(|parent| path.starts_with(parent));
        match path.strip_prefix(root).ok().and_then(Path::to_str) {
            Some(name) => {
                tree.file(name, Some(old), new.as_bytes());
            }
            None if is_beside => {
                let mut pending = Pending::new(&path)?.if_unchanged(Some(old));
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
        pending.commit().context("the files of the bundle were fixed, but not its Dockerfile")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fix_keeps_what_others_saved_meanwhile() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("bundle");
        for file in ["manifests/a.yaml", "manifests/b.yaml"] {
            std::fs::create_dir_all(root.join("manifests")).unwrap();
            std::fs::write(root.join(file), "a: 1\n").unwrap();
        }
        let change = |old: &str, new: &str| (old.to_owned(), new.to_owned());
        let mut fixed = FixOutcome::default();
        for file in ["manifests/a.yaml", "manifests/b.yaml"] {
            fixed.files.insert(file.to_owned(), change("a: 1\n", "a: 2\n"));
        }
        std::fs::write(root.join("manifests/b.yaml"), "a: 1 # edited\n").unwrap();
        let mut locked = lock(&root).unwrap();
        let error = write(&fixed, &mut locked, &root).unwrap_err();
        assert!(matches!(
            error.downcast_ref(),
            Some(atomic_files::Error::Changed { path }) if path.ends_with("manifests/b.yaml")
        ));
        assert_eq!(std::fs::read_to_string(root.join("manifests/a.yaml")).unwrap(), "a: 1\n");
        assert_eq!(std::fs::read_to_string(root.join("manifests/b.yaml")).unwrap(), "a: 1 # edited\n");
    }
}
