//! Directories of generated Markdown pages: the rule reference and the command reference.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};
use atomic_files::{DirectoryLock, Expected};
use olm_model::disk;

/// Maximum size of a page that is looked at before it is removed.
const MAX_PAGE: u64 = 1 << 20;
/// How long to wait for another process that writes to the directory.
const MAX_WAIT: Duration = Duration::from_secs(10);

/// Writes pages, and removes those that earlier versions generated: they begin with `mark`.
pub(super) fn write(directory: &Path, pages: BTreeMap<String, String>, mark: &str) -> Result<()> {
    let mut tree = atomic_files::Tree::new();
    for entry in fs::read_dir(directory).into_iter().flatten() {
        let path = entry.with_context(|| format!("failed to list {}", directory.display()))?.path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
        let is_page = path.extension().is_some_and(|end| end == "md") && !pages.contains_key(name);
        if is_page
            && let Ok(text) = disk::file::read(&path, MAX_PAGE)
            && text.starts_with(mark.as_bytes())
        {
            tree.remove(name, Some(text));
        }
    }
    for (name, text) in pages {
        tree.file(name, Expected::Anything, text.into_bytes());
    }
    DirectoryLock::acquire(directory, MAX_WAIT, |_| {})?.write(&tree)?;
    Ok(())
}
