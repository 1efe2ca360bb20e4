//! `bundle-tool fix` for file-based catalogs: the fixes of what `catalog validate` finds.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result, bail};

use super::store::{Change, Changed, MAX_FILE_SIZE, Store, write};
use super::validate::OpenshiftOption;
use crate::catalog;
use crate::catalog::validate::{OpenshiftVersion, Problem, problems};
use crate::cli::fixed::{Done, Fixed};
use crate::cli::lock::lock;
use crate::cli::rounds::{self, Fixable};
use crate::fix;
use crate::read::{file, yaml};
use crate::report::fix::Change as Edit;
use crate::report::{Finding, Fix, Severity};

/// Fixes the catalog in a directory.
///
/// # Errors
/// Those of [`fixed_catalog`]; a file cannot be written. Nothing is changed then.
pub(in crate::cli) fn fix_catalog(
    directory: &Path,
    openshift: OpenshiftOption,
    unsafe_fixes: bool,
) -> Result<Fixed> {
    let mut lock = lock(directory)?;
    let (fixed, changed) = run(lock.path(), directory, openshift, unsafe_fixes)?;
    write(&mut lock, changed)?;
    Ok(fixed)
}

/// Returns what fixing the catalog in a directory would change.
///
/// # Errors
/// A document cannot be read, a file that would change is a symbolic link, or the fixes would cause errors.
pub(in crate::cli) fn fixed_catalog(
    directory: &Path,
    openshift: OpenshiftOption,
    unsafe_fixes: bool,
) -> Result<Fixed> {
    Ok(run(directory, directory, openshift, unsafe_fixes)?.0)
}

/// Fixes the catalog in `root` in memory. Returns what changes, and the files.
fn run(
    root: &Path,
    shown: &Path,
    openshift: OpenshiftOption,
    unsafe_fixes: bool,
) -> Result<(Fixed, Changed)> {
    let mut files = CatalogFiles { root, shown, openshift: openshift.of(shown), changed: Changed::new() };
    let mut fixed = rounds::fix(&mut files, shown, unsafe_fixes)?;
    for (name, new) in &files.changed {
        fixed.files.insert(name.clone(), files.texts(name, new.as_deref())?);
    }
    fixed.files.retain(|_, (old, new)| old != new);
    files.changed.retain(|name, _| fixed.files.contains_key(name));
    Ok((fixed, files.changed))
}

/// The files of a catalog: those on disk, and the changed ones in memory.
struct CatalogFiles<'a> {
    root: &'a Path,
    /// The directory as the user named it.
    shown: &'a Path,
    openshift: Option<OpenshiftVersion>,
    changed: Changed,
}

impl CatalogFiles<'_> {
    /// Returns the old and the new text of a file.
    fn texts(&self, name: &str, new: Option<&[u8]>) -> Result<(String, String)> {
        let (path, shown) = (self.root.join(name), self.shown.join(name));
        if path.is_symlink() {
            bail!(
                "cannot fix {}: symbolic link; fix the file that it points to, or replace the link with that file",
                shown.display()
            );
        }
        let failed = || format!("failed to read {}", shown.display());
        let old = file::read(&path, MAX_FILE_SIZE).with_context(failed)?;
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).with_context(failed);
        Ok((text(old)?, text(new.unwrap_or_default().to_vec())?))
    }
}

impl Fixable for CatalogFiles<'_> {
    type Found = (Store, Vec<Problem>);

    fn size(&self, (store, _): &Self::Found) -> usize {
        store.size()
    }

    fn validate(&self) -> Result<Self::Found> {
        let store = Store::with(self.root, self.changed.clone())
            .with_context(|| format!("cannot fix {}", self.shown.display()))?;
        let found = problems(store.problems.clone(), &store.blobs, self.openshift);
        Ok((store, found))
    }

    fn errors((_, found): &Self::Found) -> usize {
        found.iter().filter(|problem| problem.rule.severity == Severity::Error).count()
    }

    fn unread(_: &Self::Found) -> Vec<&Finding> {
        // It would be an error.
        Vec::new()
    }

    fn fixes((_, found): &Self::Found) -> impl Iterator<Item = &Fix> {
        found.iter().filter_map(|problem| problem.fix.as_deref())
    }

    fn apply(
        &mut self,
        (store, found): &Self::Found,
        allowed: impl Fn(&Fix) -> bool,
        done: &mut Vec<Done>,
    ) -> Result<bool> {
        let mut by_document: BTreeMap<usize, Vec<(&Problem, &Fix)>> = BTreeMap::new();
        for problem in found {
            let Some(fix) = problem.fix.as_deref().filter(|fix| allowed(fix)) else { continue };
            if let Some(index) = store.at(&problem.place)? {
                by_document.entry(index).or_default().push((problem, fix));
            }
        }
        let mut changes = BTreeMap::new();
        for (index, fixes) in by_document {
            let Some((change, applied)) = change(store, index, &fixes)? else { continue };
            for (problem, fix) in applied.into_iter().filter_map(|one| fixes.get(one)) {
                done.push((problem.place.file.to_string(), problem.rule.id, fix.title.clone()));
            }
            changes.insert(index, change);
        }
        let files = store.changed(&changes, &[])?;
        let has_changed = !files.is_empty();
        self.changed.extend(files);
        Ok(has_changed)
    }
}

/// Returns how fixes change a document, and which of them do.
fn change(store: &Store, index: usize, fixes: &[(&Problem, &Fix)]) -> Result<Option<(Change, Vec<usize>)>> {
    if let Some(one) = fixes.iter().position(|(_, fix)| fix.removes_document()) {
        return Ok(Some((Change::Remove, vec![one])));
    }
    let only: Vec<&Fix> = fixes.iter().map(|(_, fix)| *fix).collect();
    let text = store.text(index)?;
    let (new, applied) = fix::apply(&text, &only);
    if !applied.is_empty() && new != text {
        return Ok(Some((Change::Text(new), applied)));
    }
    let Some(one) = only.iter().position(|fix| fix.change == Edit::ObjectsToMetadata) else {
        return Ok(None);
    };
    let mut bundle = store.bundle(index)?;
    // Without a valid CSV, the finding stays; `catalog migrate` reports why.
    let parse = |text: &[u8]| yaml::parse(text).documents.into_iter().next();
    let Ok(true) = catalog::migrate(&mut bundle, parse) else { return Ok(None) };
    Ok(Some((Change::To(store.with_properties(index, bundle)?), vec![one])))
}
