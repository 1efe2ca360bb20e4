//! Listing a directory that others fill: the one walker of bundles, catalogs, plain manifests and operators (`init --from`).
//!
//! The policy, in one place:
//!
//! - **Links.** A symbolic link out of the directory is reported ([`Directory`]). A symbolic link to a file is that file.
//!   A symbolic link to a directory is reported, not followed, as Go's `filepath.WalkDir` has it in operator-sdk, opm and
//!   kubectl; with [`Options::follow_directory_links`] it is followed, and a link to a directory that contains it is
//!   reported as a cycle.
//! - **Depth.** Directories deeper than [`Options::max_depth`] are reported and not entered.
//! - **Entries.** A directory with more than [`Options::max_entries`] entries in all is an error.
//! - **File types.** FIFOs, sockets and devices are reported. No file is opened here; [`Directory::file`] opens
//!   regular files alone, whatever became of them since.
//! - **Temporary files.** What a killed process left behind ([`atomic_files::is_temporary`]) is not listed.
//!
//! What is reported is an [`Entry`] of its own ([`Kind::Unreadable`]), so that the caller decides whether it matters.

use std::io;
use std::path::{Path, PathBuf};

use super::directory::Directory;
use super::error::WalkError;
use super::regular::type_name;
use super::sys::{self, EntryType, Listed};
use crate::read::Unreadable;

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
    /// The path below the listed directory, to open with [`Directory::file`].
    pub below: PathBuf,
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

/// Lists everything below the directory at `path`, as [`Directory::walk`].
///
/// # Errors
/// There is no such directory; or as for [`Directory::walk`].
pub fn walk(path: &Path, options: Options) -> Result<Vec<Entry>, WalkError> {
    Directory::open(path)?.walk(options)
}

impl Directory {
    /// Lists everything below the directory, sorted by name.
    ///
    /// # Errors
    /// The directory cannot be listed, or contains more than [`Options::max_entries`] entries; or the machine is at fault
    /// ([`Unreadable::is_environment`]), wherever that happens.
    pub fn walk(&self, options: Options) -> Result<Vec<Entry>, WalkError> {
        let mut walker = Walker { directory: self, options, entries: Vec::new(), parents: Vec::new() };
        if let Some(error) = walker.list(Path::new(""))? {
            return Err(walker.io_error(Path::new(""), error));
        }
        let mut entries = walker.entries;
        // A directory that cannot be listed is there twice: as itself, and with what went wrong.
        entries.sort_by(|a, b| a.name.cmp(&b.name).then_with(|| a.below.cmp(&b.below)));
        Ok(entries)
    }
}

/// Lists a directory.
struct Walker<'d> {
    directory: &'d Directory,
    options: Options,
    entries: Vec<Entry>,
    /// The directories that are being listed.
    parents: Vec<sys::Id>,
}

