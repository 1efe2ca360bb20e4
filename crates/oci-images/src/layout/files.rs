//! The files of a layer, and how they are collected from disk.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Metadata};
use std::io;
use std::path::{Component, Path, PathBuf};

use super::error::{Error, Quoted};
use super::regular::type_name;
use crate::sys;

/// One file of a layer.
#[derive(Debug, Clone)]
pub struct File {
    /// The source of its bytes.
    pub source: Source,
    /// Whether it can be executed: the only part of a file's mode that an image keeps.
    pub executable: bool,
}

/// The source of the bytes of a [`File`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Source {
    /// Bytes in memory.
    Bytes(Vec<u8>),
    /// A file on disk, read when the layer is built.
    Disk(PathBuf),
    /// None: a symbolic link with this target, absolute or relative to the link's directory.
    Link(String),
}

impl Source {
    /// Returns what messages call the source of the file at `path` in the image.
    fn shown(&self, path: &str) -> String {
        match self {
            Self::Disk(source) => {
                // Paths are canonical, unlike those that users give.
                let current = std::env::current_dir().ok();
                let below = current.and_then(|current| source.strip_prefix(current).ok());
                below.unwrap_or(source).display().to_string()
            }
            Self::Bytes(_) => format!("generated file {}", Quoted(path)),
            Self::Link(target) => format!("symbolic link to {}", Quoted(target)),
        }
    }
}

/// Returns whether the file at `path` is executable in an image: as on disk or, on Windows, if it is an executable of Linux or a
/// script.
///
/// # Errors
///
/// That of the system, if the file has to be read.
pub fn is_executable(path: &Path, metadata: &Metadata) -> io::Result<bool> {
    sys::is_executable(path, metadata)
}

/// The limits of [`FileMap::collect`], over all calls together.
#[derive(Debug, Clone, Copy)]
struct Limits {
    /// The maximum number of files and directories.
    entries: u64,
    /// The maximum size of all files in bytes.
    bytes: u64,
    /// The maximum depth of directories.
    depth: usize,
}

const LIMITS: Limits = Limits { entries: 1_000_000, bytes: 64 << 30, depth: 64 };

/// The files of a layer by their paths inside the image: relative, with `/`, sorted.
#[derive(Debug, Clone, Default)]
pub struct FileMap {
    files: BTreeMap<String, File>,
    scratch: BTreeSet<String>,
    entries: u64,
    bytes: u64,
}

impl FileMap {
    /// Creates an empty map.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the files by path.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &File)> {
        self.files.iter().map(|(path, file)| (path.as_str(), file))
    }

    /// Adds a directory in which every user may write, as in `/tmp`.
    ///
    /// # Errors
    ///
    /// [`Error::UnsafePath`] if the path leads out of the image.
    pub fn add_scratch_directory(&mut self, path: &str) -> Result<(), Error> {
        self.scratch.insert(image_path(path)?);
        Ok(())
    }

    /// Returns the directories in which every user may write.
    pub(crate) fn scratch_directories(&self) -> impl Iterator<Item = &str> {
        self.scratch.iter().map(String::as_str)
    }

    /// Returns whether the map has no file.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Adds a file at `path`, which may begin with `/`.
    ///
    /// # Errors
    ///
    /// [`Error::UnsafePath`] if the path leads out of the image or names its root, [`Error::DuplicatePath`] if it is taken by a file or
    /// directory.
    pub fn add(&mut self, path: &str, file: File) -> Result<(), Error> {
        let error = |reason| Err(Error::unsafe_path(path, reason));
        let path = image_path(path)?;
        if path.is_empty() {
            return error("a file needs a name");
        }
        let below = format!("{path}/");
        let inside = || self.files.range(below.clone()..).next().filter(|(next, _)| next.starts_with(&below));
        let around = || path.match_indices('/').find_map(|(end, _)| self.files.get_key_value(&path[..end]));
        if let Some((taken, other)) = self.files.get_key_value(&path).or_else(inside).or_else(around) {
            let (first, second) = (other.source.shown(taken), file.source.shown(&path));
            let sources = format!("{first} and {second}");
            return Err(Error::DuplicatePath { path: format!("/{path}"), sources });
        }
        self.files.insert(path, file);
        Ok(())
    }

    /// Adds what is at `source` on disk as `target` in the image: a file with that name, or the content of a directory.
    ///
    /// `source` may be a symbolic link. Links below it are followed as long as they stay inside of `source`. Temporary
    /// files that an interrupted run of this project left behind are skipped. In all calls together, 1,000,000 files and
    /// directories, 64 GiB and a depth of 64 directories are accepted.
    ///
    /// # Errors
    ///
    /// [`Error::Read`] if something cannot be read, [`Error::Unsupported`] for devices, FIFOs, links out of `source` or
    /// into a parent directory, and names that are not UTF-8, [`Error::TooMany`] and [`Error::TooLarge`] beyond the
    /// limits, [`Error::UnsafePath`] and [`Error::DuplicatePath`] as for [`FileMap::add`].
    pub fn collect(&mut self, source: &Path, target: &str) -> Result<(), Error> {
        self.collect_within_limits(source, target, LIMITS)
    }

    fn collect_within_limits(&mut self, source: &Path, target: &str, limits: Limits) -> Result<(), Error> {
        let root = fs::canonicalize(source).map_err(Error::read(source))?;
        Collector { files: self, root: root.clone(), limits, parents: Vec::new() }
            .collect(source, &root, target)
    }
}

