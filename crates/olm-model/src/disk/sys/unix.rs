//! Linux and other Unix systems.

use std::ffi::OsStr;
use std::fs::{File, FileType, Metadata};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Dir, Mode, OFlags, openat, statat};
use rustix::io::Errno;

use super::{EntryType, Listed};
use crate::read::Unreadable;

/// What identifies a directory.
pub(crate) type Id = (u64, u64);

/// How a file is opened only to look at it or to go on from it.
#[cfg(any(target_os = "linux", target_os = "android"))]
const LOOK: OFlags = OFlags::PATH;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const LOOK: OFlags = READ;

/// How a file is opened to read it: nothing blocks, and no terminal takes control.
const READ: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY);

/// An open directory.
#[derive(Debug)]
pub(crate) struct Root {
    handle: OwnedFd,
    /// The path without links, where links that lead around are resolved.
    real: PathBuf,
    /// Whether the kernel resolves paths beneath the directory.
    by_kernel: bool,
}

impl Root {
    /// Opens the directory at a path without links.
    pub(crate) fn open(real: PathBuf) -> io::Result<Self> {
        let handle = openat(CWD, &real, LOOK | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        Ok(Self { handle, real, by_kernel: true })
    }

    /// Opens the directory `name` as one of its own.
    pub(crate) fn below(&self, name: &Path) -> Result<Self, Unreadable> {
        let handle = self.openat(name, LOOK | OFlags::DIRECTORY)?;
        let real = std::fs::canonicalize(self.real.join(name))?;
        Ok(Self { handle, real, by_kernel: self.by_kernel })
    }

    /// Returns what `name` is, through links.
    pub(crate) fn metadata(&self, name: &Path) -> Result<Metadata, Unreadable> {
        Ok(File::from(self.openat(name, LOOK)?).metadata()?)
    }

    /// Opens `name`, through links, for reading.
    pub(crate) fn file(&self, name: &Path) -> Result<File, Unreadable> {
        Ok(File::from(self.openat(name, READ)?))
    }

    /// Lists the directory `name`, through links, up to `limit` entries and one; with what identifies the directory.
    pub(crate) fn list(&self, name: &Path, limit: usize) -> Result<(Id, Vec<Listed>), Unreadable> {
        use rustix::fs::FileType;
        use std::os::unix::fs::MetadataExt as _;
        let handle = self.openat(name, READ | OFlags::DIRECTORY)?;
        let mut directory = Dir::read_from(&handle).map_err(io::Error::from)?;
        let mut listed = Vec::new();
        while let Some(entry) = directory.read() {
            let entry = entry.map_err(io::Error::from)?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            let found = statat(&handle, name, AtFlags::SYMLINK_NOFOLLOW);
            let kind = found.map(|found| match FileType::from_raw_mode(found.st_mode) {
                FileType::RegularFile => EntryType::File(u64::try_from(found.st_size).unwrap_or_default()),
                FileType::Directory => EntryType::Directory,
                FileType::Symlink => EntryType::Link,
                FileType::Fifo => EntryType::Other("a FIFO"),
                FileType::Socket => EntryType::Other("a socket"),
                FileType::CharacterDevice | FileType::BlockDevice => EntryType::Other("a device"),
                FileType::Unknown => EntryType::Other("a special file"),
            });
            listed.push(Listed { name: name.to_owned(), kind: kind.map_err(io::Error::from) });
            if listed.len() > limit {
                break;
            }
        }
        let metadata = File::from(handle).metadata()?;
        Ok(((metadata.dev(), metadata.ino()), listed))
    }

    fn openat(&self, name: &Path, flags: OFlags) -> Result<OwnedFd, Unreadable> {
        let name = if name.as_os_str().is_empty() { Path::new(".") } else { name };
        let flags = flags | OFlags::CLOEXEC;
        #[cfg(any(target_os = "linux", target_os = "android"))]
        if self.by_kernel {
            use rustix::fs::{ResolveFlags, openat2};
            let beneath = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
            match openat2(&self.handle, name, flags, Mode::empty(), beneath) {
                Ok(found) => return Ok(found),
                // A link that is absolute or leads around, a kernel before 5.6, a sandbox that does not know the call, or a race.
                Err(Errno::XDEV | Errno::LOOP | Errno::NOSYS | Errno::PERM | Errno::INVAL | Errno::AGAIN) => {
                }
                Err(error) => return Err(io::Error::from(error).into()),
            }
        }
        self.resolve(name, flags)
    }

    /// Opens what `name` is after all links, one component after the other: none of them may be a link any more.
    fn resolve(&self, name: &Path, flags: OFlags) -> Result<OwnedFd, Unreadable> {
        let real = std::fs::canonicalize(self.real.join(name))?;
        let below = real.strip_prefix(&self.real).map_err(|_| Unreadable::LeavesDirectory)?;
        let mut parts: Vec<&OsStr> = below.iter().collect();
        let last = parts.pop().unwrap_or(OsStr::new("."));
        let mut parent = None;
        let next = |parent: Option<&OwnedFd>, part: &OsStr, flags| {
            let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            openat(parent.unwrap_or(&self.handle), part, flags, Mode::empty())
        };
        for part in parts {
            let opened = next(parent.as_ref(), part, LOOK | OFlags::DIRECTORY);
            parent = Some(opened.map_err(swapped)?);
        }
        next(parent.as_ref(), last, flags).map_err(swapped)
    }
}

/// Returns why a component cannot be opened: one that was a directory or a file before and is a link now leads elsewhere.
fn swapped(error: Errno) -> Unreadable {
    if error == Errno::LOOP { Unreadable::LeavesDirectory } else { io::Error::from(error).into() }
}

/// Opens a file for reading: nothing blocks, and no terminal takes control.
pub(crate) fn open_file(path: &Path) -> io::Result<File> {
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
    File::options().read(true).custom_flags(flags).open(path)
}

/// Returns what a file is that is none of a regular file, a directory and a link.
pub(crate) fn special_name(file_type: FileType) -> &'static str {
    if file_type.is_fifo() {
        "a FIFO"
    } else if file_type.is_socket() {
        "a socket"
    } else if file_type.is_char_device() || file_type.is_block_device() {
        "a device"
    } else {
        "a special file"
    }
}

#[cfg(test)]
impl Root {
    /// Resolves paths as on a system that cannot do it itself.
    pub(crate) fn without_kernel(&mut self) {
        self.by_kernel = false;
    }
}
