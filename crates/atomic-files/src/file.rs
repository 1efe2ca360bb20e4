//! One file: written from bytes in memory, and compared with them.

use std::fs;
use std::path::Path;

use crate::error::Error;
use crate::expected::has_bytes;
use crate::pending::Pending;

/// What writing a file did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Change {
    /// The file did not exist before.
    Created,
    /// The file existed with other bytes.
    Replaced,
    /// The file already held these bytes and was not touched.
    Unchanged,
}

/// Makes `path` hold exactly `bytes`, creating missing parent directories.
///
/// For output that does not depend on what the file held before: whatever it held is replaced. To change a file, use
/// [`Pending::if_unchanged`], or [`DirectoryLock::write`](crate::DirectoryLock::write) for several.
///
/// A file that already holds the bytes is not touched, and keeps its times. A new file gets mode 0666 less the umask, a
/// replaced one keeps its mode and, as far as the system allows it, its owner and extended attributes. A symbolic link is
/// followed and stays a link; a device or a pipe (`/dev/stdout`) is written to directly.
///
/// # Errors
///
/// [`Error`] with the path if the directory cannot be created or written, `path` is a directory or a FIFO that no
/// process reads, or the disk is full. The file is unchanged then.
pub fn file(path: &Path, bytes: &[u8]) -> Result<Change, Error> {
    let change = compare(path, bytes)?;
    if change != Change::Unchanged {
        let mut pending = Pending::new(path)?;
        pending.append(bytes)?;
        pending.commit()?;
    }
    Ok(change)
}

/// Returns what [`file()`] would do, without doing it.
///
/// # Errors
///
/// [`Error`] if `path` is a directory or cannot be read.
pub fn compare(path: &Path, bytes: &[u8]) -> Result<Change, Error> {
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Change::Created),
        Err(error) => return Err(Error::new("read", path, error)),
    };
    if metadata.is_dir() {
        return Err(Error::new("write", path, std::io::ErrorKind::IsADirectory.into()));
    }
    if !metadata.is_file() || metadata.len() != bytes.len() as u64 {
        return Ok(Change::Replaced);
    }
    Ok(if has_bytes(path, bytes)? { Change::Unchanged } else { Change::Replaced })
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn file_is_created_replaced_or_left_unchanged() {
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
    fn replaced_file_keeps_its_mode() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run.sh");
        fs::write(&path, "one").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o750)).unwrap();
        file(&path, b"two").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o750);
    }

    #[test]
    fn new_file_gets_the_mode_that_the_umask_allows() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("reference"), "").unwrap();
        file(&dir.path().join("new"), b"x").unwrap();
        let mode = |name| fs::metadata(dir.path().join(name)).unwrap().permissions().mode();
        assert_eq!(mode("new"), mode("reference"));
    }

    #[test]
    fn link_is_followed_and_stays_a_link() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("target"), "old").unwrap();
        symlink("target", dir.path().join("link")).unwrap();
        file(&dir.path().join("link"), b"new").unwrap();
        assert!(fs::symlink_metadata(dir.path().join("link")).unwrap().is_symlink());
        assert_eq!(fs::read(dir.path().join("target")).unwrap(), b"new");
    }

    #[test]
    fn replacing_a_link_leaves_its_target_unchanged() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("target"), "old").unwrap();
        symlink("target", dir.path().join("link")).unwrap();
        let mut pending = Pending::replacing(&dir.path().join("link")).unwrap();
        pending.append(b"new").unwrap();
        pending.commit().unwrap();
        assert!(fs::symlink_metadata(dir.path().join("link")).unwrap().is_file());
        assert_eq!(fs::read(dir.path().join("target")).unwrap(), b"old");
    }

    #[test]
    fn error_names_the_directory_or_file_in_the_way() {
        let dir = tempfile::tempdir().unwrap();
        let error = file(dir.path(), b"x").unwrap_err().to_string();
        assert!(error.contains(&dir.path().display().to_string()), "{error}");
        fs::write(dir.path().join("file"), "").unwrap();
        let error = file(&dir.path().join("file/below"), b"x").unwrap_err().to_string();
        assert!(error.contains("file/below"), "{error}");
        assert_eq!(names(dir.path()), ["file"]);
    }

    #[test]
    fn device_is_written_to_directly() {
        file(Path::new("/dev/null"), b"x").unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
        let error = file(Path::new("/dev/full"), b"x").unwrap_err().to_string();
        assert!(error.contains("/dev/full"), "{error}");
    }

    #[test]
    fn fifo_without_a_reader_is_an_error_instead_of_a_wait() {
        let dir = tempfile::tempdir().unwrap();
        let fifo = dir.path().join("fifo");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &fifo,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::from_raw_mode(0o600),
            0,
        )
        .unwrap();
        let error = file(&fifo, b"x").unwrap_err().to_string();
        assert!(error.contains("fifo"), "{error}");
        let reader = std::thread::spawn({
            let fifo = fifo.clone();
            move || fs::read(fifo).unwrap()
        });
        // Fails until the reader has opened it.
        while file(&fifo, b"x").is_err() {
            std::thread::yield_now();
        }
        assert_eq!(reader.join().unwrap(), b"x");
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
