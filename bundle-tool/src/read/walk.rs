//! Listing a foreign directory: the one walker that bundles, catalogs, plain manifests and operators (`init --from`) are read through.
//!
//! The policy, in one place:
//!
//! - **Links.** A symbolic link to a file is that file. A symbolic link to a directory is reported, not followed, as Go's
//!   `filepath.WalkDir` has it in operator-sdk, opm and kubectl; with [`Options::follow_directory_links`] it is followed,
//!   and a link to a directory that contains it is reported as a cycle.
//! - **Depth.** Directories deeper than [`Options::max_depth`] are reported and not entered.
//! - **Entries.** A directory with more than [`Options::max_entries`] entries in all is an error.
//! - **File types.** FIFOs, sockets and devices are reported. Nothing is opened here; [`super::file`] opens regular
//!   files alone, whatever became of them since.
//! - **Temporary files.** What a killed process left behind ([`atomic_files::is_temporary`]) is not listed.
//!
//! What is reported is an [`Entry`] of its own ([`Kind::Unreadable`]), so that the caller decides whether it matters.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use walkdir::{DirEntry, WalkDir};

use super::file::{Unreadable, type_name};

/// The maximum depth of directories below the one that is listed. A bundle has one level.
pub const MAX_DEPTH: usize = 32;

/// The maximum number of files and directories below the one that is listed.
pub const MAX_ENTRIES: usize = 250_000;

/// How a directory is listed.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// The maximum depth of directories that are entered.
    pub max_depth: usize,
    /// The maximum number of entries.
    pub max_entries: usize,
    /// Whether directories whose name begins with a dot are listed without what they contain.
    pub skip_hidden_directories: bool,
    /// The names of further directories that are listed without what they contain.
    pub skipped_directories: &'static [&'static str],
    /// Whether symbolic links to directories are followed.
    pub follow_directory_links: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            max_depth: MAX_DEPTH,
            max_entries: MAX_ENTRIES,
            skip_hidden_directories: false,
            skipped_directories: &[],
            follow_directory_links: false,
        }
    }
}

/// One file or directory.
#[derive(Debug)]
pub struct Entry {
    /// The path below the listed directory, with `/` between the parts. What is not UTF-8 in it is replaced.
    pub name: String,
    /// The path to open.
    pub path: PathBuf,
    /// What is there.
    pub kind: Kind,
}

/// What an [`Entry`] is.
#[derive(Debug)]
pub enum Kind {
    /// A regular file, or a link to one, with its size in bytes.
    File(u64),
    /// A directory; what it contains follows.
    Directory,
    /// Anything else.
    Unreadable(Unreadable),
}

/// Why a directory cannot be listed at all.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WalkError {
    /// The operating system reports an error.
    #[error("failed to read {}", path.display())]
    Io {
        /// The directory.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The path is that of a file.
    #[error("{} is not a directory", path.display())]
    NotADirectory {
        /// The path.
        path: PathBuf,
    },
    /// There are more entries than the reader accepts.
    #[error("{} contains more than {limit} files and directories", path.display())]
    TooManyEntries {
        /// The directory.
        path: PathBuf,
        /// The limit.
        limit: usize,
    },
}

