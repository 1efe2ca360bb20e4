//! `bundle-tool fix` for file-based catalogs: the fixes of what `catalog validate` finds.

use std::collections::BTreeMap;
use std::mem;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use atomic_files::Expected;

use super::store::{Change, Changed, ChangedFile, MAX_FILE_SIZE, Store, write};
use crate::cli::fix_outcome::{Done, FixMode, FixOutcome};
use crate::cli::fixpoint::{self, FixTarget};
use crate::cli::lock::lock;
use crate::cli::openshift::OpenshiftOption;
use olm_catalog::fix::{FixedDocument, document};
use olm_catalog::validate::findings;
use olm_model::disk::file;
use olm_model::kubernetes::Minor;
use olm_model::report::{Finding, Fix};
use olm_rules::Selection;

/// Fixes the catalog in a directory, or returns what that would change.
///
/// # Errors
/// A document cannot be read, a file that would change is a symbolic link, the fixes would cause errors, or a file cannot be written.
/// Nothing is changed then.
pub(crate) fn fix_catalog(
    directory: &Path,
    openshift: OpenshiftOption,
    selection: &Selection,
    unsafe_fixes: bool,
    mode: FixMode,
) -> Result<FixOutcome> {
    if mode == FixMode::Preview {
        return Ok(run(directory, directory, openshift, selection, unsafe_fixes)?.0);
    }
    let mut lock = lock(directory)?;
    let (fixed, changed) = run(lock.path(), directory, openshift, selection, unsafe_fixes)?;
    write(&mut lock, changed)?;
    Ok(fixed)
}

/// Fixes the catalog in `root` in memory. Returns what changes, and the files.
fn run(
    root: &Path,
    shown: &Path,
    openshift: OpenshiftOption,
    selection: &Selection,
    unsafe_fixes: bool,
) -> Result<(FixOutcome, Changed)> {
    let mut files = CatalogFiles {
        root,
        shown,
        openshift: openshift.for_catalog(shown),
        selection,
        changed: Changed::new(),
    };
    let mut fixed = fixpoint::fix(&mut files, shown, unsafe_fixes)?;
    for (name, new) in &files.changed {
        fixed.files.insert(name.clone(), files.texts(name, new)?);
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
    openshift: Option<Minor>,
    selection: &'a Selection,
    changed: Changed,
}

impl CatalogFiles<'_> {
    /// Returns the old and the new text of a file.
    fn texts(&self, name: &str, new: &ChangedFile) -> Result<(String, String)> {
        let (path, shown) = (self.root.join(name), self.shown.join(name));
        if path.is_symlink() {
            bail!(
                "cannot fix {}: symbolic link; fix the file that it points to, or replace the link with that file",
                shown.display()
            );
        }
        let failed = || format!("failed to read {}", shown.display());
        let old = file::read_below(self.root, name, MAX_FILE_SIZE).with_context(failed)?;
        if new.read != Expected::from(Some(&old)) {
            bail!(atomic_files::Error::Changed { path: shown });
        }
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).with_context(failed);
        Ok((text(old)?, text(new.bytes.clone().unwrap_or_default())?))
    }
}

impl FixTarget for CatalogFiles<'_> {
    type Found = (Store, Vec<Finding>);

    fn size(&self, (store, _): &Self::Found) -> usize {
        store.size()
    }

    fn validate(&self) -> Result<Self::Found> {
        let mut store = Store::with(self.root, self.changed.clone())
            .with_context(|| format!("cannot fix {}", self.shown.display()))?;
        let (documents, comments) = (mem::take(&mut store.findings), mem::take(&mut store.comments));
        let found = findings(documents, comments, &store.blobs, self.openshift, self.selection);
        Ok((store, found))
    }

    fn errors((_, found): &Self::Found) -> usize {
        found.iter().filter(|finding| finding.is_failure()).count()
    }

    fn unread(_: &Self::Found) -> Vec<&Finding> {
        // It would be an error.
        Vec::new()
    }

    fn fixes((_, found): &Self::Found) -> impl Iterator<Item = &Fix> {
        found.iter().filter_map(fix_of).map(|(_, _, fix)| fix)
    }

    fn apply(
        &mut self,
        (store, found): &Self::Found,
        allowed: impl Fn(&Fix) -> bool,
        done: &mut Vec<Done>,
    ) -> Result<bool> {
        let mut changes = BTreeMap::new();
        for (index, fixes) in by_document(store, found, allowed)? {
            let only: Vec<&Fix> = fixes.iter().map(|(_, fix)| *fix).collect();
            let text = store.document_text(index)?;
            let Some((fixed, applied)) = document(&text, store.is_json(index), &only) else { continue };
            for (finding, fix) in applied.into_iter().filter_map(|one| fixes.get(one)) {
                let file = finding.file.clone().unwrap_or_default();
                done.push((file, finding.rule, fix.title.clone()));
            }
            changes.insert(
                index,
                match fixed {
                    FixedDocument::Removed => Change::Remove,
                    FixedDocument::Text(text) => Change::Text(text),
                },
            );
        }
        let files = store.changed(&changes, &[])?;
        let has_changed = !files.is_empty();
        self.changed.extend(files);
        Ok(has_changed)
    }

    fn count(&self, (store, found): &Self::Found, wanted: impl Fn(&Fix) -> bool) -> Result<usize> {
        let mut count = 0;
        for (index, fixes) in by_document(store, found, wanted)? {
            let text = store.document_text(index)?;
            let fixes = fixes.into_iter().map(|(_, fix)| fix).collect();
            count += fixpoint::applicable(fixes, |fixes| {
                document(&text, store.is_json(index), fixes).map_or_else(Vec::new, |(_, applied)| applied)
            });
        }
        Ok(count)
    }
}

/// Returns the allowed fixes of findings that count, by the index of the document.
fn by_document<'f>(
    store: &Store,
    found: &'f [Finding],
    allowed: impl Fn(&Fix) -> bool,
) -> Result<BTreeMap<usize, Vec<(&'f Finding, &'f Fix)>>> {
    let mut by_document: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for finding in found {
        let Some((file, line, fix)) = fix_of(finding).filter(|(_, _, fix)| allowed(fix)) else {
            continue;
        };
        if let Some(index) = store.at(file, line)? {
            by_document.entry(index).or_default().push((finding, fix));
        }
    }
    Ok(by_document)
}

/// Returns the fix of a finding that counts, with its file and line.
fn fix_of(finding: &Finding) -> Option<(&str, u32, &Fix)> {
    let fix = finding.fix.as_deref().filter(|_| finding.ignored.is_none())?;
    Some((finding.file.as_deref()?, finding.line?, fix))
}
