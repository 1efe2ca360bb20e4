//! A file that has bytes but not yet its name.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::Error;

/// A file under construction: written beside its destination, visible under its name only after [`Pending::commit`].
///
/// Dropping it removes the temporary file. For output that is too large to hold in memory; whoever has the bytes uses
/// [`file`](super::file()).
#[derive(Debug)]
pub struct Pending {
    destination: PathBuf,
    sink: Sink,
}

#[derive(Debug)]
enum Sink {
    Temporary(NamedTempFile),
    /// The destination is a device or a pipe, which cannot be replaced.
    Direct(fs::File),
}

impl Pending {
    /// Starts a file that will be `path`, creating missing parent folders.
    ///
    /// # Errors
    ///
    /// [`Error`] where the folder cannot be made or written, or `path` is a folder.
    pub fn new(path: &Path) -> Result<Self, Error> {
        let fail = |error| Error::new("write", path, error);
        let (destination, mode) = match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => return Err(fail(io::ErrorKind::IsADirectory.into())),
            Ok(metadata) if metadata.is_file() => {
                (fs::canonicalize(path).map_err(fail)?, Some(metadata.permissions().mode() & 0o7777))
            }
            Ok(_) => {
                let file = fs::OpenOptions::new().write(true).open(path).map_err(fail)?;
                return Ok(Self { destination: path.to_owned(), sink: Sink::Direct(file) });
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => (path.to_owned(), None),
            Err(error) => return Err(fail(error)),
        };
        let folder = parent(&destination);
        fs::create_dir_all(folder).map_err(fail)?;
        let temporary = tempfile::Builder::new()
            .prefix(".bundle-tool-")
            .permissions(fs::Permissions::from_mode(0o666))
            .tempfile_in(folder)
            .map_err(|error| fail(without_temporary_name(error)))?;
        if let Some(mode) = mode {
            temporary.as_file().set_permissions(fs::Permissions::from_mode(mode)).map_err(fail)?;
        }
        Ok(Self { destination, sink: Sink::Temporary(temporary) })
    }

    /// Appends `bytes`, with the destination's path in the error.
    ///
    /// # Errors
    ///
    /// [`Error`] where the system refuses, such as on a full disk.
    pub fn append(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.write_all(bytes).map_err(|error| self.error(error))
    }

    /// An error about this file, for what its [`Write`] implementation answered.
    #[must_use]
    pub fn error(&self, error: io::Error) -> Error {
        Error::new("write", &self.destination, without_temporary_name(error))
    }

    /// Flushes the bytes to the disk and gives the file its name, replacing what had it.
    ///
    /// # Errors
    ///
    /// [`Error`] where the disk is full or the rename is refused; the destination is then as it was.
    pub fn commit(self) -> Result<(), Error> {
        let Self { destination, sink } = self;
        let fail = |error| Error::new("write", &destination, error);
        match sink {
            Sink::Direct(_) => Ok(()),
            Sink::Temporary(temporary) => {
                temporary.as_file().sync_all().map_err(fail)?;
                temporary.persist(&destination).map_err(|error| fail(error.error))?;
                sync_folder(parent(&destination));
                Ok(())
            }
        }
    }
}

impl Write for Pending {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.sink {
            Sink::Temporary(temporary) => temporary.as_file_mut().write(bytes),
            Sink::Direct(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The folder that holds `path`.
pub(super) fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Makes renames in `folder` survive a power cut, where the file system can; the files are complete either way.
pub(super) fn sync_folder(folder: &Path) {
    if let Ok(folder) = fs::File::open(folder) {
        let _ = folder.sync_all();
    }
}

/// `tempfile` adds the temporary file's path to its errors, which tells the user nothing.
fn without_temporary_name(error: io::Error) -> io::Error {
    if error.raw_os_error().is_none() { error.kind().into() } else { error }
}
