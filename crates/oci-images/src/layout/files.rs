//! The files of a layer, and how they are collected from the disk.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

use super::Error;

/// One file of a layer.
#[derive(Debug, Clone)]
pub struct File {
    /// Where its bytes come from.
    pub source: Source,
    /// Whether it can be run; the only thing of a file's mode that an image keeps.
    pub executable: bool,
}

/// Where the bytes of a [`File`] come from.
#[derive(Debug, Clone)]
pub enum Source {
    /// Bytes at hand.
    Bytes(Vec<u8>),
    /// A file on disk, read when the layer is made.
    Disk(PathBuf),
}

/// The files of a layer by their paths inside the image: relative, with `/`, sorted.
#[derive(Debug, Clone, Default)]
pub struct FileMap {
    files: BTreeMap<String, File>,
    scratch: BTreeSet<String>,
}

impl FileMap {
    /// No files.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The files by path.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &File)> {
        self.files.iter().map(|(path, file)| (path.as_str(), file))
    }

    /// Adds a folder in which everybody may write, as `/tmp` is.
    ///
    /// # Errors
    ///
    /// [`Error::UnsafePath`] where the path leads out of the image.
    pub fn add_scratch_folder(&mut self, path: &str) -> Result<(), Error> {
        self.scratch.insert(image_path(path)?);
        Ok(())
    }

    /// The folders in which everybody may write.
    pub fn scratch_folders(&self) -> impl Iterator<Item = &str> {
        self.scratch.iter().map(String::as_str)
    }

    /// True where there is no file.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Adds a file at `path`, which may begin with `/`.
    ///
    /// # Errors
    ///
    /// [`Error::UnsafePath`] where the path leads out of the image, names its root or is taken already, also where a
    /// file would have to be a folder too.
    pub fn add(&mut self, path: &str, file: File) -> Result<(), Error> {
        let refuse = |reason| Error::UnsafePath { path: path.to_owned(), reason };
        let path = image_path(path)?;
        if path.is_empty() {
            return Err(refuse("a file needs a name"));
        }
        let below = format!("{path}/");
        let taken = self.files.contains_key(&path)
            || self.files.range(below.clone()..).next().is_some_and(|(next, _)| next.starts_with(&below))
            || path.match_indices('/').any(|(end, _)| self.files.contains_key(&path[..end]));
        if taken {
            return Err(refuse("two sources want to be there"));
        }
        self.files.insert(path, file);
        Ok(())
    }

    /// Adds what is at `source` on the disk as `target` in the image: a file under that name, or a folder's files
    /// below it. Links are followed.
    ///
    /// # Errors
    ///
    /// [`Error::Read`] where something cannot be read, [`Error::Unsupported`] for devices, pipes, and names that are
    /// not UTF-8, [`Error::UnsafePath`] as [`FileMap::add`].
    pub fn collect(&mut self, source: &Path, target: &str) -> Result<(), Error> {
        self.collect_within(source, target, &mut Vec::new())
    }

    fn collect_within(
        &mut self,
        source: &Path,
        target: &str,
        parents: &mut Vec<PathBuf>,
    ) -> Result<(), Error> {
        let unsupported = |reason| Error::Unsupported { path: source.to_owned(), reason };
        let metadata = fs::metadata(source).map_err(Error::read(source))?;
        if metadata.is_file() {
            let executable = metadata.permissions().mode() & 0o111 != 0;
            return self.add(target, File { source: Source::Disk(source.to_owned()), executable });
        }
        if !metadata.is_dir() {
            return Err(unsupported("it is neither a file nor a folder"));
        }
        let real = fs::canonicalize(source).map_err(Error::read(source))?;
        if parents.contains(&real) {
            return Err(unsupported("a link makes the folder contain itself"));
        }
        parents.push(real);
        for entry in fs::read_dir(source).map_err(Error::read(source))? {
            let path = entry.map_err(Error::read(source))?.path();
            if path.file_name().is_some_and(atomic_files::is_temporary) {
                continue;
            }
            let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
                return Err(Error::Unsupported { path, reason: "its name is not UTF-8" });
            };
            self.collect_within(&path, &format!("{target}/{name}"), parents)?;
        }
        parents.pop();
        Ok(())
    }
}

/// `path` without a leading `/` and without `.`, refused where it has `..`.
pub(crate) fn image_path(path: &str) -> Result<String, Error> {
    let refuse = |reason| Error::UnsafePath { path: path.to_owned(), reason };
    if path.contains('\0') {
        return Err(refuse("it holds a zero byte"));
    }
    let mut parts = Vec::new();
    for component in Path::new(path).components() {
        match component {
            Component::RootDir | Component::CurDir => {}
            Component::Normal(part) => parts.push(part.to_str().ok_or_else(|| refuse("it is not UTF-8"))?),
            Component::ParentDir | Component::Prefix(_) => return Err(refuse("it leads out of the image")),
        }
    }
    Ok(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn text() -> File {
        File { source: Source::Bytes(b"x".to_vec()), executable: false }
    }

    #[test]
    fn paths_are_made_plain_or_refused() {
        assert_eq!(image_path("/manager").unwrap(), "manager");
        assert_eq!(image_path("./a//b/./c/").unwrap(), "a/b/c");
        assert!(image_path("a/../../b").is_err());
        let mut files = FileMap::new();
        assert!(files.add("/", text()).is_err());
    }

    #[test]
    fn two_sources_cannot_share_a_place() {
        let mut files = FileMap::new();
        files.add("a/b", text()).unwrap();
        files.add("a/b.txt", text()).unwrap();
        for path in ["a/b", "/a/b", "a/b/c", "a"] {
            assert!(files.add(path, text()).is_err(), "{path} was accepted");
        }
    }

    #[test]
    fn folders_are_collected_with_links_followed() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("sub")).unwrap();
        fs::write(dir.path().join("sub/run"), "#!").unwrap();
        fs::set_permissions(dir.path().join("sub/run"), fs::Permissions::from_mode(0o700)).unwrap();
        symlink("sub/run", dir.path().join("link")).unwrap();
        let mut files = FileMap::new();
        files.collect(dir.path(), "/app").unwrap();
        let found: Vec<_> = files.iter().map(|(path, file)| (path, file.executable)).collect();
        assert_eq!(found, [("app/link", true), ("app/sub/run", true)]);
        symlink("..", dir.path().join("sub/up")).unwrap();
        let error = FileMap::new().collect(dir.path(), "app").unwrap_err().to_string();
        assert!(error.contains("contain itself"), "{error}");
    }

    #[test]
    fn temporary_files_of_killed_processes_are_not_shipped() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["a.yaml", ".hidden", ".bundle-tool-12-ab"] {
            std::fs::write(dir.path().join(name), "x").unwrap();
        }
        let mut files = FileMap::new();
        files.collect(dir.path(), "manifests").unwrap();
        let found: Vec<_> = files.iter().map(|(path, _)| path).collect();
        assert_eq!(found, ["manifests/.hidden", "manifests/a.yaml"]);
    }

    #[test]
    fn what_is_missing_or_no_file_is_named() {
        let error = FileMap::new().collect(Path::new("/no/such/path"), "x").unwrap_err().to_string();
        assert!(error.contains("/no/such/path"), "{error}");
        assert!(FileMap::new().collect(Path::new("/dev/null"), "x").is_err());
    }
}