/// Lists everything below `directory`, sorted by name; `directory` itself may be a link.
///
/// # Errors
/// `directory` cannot be listed, or contains more than [`Options::max_entries`] entries; or the machine is at fault
/// ([`Unreadable::is_environment`]), wherever that happens.
pub fn walk(directory: &Path, options: Options) -> Result<Vec<Entry>, WalkError> {
    let io_error = |path: &Path, source| WalkError::Io { path: path.to_owned(), source };
    let metadata = fs::metadata(directory).map_err(|source| io_error(directory, source))?;
    if !metadata.is_dir() {
        return Err(WalkError::NotADirectory { path: directory.to_owned() });
    }
    let mut entries = Vec::new();
    let mut found = WalkDir::new(directory)
        .min_depth(1)
        .max_depth(options.max_depth)
        .follow_links(options.follow_directory_links)
        .into_iter();
    while let Some(result) = found.next() {
        if entries.len() >= options.max_entries {
            return Err(WalkError::TooManyEntries { path: directory.to_owned(), limit: options.max_entries });
        }
        let entry = match result {
            Ok(entry) if atomic_files::is_temporary(entry.file_name()) => {
                skip(&mut found, &entry, options);
                continue;
            }
            Ok(entry) => {
                let kind = kind_of(&entry, options);
                let name = entry.file_name().to_string_lossy();
                let is_hidden = options.skip_hidden_directories && name.starts_with('.');
                if is_hidden || options.skipped_directories.contains(&&*name) {
                    skip(&mut found, &entry, options);
                }
                Entry { name: name_below(directory, entry.path()), path: entry.into_path(), kind }
            }
            Err(error) => failed(directory, error).map_err(|(path, source)| io_error(&path, source))?,
        };
        match entry.kind {
            Kind::Unreadable(error) if error.is_environment() => {
                let source = match error {
                    Unreadable::Io(source) => source,
                    other => io::Error::other(other),
                };
                return Err(io_error(&entry.path, source));
            }
            kind => entries.push(Entry { kind, ..entry }),
        }
    }
    // A directory that cannot be listed is there twice: as itself, and with what went wrong.
    entries.sort_by(|a, b| a.name.cmp(&b.name).then_with(|| a.path.cmp(&b.path)));
    Ok(entries)
}

/// Does not enter a directory. Those at the maximum depth are not entered anyway: there, this would skip what is beside it.
fn skip(found: &mut walkdir::IntoIter, entry: &DirEntry, options: Options) {
    if entry.file_type().is_dir() && entry.depth() < options.max_depth {
        found.skip_current_dir();
    }
}

fn kind_of(entry: &DirEntry, options: Options) -> Kind {
    let file_type = entry.file_type();
    if file_type.is_dir() {
        let is_entered = entry.depth() < options.max_depth;
        return if is_entered {
            Kind::Directory
        } else {
            Kind::Unreadable(Unreadable::TooDeep(options.max_depth))
        };
    }
    match fs::metadata(entry.path()) {
        Ok(metadata) if metadata.is_file() => Kind::File(metadata.len()),
        Ok(metadata) if metadata.is_dir() => Kind::Unreadable(Unreadable::DirectoryLink),
        Ok(metadata) => Kind::Unreadable(Unreadable::NotRegular(type_name(metadata.file_type()))),
        Err(error) => Kind::Unreadable(error.into()),
    }
}

/// What the walker could not look at, as an entry; as an error where the listed directory itself is at fault.
fn failed(directory: &Path, error: walkdir::Error) -> Result<Entry, (PathBuf, io::Error)> {
    let path = error.path().map(Path::to_owned);
    let is_below = error.depth() > 0;
    let is_cycle = error.loop_ancestor().is_some();
    let source = error.into_io_error().unwrap_or_else(|| io::Error::other("unknown error"));
    let Some(path) = path.filter(|_| is_below) else { return Err((directory.to_owned(), source)) };
    let reason = if is_cycle { Unreadable::Cycle } else { source.into() };
    Ok(Entry { name: name_below(directory, &path), path, kind: Kind::Unreadable(reason) })
}

