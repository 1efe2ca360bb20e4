//! Files that describe a project, read within limits: `Cargo.toml`, `PROJECT`, base CSVs, overrides, icons.

use std::io;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use atomic_files::Expected;

use kube_yaml::{Position, Tree};
use olm_model::disk;
use olm_model::read::{MAX_FILE_SIZE, Unreadable};

/// Reads a file of at most [`MAX_FILE_SIZE`] bytes; a link out of the project is an error. Returns `None` if it does not exist.
pub(crate) fn bytes(path: &Path) -> Result<Option<Vec<u8>>> {
    match disk::file::read_in_project(path, MAX_FILE_SIZE) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(Unreadable::Io(error)) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("failed to read {}", path.display())),
    }
}

/// Reads what a file holds, so that it is written only if it still holds that.
pub(crate) fn expected(path: &Path) -> Result<Expected> {
    Ok(bytes(path)?.into())
}

/// Reads a file that must exist and is used as `purpose`.
pub(crate) fn required(path: &Path, purpose: &str) -> Result<Vec<u8>> {
    bytes(path)?.with_context(|| format!("failed to read the {purpose}: {} does not exist", path.display()))
}

/// Reads a file that the file `named_in` names relative to itself, and that must exist in the same project.
pub(crate) fn named(named_in: &Path, path: &Path) -> Result<Vec<u8>> {
    let shown = named_in.parent().unwrap_or(Path::new("")).join(path);
    disk::file::read_named(named_in, path, MAX_FILE_SIZE)
        .with_context(|| format!("failed to read {}", shown.display()))
}

/// Reads a text file. Returns `None` if it does not exist.
pub(crate) fn read_text(path: &Path) -> Result<Option<String>> {
    let text = bytes(path)?.map(String::from_utf8).transpose();
    text.with_context(|| format!("{} is not valid UTF-8", path.display()))
}

/// Reads a YAML file with one document. Returns `None` if it does not exist or is empty.
pub(crate) fn document(path: &Path) -> Result<Option<(String, Tree)>> {
    let Some(text) = read_text(path)? else { return Ok(None) };
    let parsed = kube_yaml::parse(text.as_bytes());
    if let Some(error) = parsed.error {
        let Position { line, column } = error.position;
        bail!("{}:{line}:{column}: invalid YAML: {}", path.display(), error.with_help());
    }
    if parsed.documents.len() > 1 {
        bail!("{}: expected one YAML document, found {}", path.display(), parsed.documents.len());
    }
    Ok(parsed.documents.into_iter().next().map(|tree| (text, tree)))
}
