//! `bundle-tool fix` for file-based catalogs: the fixes of what `catalog validate` finds.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result, bail};

use super::store::{Change, Changed, MAX_FILE_SIZE, Store, write};
use super::validate::OpenshiftOption;
use crate::catalog;
use crate::catalog::validate::{OpenshiftVersion, Problem, problems};
use crate::cli::fixed::Fixed;
use crate::cli::lock::lock;
use crate::fix;
use crate::read::{file, yaml};
use crate::report::fix::{Change as Edit, Safety};
use crate::report::{Fix, Severity};

/// Maximum number of times that a catalog is validated: a fix can bring up the next finding.
const MAX_ROUNDS: usize = 50;

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
    let fixer =
        Fixer { root: lock.path(), shown: directory, openshift: openshift.of(directory), unsafe_fixes };
    let (summary, changed) = fixer.run()?;
    write(&mut lock, changed)?;
    Ok(summary)
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
    let fixer = Fixer { root: directory, shown: directory, openshift: openshift.of(directory), unsafe_fixes };
    Ok(fixer.run()?.0)
}

struct Fixer<'a> {
    root: &'a Path,
    /// The directory as the user named it.
    shown: &'a Path,
    openshift: Option<OpenshiftVersion>,
    unsafe_fixes: bool,
}

impl Fixer<'_> {
    /// Returns what changes, and the files.
    fn run(&self) -> Result<(Fixed, Changed)> {
        let mut fixed = Fixed::default();
        let mut changed = Changed::new();
        let mut before = None;
        for round in 0..=MAX_ROUNDS {
            let store = Store::with(self.root, changed.clone())
                .with_context(|| format!("cannot fix {}", self.shown.display()))?;
            let found = problems(store.problems.clone(), &store.blobs, self.openshift);
            self.check(&found, *before.get_or_insert_with(|| errors(&found)))?;
            if round == MAX_ROUNDS {
                let applies = |fix: &Fix| fix.safety == Safety::Safe || self.unsafe_fixes;
                fixed.is_incomplete = found.iter().any(|one| one.fix.as_deref().is_some_and(applies));
                break;
            }
            let files = self.round(&store, &found, &mut fixed)?;
            if files.is_empty() {
                break;
            }
            changed.extend(files);
        }
        for (name, new) in &changed {
            fixed.files.insert(name.clone(), self.texts(name, new.as_deref())?);
        }
        fixed.files.retain(|_, (old, new)| old != new);
        changed.retain(|name, _| fixed.files.contains_key(name));
        Ok((fixed, changed))
    }

    /// Checks that fixes cause no errors.
    fn check(&self, found: &[Problem], before: usize) -> Result<()> {
        if errors(found) > before {
            bail!(
                "cannot fix {}: the fixes would increase the number of errors from {before} to {}; nothing was written",
                self.shown.display(),
                errors(found)
            );
        }
        Ok(())
    }

    /// Applies the fixes of problems that do not touch each other, and returns the files that change.
    fn round(&self, store: &Store, found: &[Problem], fixed: &mut Fixed) -> Result<Changed> {
        fixed.unsafe_fixes = 0;
        let mut by_document: BTreeMap<usize, Vec<(&Problem, &Fix)>> = BTreeMap::new();
        for problem in found {
            let Some(fix) = problem.fix.as_deref() else { continue };
            if fix.safety == Safety::Unsafe && !self.unsafe_fixes {
                fixed.unsafe_fixes += 1;
            } else if let Some(index) = store.at(&problem.place)? {
                by_document.entry(index).or_default().push((problem, fix));
            }
        }
        let mut changes = BTreeMap::new();
        for (index, fixes) in by_document {
            let Some((change, applied)) = change(store, index, &fixes)? else { continue };
            for (problem, fix) in applied.into_iter().filter_map(|one| fixes.get(one)) {
                let file = problem.place.file.to_string();
                fixed.done.push((file, problem.rule.id, fix.title.clone()));
            }
            changes.insert(index, change);
        }
        store.changed(&changes, &[])
    }

    /// Returns the old and the new text of a file.
    fn texts(&self, name: &str, new: Option<&[u8]>) -> Result<(String, String)> {
        let (path, shown) = (self.root.join(name), self.shown.join(name));
        if path.is_symlink() {
            bail!(
                "cannot fix {}: symbolic link; fix the file that it leads to, or replace the link with it",
                shown.display()
            );
        }
        let failed = || format!("failed to read {}", shown.display());
        let old = file::read(&path, MAX_FILE_SIZE).with_context(failed)?;
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).with_context(failed);
        Ok((text(old)?, text(new.unwrap_or_default().to_vec())?))
    }
}

fn errors(found: &[Problem]) -> usize {
    found.iter().filter(|problem| problem.rule.severity == Severity::Error).count()
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
