//! Files on disk, replaced whole or not at all.
//!
//! Everything this tool writes goes through here: bytes land in a temporary file beside their destination, are
//! flushed to the disk and take the destination's name in one rename. Where the bytes come from, and what they mean,
//! is the caller's business.

mod error;
mod pending;
mod tree;

pub use error::Error;
pub use pending::Pending;
pub use tree::{Changes, Tree, tree};

use std::fs;
use std::io::Read;
use std::path::Path;

/// What writing a file did to the folder it lies in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// The file did not exist before.
    Created,
    /// The file existed with other bytes.
    Replaced,
    /// The file already held these bytes and was not touched.
    Unchanged,
}

/// Makes `path` hold exactly `bytes`, creating missing parent folders.
///
/// A file that already holds them is left alone, times included. A new file gets mode 0666 less the umask, a replaced
/// one keeps its mode. A symbolic link is followed, so that the link stays a link; a device or a pipe (`/dev/stdout`)
/// is written to directly.
///
/// # Errors
///
/// [`Error`] with the path, where the folder cannot be made or written, `path` is a folder, or the disk is full. The
/// file is then as it was.
pub fn file(path: &Path, bytes: &[u8]) -> Result<Change, Error> {
    let change = compare(path, bytes)?;
    if change != Change::Unchanged {
        let mut pending = Pending::new(path)?;
        pending.append(bytes)?;
        pending.commit()?;
    }
    Ok(change)
}

/// What [`file()`] would do, without doing it.
///
/// # Errors
///
/// [`Error`] where `path` is a folder or cannot be read.
pub fn compare(path: &Path, bytes: &[u8]) -> Result<Change, Error> {
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Change::Created),
        Err(error) => return Err(Error::new("look at", path, error)),
    };
    if metadata.is_dir() {
        return Err(Error::new("write", path, std::io::ErrorKind::IsADirectory.into()));
    }
    if !metadata.is_file() || metadata.len() != bytes.len() as u64 {
        return Ok(Change::Replaced);
    }
    let mut old = Vec::with_capacity(bytes.len());
    fs::File::open(path)
        .and_then(|mut file| file.read_to_end(&mut old))
        .map_err(|error| Error::new("read", path, error))?;
    Ok(if old == bytes { Change::Unchanged } else { Change::Replaced })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn creates_replaces_and_leaves_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a/b/c.yaml");
        assert_eq!(file(&path, b"one").unwrap(), Change::Created);
        let before = fs::metadata(&path).unwrap().modified().unwrap();
        assert_eq!(file(&path, b"one").unwrap(), Change::Unchanged);
        assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), before);
        assert_eq!(file(&path, b"two").unwrap(), Change::Replaced);
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(names(path.parent().unwrap()), ["c.yaml"], "a temporary file was left behind");
    }

    #[test]
    fn keeps_the_mode_of_a_replaced_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run.sh");
        fs::write(&path, "one").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o750)).unwrap();
        file(&path, b"two").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o750);
    }

    #[test]
    fn new_files_are_as_open_as_the_umask_allows() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("reference"), "").unwrap();
        file(&dir.path().join("new"), b"x").unwrap();
        let mode = |name| fs::metadata(dir.path().join(name)).unwrap().permissions().mode();
        assert_eq!(mode("new"), mode("reference"));
    }

    #[test]
    fn a_link_stays_a_link() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("target"), "old").unwrap();
        symlink("target", dir.path().join("link")).unwrap();
        file(&dir.path().join("link"), b"new").unwrap();
        assert!(fs::symlink_metadata(dir.path().join("link")).unwrap().is_symlink());
        assert_eq!(fs::read(dir.path().join("target")).unwrap(), b"new");
    }

    #[test]
    fn a_folder_or_a_file_in_the_way_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let error = file(dir.path(), b"x").unwrap_err().to_string();
        assert!(error.contains(&dir.path().display().to_string()), "{error}");
        fs::write(dir.path().join("file"), "").unwrap();
        let error = file(&dir.path().join("file/below"), b"x").unwrap_err().to_string();
        assert!(error.contains("file/below"), "{error}");
        assert_eq!(names(dir.path()), ["file"]);
    }

    #[test]
    fn a_device_is_written_to_directly() {
        file(Path::new("/dev/null"), b"x").unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
        let error = file(Path::new("/dev/full"), b"x").unwrap_err().to_string();
        assert!(error.contains("/dev/full"), "{error}");
    }

    fn names(dir: &Path) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(dir)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}