fn name_below(directory: &Path, path: &Path) -> String {
    let relative = path.strip_prefix(directory).unwrap_or(path);
    let parts: Vec<_> = relative.iter().map(|part| part.to_string_lossy()).collect();
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(directory: &Path, options: Options) -> Vec<String> {
        walk(directory, options).unwrap().iter().map(described).collect()
    }

    fn described(entry: &Entry) -> String {
        match &entry.kind {
            Kind::File(size) => format!("{}: {size}", entry.name),
            Kind::Directory => format!("{}/", entry.name),
            Kind::Unreadable(error) => format!("{}: {error}", entry.name),
        }
    }

    #[test]
    fn entries_are_sorted_by_name() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("b/c")).unwrap();
        fs::create_dir_all(dir.path().join(".git/objects")).unwrap();
        fs::write(dir.path().join("b/c/x"), "123").unwrap();
        fs::write(dir.path().join("b.yaml"), "").unwrap();
        assert_eq!(
            names(dir.path(), Options::default()),
            [".git/", ".git/objects/", "b/", "b.yaml: 0", "b/c/", "b/c/x: 3"]
        );
        let options = Options { skip_hidden_directories: true, ..Options::default() };
        assert_eq!(names(dir.path(), options), [".git/", "b/", "b.yaml: 0", "b/c/", "b/c/x: 3"]);
        for max_depth in [2, MAX_DEPTH] {
            let options = Options { max_depth, skipped_directories: &["objects", "c"], ..Options::default() };
            assert_eq!(names(dir.path(), options).len(), 5, "{max_depth}");
        }
    }

    #[test]
    fn temporary_files_of_killed_processes_are_not_listed() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("a/.atomic-files-1/b")).unwrap();
        fs::write(dir.path().join("a/.atomic-files-2"), "").unwrap();
        fs::write(dir.path().join("a/c"), "").unwrap();
        for max_depth in [2, MAX_DEPTH] {
            let options = Options { max_depth, ..Options::default() };
            assert_eq!(names(dir.path(), options), ["a/", "a/c: 0"]);
        }
    }

    #[cfg(unix)]
    #[test]
    fn links_to_files_are_files_and_links_to_directories_are_reported() {
        use std::os::unix::fs::symlink;
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("d")).unwrap();
        fs::write(dir.path().join("d/f"), "1").unwrap();
        symlink("d/f", dir.path().join("file")).unwrap();
        symlink(".", dir.path().join("loop1")).unwrap();
        symlink(".", dir.path().join("loop2")).unwrap();
        symlink("d", dir.path().join("other")).unwrap();
        symlink("nowhere", dir.path().join("dangling")).unwrap();
        symlink("/dev/zero", dir.path().join("zero")).unwrap();
        let not_followed = "symbolic links to directories are not followed";
        assert_eq!(
            names(dir.path(), Options::default()),
            [
                "d/",
                "d/f: 1",
                "dangling: No such file or directory (os error 2)",
                "file: 1",
                &format!("loop1: {not_followed}"),
                &format!("loop2: {not_followed}"),
                &format!("other: {not_followed}"),
                "zero: expected a regular file, found a device",
            ]
        );
        let followed = names(dir.path(), Options { follow_directory_links: true, ..Options::default() });
        let cycle = "the symbolic link points to a directory that contains it";
        assert!(followed.contains(&format!("loop1: {cycle}")), "{followed:?}");
        assert!(followed.contains(&"other/f: 1".to_owned()), "{followed:?}");
        assert_eq!(followed.len(), 9, "{followed:?}");
    }

    #[test]
    fn depth_and_entries_have_limits() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("a/b/c")).unwrap();
        fs::write(dir.path().join("a/b/c/x"), "").unwrap();
        let options = Options { max_depth: 2, ..Options::default() };
        assert_eq!(names(dir.path(), options), ["a/", "a/b: the directory is nested deeper than 2 levels"]);
        let options = Options { max_entries: 3, ..Options::default() };
        let error = walk(dir.path(), options).unwrap_err();
        assert!(error.to_string().ends_with("contains more than 3 files and directories"), "{error}");
        let options = Options { max_entries: 4, ..Options::default() };
        assert_eq!(walk(dir.path(), options).unwrap().len(), 4);
    }

    #[test]
    fn a_path_that_is_not_a_directory_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("f");
        fs::write(&file, "").unwrap();
        assert!(matches!(walk(&file, Options::default()), Err(WalkError::NotADirectory { .. })));
        let missing = walk(&dir.path().join("none"), Options::default());
        assert!(matches!(missing, Err(WalkError::Io { .. })));
    }
}