/// Collects one source.
struct Collector<'a> {
    files: &'a mut FileMap,
    /// The canonical path of the source.
    root: PathBuf,
    limits: Limits,
    /// The canonical paths of the directories that are being read.
    parents: Vec<PathBuf>,
}

impl Collector<'_> {
    /// Collects `found`, which errors call `source`.
    ///
    /// They differ below a symbolic link: `found` has a canonical parent, as systems resolve at most 40 links in one path.
    fn collect(&mut self, source: &Path, found: &Path, target: &str) -> Result<(), Error> {
        let unsupported = |reason| Error::Unsupported { path: source.to_owned(), reason };
        self.files.entries += 1;
        if self.files.entries > self.limits.entries {
            let what = format!("the number of files up to {}", source.display());
            return Err(Error::TooMany { what, limit: self.limits.entries });
        }
        let real = fs::canonicalize(found).map_err(Error::read(source))?;
        let metadata = fs::metadata(&real).map_err(Error::read(source))?;
        if !real.starts_with(&self.root) {
            return Err(unsupported("the symbolic link points outside the directory"));
        }
        if metadata.is_file() {
            self.files.bytes = self.files.bytes.saturating_add(metadata.len());
            if self.files.bytes > self.limits.bytes {
                let what = format!("the size of the files up to {}", source.display());
                return Err(Error::TooLarge { what, limit: self.limits.bytes });
            }
            let executable = is_executable(&real, &metadata).map_err(Error::read(source))?;
            return self.files.add(target, File { source: Source::Disk(real), executable });
        }
        if !metadata.is_dir() {
            return Err(Error::NotRegular {
                path: source.to_owned(),
                found: type_name(metadata.file_type()),
            });
        }
        if self.parents.contains(&real) {
            return Err(unsupported("the symbolic link points to a directory that contains it"));
        }
        if self.parents.len() >= self.limits.depth {
            let what = format!("the depth of {}", source.display());
            return Err(Error::TooMany { what, limit: self.limits.depth as u64 });
        }
        self.parents.push(real.clone());
        for entry in fs::read_dir(&real).map_err(Error::read(source))? {
            let entry = entry.map_err(Error::read(source))?;
            let path = source.join(entry.file_name());
            let Ok(name) = entry.file_name().into_string() else {
                return Err(Error::Unsupported { path, reason: "its name is not UTF-8" });
            };
            if atomic_files::is_temporary(&name) {
                continue;
            }
            self.collect(&path, &entry.path(), &format!("{target}/{name}"))?;
        }
        self.parents.pop();
        Ok(())
    }
}

/// The maximum length of a path in bytes, as `PATH_MAX` of Linux. A layer has an entry for each directory of a path.
const MAX_PATH: usize = 4096;

