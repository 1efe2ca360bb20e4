//! Opening beneath a directory, and everything else here that differs between operating systems.

use std::ffi::OsString;
use std::io;

#[cfg(not(unix))]
mod other;
#[cfg(unix)]
mod unix;

#[cfg(not(unix))]
pub(crate) use other::*;
#[cfg(unix)]
pub(crate) use unix::*;

/// An entry of a directory.
pub(crate) struct Listed {
    pub(crate) name: OsString,
    /// What the entry itself is.
    pub(crate) kind: io::Result<EntryType>,
}

/// What an entry of a directory is, without following it.
pub(crate) enum EntryType {
    /// A regular file of this size.
    File(u64),
    Directory,
    Link,
    /// Anything else.
    Other(&'static str),
}
