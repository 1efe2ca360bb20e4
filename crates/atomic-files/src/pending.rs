//! A file that has bytes but not yet its name.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use crate::error::Error;
use crate::temporary::Temporary;

/// A file under construction: written beside its destination, visible under its name only after [`Pending::commit`].
///
/// Dropping it removes the temporary file. For output that is too large to hold in memory; for bytes in memory, use
/// [`file`](crate::file()).
#[derive(Debug)]
pub struct Pending {
    destination: PathBuf,
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
    /// A symbolic link is followed. A device or a pipe is opened for writing; a FIFO that no process reads is an error.
    ///
    /// # Errors
    ///
    /// [`Error`] if the directory cannot be created or written, or `path` is a directory.
    pub fn new(path: &Path) -> Result<Self, Error> {
        let fail = |error| Error::new("write", path, error);
        let (destination, mode) = match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => return Err(fail(io::ErrorKind::IsADirectory.into())),
            Ok(metadata) if metadata.is_file() => {
                (fs::canonicalize(path).map_err(fail)?, Some(metadata.permissions().mode() & 0o7777))
            }
            Ok(_) => {
                let file = open_special(path).map_err(fail)?;
                return Ok(Self { destination: path.to_owned(), sink: Sink::Direct(file) });
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => (path.to_owned(), None),
            Err(error) => return Err(fail(error)),
        };
        let directory = parent(&destination);
        fs::create_dir_all(directory).map_err(fail)?;
        let temporary = Temporary::file(directory).map_err(fail)?;
        if let Some(mode) = mode {
            temporary.handle().set_permissions(fs::Permissions::from_mode(mode)).map_err(fail)?;
        }
        Ok(Self { destination, sink: Sink::Temporary(temporary) })
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
                Ok(Self { destination: path.to_owned(), sink: Sink::Temporary(temporary) })
            }
            Ok(metadata) if !metadata.is_file() && !metadata.is_dir() => {
                Err(Error::invalid("write", path, "it is a device, a pipe or a socket; remove it first"))
            }
            _ => Self::new(path),
        }
    }

    /// Makes the file readable and writable by its owner only, before it has any bytes.
    ///
    /// # Errors
    ///
    /// [`Error`] with the destination's path if the system fails.
    pub fn private(self) -> Result<Self, Error> {
        if let Sink::Temporary(temporary) = &self.sink {
            let permissions = fs::Permissions::from_mode(0o600);
            temporary.handle().set_permissions(permissions).map_err(|error| self.error(error))?;
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
    /// [`Error`] if the disk is full or the rename fails; the destination is then unchanged.
    pub fn commit(self) -> Result<(), Error> {
        let Self { destination, sink } = self;
        let fail = |error| Error::new("write", &destination, error);
        match sink {
            Sink::Direct(_) => Ok(()),
            Sink::Temporary(temporary) => {
                temporary.handle().sync_all().map_err(fail)?;
                temporary.persist(&destination).map_err(fail)?;
                sync_directory(parent(&destination));
                Ok(())
            }
        }
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

/// Opens a device or a pipe for writing. A FIFO without a reader is an error at once instead of a wait for one.
fn open_special(path: &Path) -> io::Result<File> {
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
    let file = OpenOptions::new().write(true).custom_flags(flags).open(path)?;
    let flags = rustix::fs::fcntl_getfl(&file)?;
    rustix::fs::fcntl_setfl(&file, flags - OFlags::NONBLOCK)?;
    Ok(file)
}

/// Returns the directory that holds `path`.
pub(crate) fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(directory) if !directory.as_os_str().is_empty() => directory,
        _ => Path::new("."),
    }
}

/// Makes renames in `directory` survive a power failure, on file systems that support it.
pub(crate) fn sync_directory(directory: &Path) {
    if let Ok(directory) = File::open(directory) {
        let _ = directory.sync_all();
    }
}