/// Returns `path` without a leading `/` and without `.`.
///
/// # Errors
///
/// [`Error::UnsafePath`] for `..`, NUL and more than 4096 bytes.
pub(crate) fn image_path(path: &str) -> Result<String, Error> {
    let error = |reason| Err(Error::unsafe_path(path, reason));
    if path.len() > MAX_PATH {
        return error("it exceeds the limit of 4096 bytes");
    }
    if path.contains('\0') {
        return error("it contains NUL");
    }
    let mut parts = Vec::new();
    for component in Path::new(path).components() {
        match component {
            Component::RootDir | Component::CurDir => {}
            Component::Normal(part) => match part.to_str() {
                Some(part) => parts.push(part),
                None => return error("it is not UTF-8"),
            },
            Component::ParentDir | Component::Prefix(_) => return error("it points outside the image"),
        }
    }
    Ok(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn file() -> File {
        File { source: Source::Bytes(b"x".to_vec()), executable: false }
    }

    fn paths(files: &FileMap) -> Vec<&str> {
        files.iter().map(|(path, _)| path).collect()
    }

    #[test]
    fn paths_are_normalized_or_rejected() {
        assert_eq!(image_path("/manager").unwrap(), "manager");
        assert_eq!(image_path("./a//b/./c/").unwrap(), "a/b/c");
        assert!(image_path("a/../../b").is_err());
        assert!(image_path(&"a/".repeat(MAX_PATH / 2)).is_ok());
        assert!(image_path(&"a/".repeat(MAX_PATH / 2 + 1)).is_err());
        let mut files = FileMap::new();
        assert!(files.add("/", file()).is_err());
    }

    #[test]
    fn two_sources_cannot_have_one_path() {
        let mut files = FileMap::new();
        files.add("a/b", file()).unwrap();
        files.add("a/b.txt", file()).unwrap();
        for path in ["a/b", "/a/b", "a/b/c", "a"] {
            assert!(files.add(path, file()).is_err(), "{path} was accepted");
        }
    }

    #[test]
    fn directories_are_collected_with_links_followed() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("sub")).unwrap();
        fs::write(dir.path().join("sub/run"), "#!").unwrap();
        fs::set_permissions(dir.path().join("sub/run"), fs::Permissions::from_mode(0o700)).unwrap();
        symlink("sub/run", dir.path().join("link")).unwrap();
        let mut files = FileMap::new();
        files.collect(dir.path(), "/app").unwrap();
        let found: Vec<_> = files.iter().map(|(path, file)| (path, file.executable)).collect();
        assert_eq!(found, [("app/link", true), ("app/sub/run", true)]);
    }

    #[test]
    fn links_to_parents_and_out_of_the_directory_are_rejected() {
        let dir = tempfile::tempdir().unwrap();
        let app = dir.path().join("app");
        fs::create_dir_all(app.join("sub")).unwrap();
        fs::write(dir.path().join("secret"), "").unwrap();
        for (target, expected) in [
            ("..", "directory that contains it"),
            (".", "directory that contains it"),
            ("../..", "points outside"),
            ("../../secret", "points outside"),
            ("/etc/passwd", "points outside"),
        ] {
            let link = app.join("sub/link");
            symlink(target, &link).unwrap();
            let error = FileMap::new().collect(&app, "app").unwrap_err().to_string();
            assert!(error.contains(expected), "{target}: {error}");
            fs::remove_file(link).unwrap();
        }
        // The named path itself may be a link.
        fs::write(app.join("sub/file"), "").unwrap();
        symlink("app", dir.path().join("link")).unwrap();
        let mut files = FileMap::new();
        files.collect(&dir.path().join("link"), "app").unwrap();
        assert_eq!(paths(&files), ["app/sub/file"]);
    }

    #[test]
    fn missing_paths_devices_and_fifos_are_reported() {
        let error = FileMap::new().collect(Path::new("/no/such/path"), "x").unwrap_err().to_string();
        assert!(error.contains("/no/such/path"), "{error}");
        assert!(matches!(FileMap::new().collect(Path::new("/dev/null"), "x"), Err(Error::NotRegular { .. })));
        let dir = tempfile::tempdir().unwrap();
        let fifo = dir.path().join("fifo");
        assert!(std::process::Command::new("mkfifo").arg(fifo).status().unwrap().success());
        assert!(matches!(FileMap::new().collect(dir.path(), "x"), Err(Error::NotRegular { .. })));
    }

    #[test]
    fn leftovers_of_an_interrupted_run_are_skipped() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["a.yaml", ".atomic-files-Xy12", ".atomic-files-old-Xy12"] {
            fs::write(dir.path().join(name), "").unwrap();
        }
        fs::create_dir(dir.path().join(".atomic-files-swap-Xy12")).unwrap();
        fs::write(dir.path().join(".atomic-files-swap-Xy12/b.yaml"), "").unwrap();
        let mut files = FileMap::new();
        files.collect(dir.path(), "manifests").unwrap();
        assert_eq!(paths(&files), ["manifests/a.yaml"]);
    }

    #[test]
    fn entries_bytes_and_depth_are_limited() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("a/b")).unwrap();
        fs::write(dir.path().join("a/b/one"), "123").unwrap();
        fs::write(dir.path().join("a/b/two"), "123").unwrap();
        let collect = |limits| FileMap::new().collect_within_limits(dir.path(), "x", limits);
        let enough = Limits { entries: 5, bytes: 6, depth: 3 };
        collect(enough).unwrap();
        assert!(matches!(collect(Limits { entries: 4, ..enough }), Err(Error::TooMany { .. })));
        assert!(matches!(collect(Limits { bytes: 5, ..enough }), Err(Error::TooLarge { .. })));
        assert!(matches!(collect(Limits { depth: 2, ..enough }), Err(Error::TooMany { .. })));
    }

    #[test]
    fn links_in_linked_directories_are_followed_however_many_there_are() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("50")).unwrap();
        fs::write(dir.path().join("50/file"), "").unwrap();
        for level in 0..50 {
            let directory = dir.path().join(level.to_string());
            fs::create_dir(&directory).unwrap();
            symlink(format!("../{}", level + 1), directory.join("a")).unwrap();
        }
        let mut files = FileMap::new();
        files.collect(dir.path(), "x").unwrap();
        assert!(paths(&files).contains(&format!("x/0{}/file", "/a".repeat(50)).as_str()));
    }

    #[test]
    fn links_that_multiply_directories_reach_the_limit() {
        let dir = tempfile::tempdir().unwrap();
        for level in 0..30 {
            let directory = dir.path().join(level.to_string());
            fs::create_dir(&directory).unwrap();
            for name in ["a", "b"] {
                symlink(format!("../{}", level + 1), directory.join(name)).unwrap();
            }
        }
        fs::create_dir(dir.path().join("30")).unwrap();
        let limits = Limits { entries: 1000, ..LIMITS };
        let collected = FileMap::new().collect_within_limits(dir.path(), "x", limits);
        assert!(matches!(collected, Err(Error::TooMany { .. })), "{collected:?}");
    }
}
