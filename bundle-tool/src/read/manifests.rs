//! Reads plain manifests: a directory with all directories below it, a file, or a stream.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::file::{self, MAX_FILE_SIZE, Unreadable};
use super::walk::{Kind, Options, WalkError, walk};
use super::yaml::{self, Aliased};
use crate::model::Document;
use crate::model::yaml::{SyntaxError, Value};

/// The maximum size of all manifests that are read together, in bytes.
pub const MAX_TOTAL_SIZE: u64 = 128 << 20;

/// Why manifests cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ManifestError {
    /// A directory cannot be listed.
    #[error(transparent)]
    Directory(#[from] WalkError),
    /// A file or stream cannot be read.
    #[error("failed to read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: Unreadable,
    },
    /// The aliases of all files together stand for too much.
    #[error("failed to read {}: {reason}", path.display())]
    Aliases {
        /// The directory.
        path: PathBuf,
        /// Which limit is exceeded.
        reason: String,
    },
    /// A file is not valid YAML.
    #[error("{file}:{}:{}: invalid YAML: {}", error.position.line, error.position.column, error.message)]
    Syntax {
        /// The file.
        file: String,
        /// What is wrong, and where.
        error: SyntaxError,
    },
}

/// Reads all manifests below `directory` (which may be a file), sorted by path.
///
/// Symbolic links are followed. Directories whose name begins with a dot are skipped. A file that is not named as YAML or
/// JSON counts only where it parses as Kubernetes objects.
///
/// # Errors
/// Something cannot be read, or a file named as YAML or JSON is not.
pub fn directory(directory: &Path) -> Result<Vec<Document>, ManifestError> {
    files(directory, list(directory)?)
}

/// Reads the manifests in some of the files that [`list`] returned for `directory`.
///
/// # Errors
/// As [`directory`].
pub fn files(directory: &Path, paths: Vec<PathBuf>) -> Result<Vec<Document>, ManifestError> {
    let read_error = |path: &Path, source| ManifestError::Read { path: path.to_owned(), source };
    let mut manifests = Vec::new();
    let mut total = 0;
    let mut aliased = Aliased::default();
    for path in paths {
        let file = path.display().to_string();
        let named = is_named_as_manifest(&path);
        let bytes = match file::read(&path, MAX_FILE_SIZE) {
            Ok(bytes) => bytes,
            Err(Unreadable::TooLarge(_)) if !named => continue,
            Err(error) => return Err(read_error(&path, error)),
        };
        let parsed = yaml::parse(&bytes);
        match parsed.error {
            Some(error) if named => return Err(ManifestError::Syntax { file, error }),
            Some(_) => {}
            None => {
                let before = manifests.len();
                let documents = parsed.documents.into_iter().filter(|tree| named || is_object(tree.root()));
                manifests.extend(documents.map(|tree| Document { file: file.clone(), tree }));
                if manifests.len() > before {
                    total += bytes.len() as u64;
                    aliased
                        .add(parsed.aliased)
                        .map_err(|reason| ManifestError::Aliases { path: directory.to_owned(), reason })?;
                }
            }
        }
        if total > MAX_TOTAL_SIZE {
            return Err(read_error(directory, Unreadable::TotalTooLarge(MAX_TOTAL_SIZE)));
        }
    }
    Ok(manifests)
}

/// Reads all manifests of a stream, which messages call `name`.
///
/// # Errors
/// The stream breaks, is too large, or is not valid YAML.
pub fn stream(name: &str, stream: impl Read) -> Result<Vec<Document>, ManifestError> {
    let file = name.to_owned();
    let bytes = file::read_stream(stream, MAX_FILE_SIZE)
        .map_err(|source| ManifestError::Read { path: name.into(), source })?;
    let parsed = yaml::parse(&bytes);
    if let Some(error) = parsed.error {
        return Err(ManifestError::Syntax { file, error });
    }
    Ok(parsed.documents.into_iter().map(|tree| Document { file: file.clone(), tree }).collect())
}

/// Lists the files below `directory`, or `directory` itself if it is a file. What is not a file is an error where it is named as
/// a manifest.
///
/// # Errors
/// Something cannot be read.
pub fn list(directory: &Path) -> Result<Vec<PathBuf>, ManifestError> {
    let (paths, mut unreadable) = readable(directory)?;
    if unreadable.is_empty() { Ok(paths) } else { Err(unreadable.swap_remove(0)) }
}

/// Lists the files below `directory`, or `directory` itself if it is a file, and what cannot be read and would be an error
/// of [`list`].
///
/// # Errors
/// The directory cannot be listed.
pub fn readable(directory: &Path) -> Result<(Vec<PathBuf>, Vec<ManifestError>), ManifestError> {
    let metadata = fs::metadata(directory)
        .map_err(|source| ManifestError::Read { path: directory.to_owned(), source: source.into() })?;
    if !metadata.is_dir() {
        return Ok((vec![directory.to_owned()], Vec::new()));
    }
    let options =
        Options { skip_hidden_directories: true, follow_directory_links: true, ..Options::default() };
    let (mut paths, mut unreadable) = (Vec::new(), Vec::new());
    for entry in walk(directory, options)? {
        match entry.kind {
            Kind::File(_) => paths.push(entry.path),
            // What a cycle leads to is listed where it is.
            Kind::Directory | Kind::Unreadable(Unreadable::Cycle) => {}
            Kind::Unreadable(Unreadable::NotRegular(_)) if !is_named_as_manifest(&entry.path) => {}
            Kind::Unreadable(source) => unreadable.push(ManifestError::Read { path: entry.path, source }),
        }
    }
    Ok((paths, unreadable))
}

fn is_named_as_manifest(path: &Path) -> bool {
    matches!(path.extension().and_then(|extension| extension.to_str()), Some("yaml" | "yml" | "json"))
}

fn is_object(value: Value<'_>) -> bool {
    ["apiVersion", "kind"].iter().all(|key| value.get(key).and_then(Value::as_str).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_are_read_in_order_and_other_files_only_where_they_are_manifests() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("b/2.yml", "kind: B\n");
        write("a.yaml", "kind: A\n---\nkind: A2\n");
        write("c.json", "{\"kind\": \"C\"}");
        write("README.md", "# Title\n\n- a: b\n c");
        write("noext", "apiVersion: v1\nkind: D\n");
        write(".git/x.yaml", "kind: Hidden\n");
        let kinds: Vec<String> = directory(dir.path())
            .unwrap()
            .iter()
            .map(|manifest| manifest.tree.root().get("kind").unwrap().text().to_owned())
            .collect();
        assert_eq!(kinds, ["A", "A2", "B", "C", "D"]);
    }

    #[test]
    fn broken_yaml_is_named_with_its_place() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("x.yaml"), "a: [\n").unwrap();
        let error = directory(dir.path()).unwrap_err().to_string();
        assert!(error.contains("x.yaml:2:1: invalid YAML"), "{error}");
        let error = stream("standard input", &b"a: b: c\n"[..]).unwrap_err().to_string();
        assert!(error.starts_with("standard input:1:"), "{error}");
        assert!(directory(&dir.path().join("none")).unwrap_err().to_string().contains("none"));
    }
}
