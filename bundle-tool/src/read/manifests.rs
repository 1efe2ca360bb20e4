//! Plain manifests, as `kubectl apply` takes them: a folder with all folders below it, a file, or a stream.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::bundle::MAX_FILE_SIZE;
use super::yaml;
use crate::model::yaml::{SyntaxError, Tree, Value};

/// How deep folders are followed.
const MAX_FOLDERS: usize = 32;

/// One document and the file that it stands in.
#[derive(Debug)]
pub struct Manifest {
    /// The file as the user would name it.
    pub file: String,
    /// The document.
    pub tree: Tree,
}

/// Why manifests cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// The system refuses a file or a folder.
    #[error("failed to read {}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// A file is no YAML.
    #[error("{file}:{}:{}: the file is no YAML: {}", error.position.line, error.position.column, error.message)]
    Syntax {
        /// The file.
        file: String,
        /// What is wrong, and where.
        error: SyntaxError,
    },
    /// A file is too large to be a manifest.
    #[error("{file} is larger than {} MiB, which no manifest is", MAX_FILE_SIZE >> 20)]
    Size {
        /// The file.
        file: String,
    },
}

/// All manifests below `folder` (which may be a file), sorted by path; folders whose name begins with a dot are
/// skipped. A file that is not named as YAML or JSON counts only where it reads as Kubernetes objects.
///
/// # Errors
/// Something cannot be read, or a file named as YAML or JSON is none.
pub fn folder(folder: &Path) -> Result<Vec<Manifest>, ManifestError> {
    let mut files = Vec::new();
    let metadata = fs::metadata(folder).map_err(|source| io_error(folder, source))?;
    if metadata.is_dir() {
        list(folder, 0, &mut files)?;
    } else {
        files.push(folder.to_owned());
    }
    let mut manifests = Vec::new();
    for path in files {
        let file = path.display().to_string();
        let opened = fs::File::open(&path).map_err(|source| io_error(&path, source))?;
        let named = matches!(
            path.extension().and_then(|extension| extension.to_str()),
            Some("yaml" | "yml" | "json")
        );
        let bytes = match limited(opened).map_err(|source| io_error(&path, source))? {
            Some(bytes) => bytes,
            None if named => return Err(ManifestError::Size { file }),
            None => continue,
        };
        let parsed = yaml::parse(&bytes);
        match parsed.error {
            Some(error) if named => return Err(ManifestError::Syntax { file, error }),
            Some(_) => {}
            None => {
                let documents = parsed.documents.into_iter().filter(|tree| named || is_object(tree.root()));
                manifests.extend(documents.map(|tree| Manifest { file: file.clone(), tree }));
            }
        }
    }
    Ok(manifests)
}

/// All manifests of a stream that messages call `name`.
///
/// # Errors
/// The stream breaks, or is no YAML.
pub fn stream(name: &str, stream: impl Read) -> Result<Vec<Manifest>, ManifestError> {
    let file = name.to_owned();
    let bytes = limited(stream).map_err(|source| io_error(Path::new(name), source))?;
    let Some(bytes) = bytes else { return Err(ManifestError::Size { file }) };
    let parsed = yaml::parse(&bytes);
    if let Some(error) = parsed.error {
        return Err(ManifestError::Syntax { file, error });
    }
    Ok(parsed.documents.into_iter().map(|tree| Manifest { file: file.clone(), tree }).collect())
}

fn list(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<(), ManifestError> {
    let entries = fs::read_dir(folder)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|source| io_error(folder, source))?;
    let mut paths: Vec<PathBuf> = entries.into_iter().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        let hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        let metadata = fs::metadata(&path).map_err(|source| io_error(&path, source))?;
        if metadata.is_file() {
            files.push(path);
        } else if metadata.is_dir() && !hidden && depth < MAX_FOLDERS {
            list(&path, depth + 1, files)?;
        }
    }
    Ok(())
}

/// What a reader holds; nothing where it holds more than a file may.
fn limited(reader: impl Read) -> std::io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    reader.take(MAX_FILE_SIZE + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= MAX_FILE_SIZE).then_some(bytes))
}

fn is_object(value: Value<'_>) -> bool {
    ["apiVersion", "kind"].iter().all(|key| value.get(key).and_then(Value::as_str).is_some())
}

fn io_error(path: &Path, source: std::io::Error) -> ManifestError {
    ManifestError::Io { path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_read_in_order_and_other_files_only_where_they_are_manifests() {
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
        let kinds: Vec<String> = folder(dir.path())
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
        let error = folder(dir.path()).unwrap_err().to_string();
        assert!(error.contains("x.yaml:2:1: the file is no YAML"), "{error}");
        let error = stream("standard input", &b"a: b: c\n"[..]).unwrap_err().to_string();
        assert!(error.starts_with("standard input:1:"), "{error}");
        assert!(folder(&dir.path().join("none")).unwrap_err().to_string().contains("none"));
    }
}
