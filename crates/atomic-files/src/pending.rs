//! A file that has bytes but not yet its name.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::expected::{Expected, State};
use crate::moves;
use crate::sys;
use crate::temporary::{Temporary, remove};

/// A file under construction: written beside its destination, visible under its name only after [`Pending::commit`].
///
/// Dropping it removes the temporary file. For output that is too large to hold in memory; for bytes in memory, use
/// [`file`](crate::file()).
#[derive(Debug)]
pub struct Pending {
    destination: PathBuf,
    expected: Expected,
    sink: Sink,
}

#[derive(Debug)]
enum Sink {
    Temporary(Temporary),
    /// The destination is a device or a pipe, which cannot be replaced.
    Direct(File),
}

impl Pending {
    /// Starts a file that will be `path`, creating missing parent directories.
    ///
    /// It gets the mode of the file that it replaces and, as far as the system allows it, its owner and extended attributes. A
    /// symbolic link is followed. A device or a pipe is opened for writing; a FIFO that no process reads is an error.
    ///
    /// # Errors
    ///
    /// [`Error`] if the directory cannot be created or written, or `path` is a directory.
    pub fn new(path: &Path) -> Result<Self, Error> {
        let fail = |error| Error::new("write", path, error);
        let (destination, replaced) = match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => return Err(fail(io::ErrorKind::IsADirectory.into())),
            Ok(metadata) if metadata.is_file() => (fs::canonicalize(path).map_err(fail)?, true),
            Ok(_) => {
                let file = sys::open_special(path).map_err(fail)?;
                return Ok(Self::with(path, Sink::Direct(file)));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => (path.to_owned(), false),
            Err(error) => return Err(fail(error)),
        };
        let directory = parent(&destination);
        fs::create_dir_all(directory).map_err(fail)?;
        let temporary = Temporary::file(directory).map_err(fail)?;
        if replaced {
            match sys::open_regular(&destination) {
                Ok(old) => sys::copy_attributes(&old, temporary.handle()).map_err(fail)?,
                // A file that this process may not read can still be replaced.
                Err(_) => sys::set_private(temporary.handle()).map_err(fail)?,
            }
        }
        Ok(Self::with(&destination, Sink::Temporary(temporary)))
    }

    fn with(destination: &Path, sink: Sink) -> Self {
        Self { destination: destination.to_owned(), expected: Expected::Anything, sink }
    }

    /// As [`Pending::new`], but replaces a symbolic link instead of following it.
    ///
    /// # Errors
    ///
    /// As [`Pending::new`], and [`Error`] if `path` is neither a file nor a link.
    pub fn replacing(path: &Path) -> Result<Self, Error> {
        let fail = |error| Error::new("write", path, error);
        match fs::symlink_metadata(path) {
            Ok(metadata) if metadata.is_symlink() => {
                let temporary = Temporary::file(parent(path)).map_err(fail)?;
                Ok(Self::with(path, Sink::Temporary(temporary)))
            }
            Ok(metadata) if !metadata.is_file() && !metadata.is_dir() => {
                Err(Error::invalid("write", path, "it is a device, a pipe or a socket; remove it first"))
            }
            _ => Self::new(path),
        }
    }

    /// Makes [`Pending::commit`] fail if the file is not what the caller `read`: the bytes of the file that this one replaces,
    /// or `None` if there was none.
    #[must_use]
    pub fn if_unchanged(mut self, read: impl Into<Expected>) -> Self {
        self.expected = read.into();
        self
    }

    /// Makes the file readable and writable by its owner only, before it has any bytes.
    ///
    /// # Errors
    ///
    /// [`Error`] with the destination's path if the system fails.
    pub fn private(self) -> Result<Self, Error> {
        if let Sink::Temporary(temporary) = &self.sink {
            sys::set_private(temporary.handle()).map_err(|error| self.error(error))?;
        }
        Ok(self)
    }

    /// Appends `bytes`.
    ///
    /// # Errors
    ///
    /// [`Error`] with the destination's path if the system fails, such as on a full disk.
    pub fn append(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.write_all(bytes).map_err(|error| self.error(error))
    }

    /// Returns an error about this file for an error of its [`Write`] implementation.
    #[must_use]
    pub fn error(&self, error: io::Error) -> Error {
        Error::new("write", &self.destination, error)
    }

    /// Flushes the bytes to the disk and renames the file to its destination, replacing what was there.
    ///
    /// # Errors
    ///
    /// [`Error::Changed`] if the destination is not what [`Pending::if_unchanged`] says; [`Error::Io`] if the disk is full or
    /// the rename fails. The destination is unchanged then.
    pub fn commit(self) -> Result<(), Error> {
        let Self { destination, expected, sink } = self;
        let Sink::Temporary(temporary) = sink else { return Ok(()) };
        let fail = |error| Error::new("write", &destination, error);
        temporary.handle().sync_all().map_err(fail)?;
        if expected == Expected::Anything {
            fs::rename(temporary.path(), &destination).map_err(fail)?;
            temporary.keep();
        } else {
            let old = State::observe(&destination)?;
            old.require(&destination, expected)?;
            if old == State::Absent {
                moves::put_new(temporary.path(), &destination)?;
            } else {
                let kept = temporary.path().with_extension("old");
                let replaced = moves::replace(temporary.path(), &destination, &kept, &old);
                remove(&kept);
                replaced?;
            }
            // What has the temporary name now is the old file.
            drop(temporary);
        }
        sys::sync_directory(parent(&destination));
        Ok(())
    }
}

impl Write for Pending {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.sink {
            Sink::Temporary(temporary) => temporary.handle().write(bytes),
            Sink::Direct(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns the directory that holds `path`.
pub(crate) fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(directory) if !directory.as_os_str().is_empty() => directory,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: &Path, read: Option<&str>, bytes: &[u8]) -> Result<(), Error> {
        let mut pending = Pending::new(path)?.if_unchanged(read);
        pending.append(bytes)?;
        pending.commit()
    }

    #[test]
    fn commit_fails_if_the_file_is_not_what_was_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = fs::canonicalize(dir.path()).unwrap().join("file");
        write(&path, None, b"1").unwrap();
        for read in [None, Some("2"), Some("11")] {
            let error = write(&path, read, b"lost").unwrap_err();
            assert!(matches!(&error, Error::Changed { path: changed } if *changed == path), "{error}");
            assert_eq!(fs::read(&path).unwrap(), b"1");
        }
        write(&path, Some("1"), b"2").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"2");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "a temporary file was left behind");
        fs::remove_file(&path).unwrap();
        assert!(matches!(write(&path, Some("2"), b"3"), Err(Error::Changed { .. })));
        assert!(!path.exists());
    }

    #[cfg(unix)]
    #[test]
    fn commit_fails_if_a_link_was_read_and_its_file_changed() {
        let dir = tempfile::tempdir().unwrap();
        let (target, link) = (dir.path().join("target"), dir.path().join("link"));
        fs::write(&target, "1").unwrap();
        std::os::unix::fs::symlink("target", &link).unwrap();
        let replace = |read: &str| {
            let mut pending = Pending::replacing(&link)?.if_unchanged(Some(read));
            pending.append(b"new")?;
            pending.commit()
        };
        assert!(matches!(replace("0"), Err(Error::Changed { .. })));
        replace("1").unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"1");
        assert!(fs::symlink_metadata(&link).unwrap().is_file());
    }
}