impl Walker<'_> {
    /// Adds the entries of a directory and of those below it. Returns why it cannot be listed.
    fn list(&mut self, below: &Path) -> Result<Option<Unreadable>, WalkError> {
        let room = self.options.max_entries.saturating_sub(self.entries.len());
        let (id, listed) = match self.directory.root.list(below, room) {
            Ok(listed) => listed,
            Err(error) => return Ok(Some(error)),
        };
        if self.parents.contains(&id) {
            return Ok(Some(Unreadable::Cycle));
        }
        self.parents.push(id);
        for Listed { name, kind } in listed {
            if atomic_files::is_temporary(&name) {
                continue;
            }
            if self.entries.len() >= self.options.max_entries {
                return Err(WalkError::TooManyEntries {
                    path: self.directory.path().to_owned(),
                    limit: self.options.max_entries,
                });
            }
            self.add(below.join(&name), &name.to_string_lossy(), kind)?;
        }
        self.parents.pop();
        Ok(None)
    }

    /// Adds an entry, and what is below it.
    fn add(&mut self, below: PathBuf, name: &str, kind: io::Result<EntryType>) -> Result<(), WalkError> {
        let is_link = matches!(kind, Ok(EntryType::Link));
        let kind = match kind.map_err(Unreadable::from) {
            Ok(EntryType::Link) => self.target(&below),
            other => other,
        };
        let kind = match kind {
            Ok(EntryType::File(size)) => Kind::File(size),
            Ok(EntryType::Directory) if is_link && !self.options.follow_directory_links => {
                Kind::Unreadable(Unreadable::DirectoryLink)
            }
            Ok(EntryType::Directory) if self.parents.len() >= self.options.max_depth => {
                Kind::Unreadable(Unreadable::TooDeep(self.options.max_depth))
            }
            Ok(EntryType::Directory) => Kind::Directory,
            Ok(EntryType::Link) => Kind::Unreadable(Unreadable::NotRegular("a symbolic link")),
            Ok(EntryType::Other(what)) => Kind::Unreadable(Unreadable::NotRegular(what)),
            Err(error) => Kind::Unreadable(error),
        };
        let is_skipped = self.options.skip_hidden_directories && name.starts_with('.')
            || self.options.skipped_directories.contains(&name);
        let is_entered = matches!(kind, Kind::Directory) && !is_skipped;
        let at = self.entries.len();
        self.push(below.clone(), kind)?;
        if is_entered && let Some(error) = self.list(&below)? {
            if matches!(error, Unreadable::Cycle) {
                self.entries.truncate(at);
            }
            self.push(below, Kind::Unreadable(error))?;
        }
        Ok(())
    }

    /// Returns what a link points to.
    fn target(&self, below: &Path) -> Result<EntryType, Unreadable> {
        let metadata = self.directory.root.metadata(below)?;
        Ok(match metadata.file_type() {
            of if of.is_file() => EntryType::File(metadata.len()),
            of if of.is_dir() => EntryType::Directory,
            of => EntryType::Other(type_name(of)),
        })
    }

    fn push(&mut self, below: PathBuf, kind: Kind) -> Result<(), WalkError> {
        match kind {
            Kind::Unreadable(error) if error.is_environment() => Err(self.io_error(&below, error)),
            kind => {
                let parts: Vec<_> = below.iter().map(|part| part.to_string_lossy()).collect();
                self.entries.push(Entry { name: parts.join("/"), below, kind });
                Ok(())
            }
        }
    }

    fn io_error(&self, below: &Path, error: Unreadable) -> WalkError {
        let source = match error {
            Unreadable::Io(source) => source,
            other => io::Error::other(other),
        };
        WalkError::Io { path: self.directory.path().join(below), source }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

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
        rustix::fs::mkfifoat(rustix::fs::CWD, dir.path().join("fifo"), rustix::fs::Mode::RUSR).unwrap();
        symlink("fifo", dir.path().join("to-fifo")).unwrap();
        symlink("..", dir.path().join("up")).unwrap();
        let not_followed = "symbolic links to directories are not followed";
        assert_eq!(
            names(dir.path(), Options::default()),
            [
                "d/",
                "d/f: 1",
                "dangling: no such file or directory",
                "fifo: expected a regular file, found a FIFO",
                "file: 1",
                &format!("loop1: {not_followed}"),
                &format!("loop2: {not_followed}"),
                &format!("other: {not_followed}"),
                "to-fifo: expected a regular file, found a FIFO",
                "up: the symbolic link points outside the directory",
                "zero: the symbolic link points outside the directory",
            ]
        );
        let followed = names(dir.path(), Options { follow_directory_links: true, ..Options::default() });
        let cycle = "the symbolic link points to a directory that contains it";
        assert!(followed.contains(&format!("loop1: {cycle}")), "{followed:?}");
        assert!(followed.contains(&"other/f: 1".to_owned()), "{followed:?}");
        assert_eq!(followed.len(), 12, "{followed:?}");
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
