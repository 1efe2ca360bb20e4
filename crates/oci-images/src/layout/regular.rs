//! Opening and reading foreign files: only regular ones, without blocking on a FIFO or a device.

use std::fs::{File, FileType};
use std::io::Read;
use std::path::Path;

use super::error::Error;
use crate::sys;

/// Opens the regular file `path` for reading and returns it with its size in bytes. Symbolic links are followed.
///
/// The type is checked after opening, so that nobody can exchange the file in between, and opening does not wait for
/// the other end of a FIFO.
///
/// # Errors
///
/// [`Error::Read`] if it cannot be opened, [`Error::NotRegular`] if it is anything but a regular file.
pub(crate) fn open_regular(path: &Path) -> Result<(File, u64), Error> {
    let file = sys::open(path).map_err(Error::read(path))?;
    let metadata = file.metadata().map_err(Error::read(path))?;
    if metadata.is_file() {
        return Ok((file, metadata.len()));
    }
    Err(Error::NotRegular { path: path.to_owned(), found: type_name(metadata.file_type()) })
}

/// Opens the regular file `name` beneath the directory `root`, as [`open_regular`] does. Symbolic links that stay in the directory are
/// followed.
///
/// # Errors
///
/// As [`open_regular`], and [`Error::Outside`] if a link leads out of the directory.
pub(crate) fn open_beneath(root: &Path, name: &str) -> Result<(File, u64), Error> {
    let path = root.join(name);
    let real = path.canonicalize().map_err(Error::read(&path))?;
    let real_root = root.canonicalize().map_err(Error::read(root))?;
    if !real.starts_with(&real_root) {
        return Err(Error::Outside { path });
    }
    open_regular(&real).map_err(|error| error.with_path(&path))
}

/// Returns the bytes of the regular file `path`, at most `limit` of them.
///
/// # Errors
///
/// As [`open_regular`], and [`Error::TooLarge`] beyond `limit`.
pub(crate) fn read_regular(path: &Path, limit: u64) -> Result<Vec<u8>, Error> {
    read_opened(open_regular(path)?, path, limit)
}

/// Returns the bytes of the regular file `name` beneath the directory `root`, at most `limit` of them.
///
/// # Errors
///
/// As [`open_beneath`], and [`Error::TooLarge`] beyond `limit`.
pub(crate) fn read_beneath(root: &Path, name: &str, limit: u64) -> Result<Vec<u8>, Error> {
    read_opened(open_beneath(root, name)?, &root.join(name), limit)
}

fn read_opened((file, size): (File, u64), path: &Path, limit: u64) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    if size <= limit {
        file.take(limit + 1).read_to_end(&mut bytes).map_err(Error::read(path))?;
    }
    if size.max(bytes.len() as u64) > limit {
        return Err(Error::TooLarge { what: path.display().to_string(), limit });
    }
    Ok(bytes)
}

/// The name of a file's type, with an article.
pub(crate) fn type_name(file_type: FileType) -> &'static str {
    if file_type.is_dir() {
        "a directory"
    } else if file_type.is_symlink() {
        "a symbolic link"
    } else if file_type.is_file() {
        "a regular file"
    } else {
        sys::special_name(file_type)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_and_directories_are_rejected() {
        let dir = tempfile::tempdir().unwrap();
        for (path, expected) in [(Path::new("/dev/zero"), "a device"), (dir.path(), "a directory")] {
            let error = open_regular(path).unwrap_err();
            assert!(matches!(&error, Error::NotRegular { found, .. } if *found == expected), "{error}");
        }
    }

    #[test]
    fn fifo_does_not_block() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("fifo");
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        let error = open_regular(&path).unwrap_err().to_string();
        assert!(error.ends_with("is a FIFO, expected a regular file"), "{error}");
    }
}
