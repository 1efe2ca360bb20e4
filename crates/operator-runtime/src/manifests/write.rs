//! Writes a generated tree to disk: each file atomically, and only if it changed.

use super::{Error, Tree};
use std::fs;
use std::io::{self, Write};
use std::path::Path;

/// Writes every file of the tree below `directory`, and returns how many changed.
///
/// # Errors
/// When a directory cannot be created or a file cannot be written; that file is then unchanged.
pub fn write(directory: &Path, tree: &Tree) -> Result<usize, Error> {
    let mut changed = 0;
    for (path, text) in tree {
        let path = directory.join(path);
        if fs::read(&path).is_ok_and(|old| old == text.as_bytes()) {
            continue;
        }
        replace(&path, text).map_err(|source| Error::Write { path, source })?;
        changed += 1;
    }
    Ok(changed)
}

fn replace(path: &Path, text: &str) -> io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(directory)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let beside = directory.join(format!(".{name}.{}", std::process::id()));
    let written = fs::File::create(&beside).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    written.and_then(|()| fs::rename(&beside, path)).inspect_err(|_| {
        // The first error is reported; a leftover file beside the target does no harm.
        let _ = fs::remove_file(&beside);
    })
}
