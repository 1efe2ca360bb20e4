//! Reads plain manifests: a directory with all directories below it, or a file.

use std::fs;
use std::path::{Path, PathBuf};

use super::directory::Directory;
use super::error::WalkError;
use super::file;
use super::walk::{Kind, Options, walk};
use crate::Document;
use crate::read::manifests::{MAX_TOTAL_SIZE, ManifestError, stream};
use crate::read::{MAX_FILE_SIZE, Unreadable};
use kube_yaml::{Aliased, Value};

/// Reads all manifests below `directory` (which may be a file), sorted by path.
///
/// Symbolic links are followed within the directory; those out of it are errors where they are named as manifests. Directories whose name begins with a dot are skipped. A file that is not named as YAML or
/// JSON counts only where it parses as Kubernetes objects.
///
/// # Errors
/// Something cannot be read, or a file named as YAML or JSON is not.
pub fn directory(directory: &Path) -> Result<Vec<Document>, ManifestError> {
    files(directory, list(directory)?)
}

/// Reads the manifests in a file, whatever its name.
///
/// # Errors
/// It cannot be read, or is not YAML.
pub fn file(path: &Path) -> Result<Vec<Document>, ManifestError> {
    let bytes = file::read_in_project(path, MAX_FILE_SIZE).map_err(|error| read_error(path, error))?;
    stream(&path.display().to_string(), bytes.as_slice())
}

/// Reads the manifests in some of the files that [`list`] returned for `directory`.
///
/// # Errors
/// As [`directory`].
pub fn files(directory: &Path, paths: Vec<PathBuf>) -> Result<Vec<Document>, ManifestError> {
    // A file is the directory of itself.
    let opened = if directory.is_dir() { Some(Directory::open(directory)?) } else { None };
    let read = |path: &Path| match (&opened, path.strip_prefix(directory)) {
        (Some(opened), Ok(below)) => opened.read(below, MAX_FILE_SIZE),
        _ => file::read_in_project(path, MAX_FILE_SIZE),
    };
    let mut manifests = Vec::new();
    let mut total = 0;
    let mut aliased = Aliased::default();
    for path in paths {
        let file = path.display().to_string();
        let named = is_named_as_manifest(&path);
        let bytes = match read(&path) {
            Ok(bytes) => bytes,
            Err(Unreadable::TooLarge(_)) if !named => continue,
            Err(error) => return Err(read_error(&path, error)),
        };
        let parsed = kube_yaml::parse(&bytes);
        match parsed.error {
            Some(error) if named => return Err(ManifestError::Syntax { file, error }),
            Some(_) => {}
            None => {
                let before = manifests.len();
                let documents = parsed.documents.into_iter().filter(|tree| named || is_object(tree.root()));
                manifests.extend(documents.map(|tree| Document { file: file.clone(), tree }));
                if manifests.len() > before {
                    total += bytes.len() as u64;
                    aliased.add(parsed.aliased).map_err(|reason| ManifestError::Aliases {
                        path: directory.display().to_string(),
                        reason,
                    })?;
                }
            }
        }
        if total > MAX_TOTAL_SIZE {
            return Err(read_error(directory, Unreadable::TotalTooLarge(MAX_TOTAL_SIZE)));
        }
    }
    Ok(manifests)
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
    let metadata = fs::metadata(directory).map_err(|source| read_error(directory, source.into()))?;
    if !metadata.is_dir() {
        return Ok((vec![directory.to_owned()], Vec::new()));
    }
    let options =
        Options { skip_hidden_directories: true, follow_directory_links: true, ..Options::default() };
    let (mut paths, mut unreadable) = (Vec::new(), Vec::new());
    for entry in walk(directory, options)? {
        let path = directory.join(&entry.below);
        match entry.kind {
            Kind::File(_) => paths.push(path),
            // What a cycle leads to is listed where it is.
            Kind::Directory | Kind::Unreadable(Unreadable::Cycle) => {}
            Kind::Unreadable(Unreadable::NotRegular(_)) if !is_named_as_manifest(&path) => {}
            // Such as a README or a program. A directory may contain manifests.
            Kind::Unreadable(Unreadable::LeavesDirectory)
                if !is_named_as_manifest(&path) && !path.is_dir() => {}
            Kind::Unreadable(source) => unreadable.push(read_error(&path, source)),
        }
    }
    Ok((paths, unreadable))
}

fn read_error(path: &Path, source: Unreadable) -> ManifestError {
    ManifestError::Read { path: path.display().to_string(), source }
}

impl From<WalkError> for ManifestError {
    fn from(error: WalkError) -> Self {
        Self::List(Box::new(error))
    }
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
        assert!(error.contains("x.yaml:1:4: invalid YAML"), "{error}");
        let error =
            crate::read::manifests::stream("standard input", &b"a: b: c\n"[..]).unwrap_err().to_string();
        assert!(error.starts_with("standard input:1:"), "{error}");
        assert!(directory(&dir.path().join("none")).unwrap_err().to_string().contains("none"));
    }
}
