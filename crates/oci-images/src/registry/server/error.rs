//! Why a registry cannot be served.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use crate::plain::io_error;

/// The registry could not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The address is reachable from other machines, which [`Options::listen_anywhere`](super::Options::listen_anywhere)
    /// must allow.
    #[error("{0} is reachable from other machines, which could read, write and delete images")]
    NotLoopback(SocketAddr),
    /// Passwords would be sent unencrypted to an address that other machines reach.
    #[error("passwords would be sent to {0} unencrypted")]
    NotEncrypted(SocketAddr),
    /// A file of certificates or users cannot be used.
    #[error("failed to read {}: {reason}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why it cannot be used, without quoting it.
        reason: String,
    },
    /// The address is not available.
    #[error("failed to listen on {address}: {}{}", io_error(.reason), listen_help(.reason))]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The system's reason.
        reason: io::Error,
    },
    /// The registry whose content is to be served cannot be used.
    #[error("cannot be a cache of `{registry}`: {reason}")]
    Upstream {
        /// The registry, as given.
        registry: String,
        /// Why it cannot be used.
        reason: String,
    },
    /// The directory cannot be used.
    #[error("failed to use the registry in {}", .directory.display())]
    Directory {
        /// The directory.
        directory: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The directory has other content, which is not touched.
    #[error("{} is neither empty nor a registry: choose a new directory", .directory.display())]
    NotARegistry {
        /// The directory.
        directory: PathBuf,
    },
    /// The directory must be a registry, and is none.
    #[error("{} does not contain a registry", .directory.display())]
    NoRegistry {
        /// The directory.
        directory: PathBuf,
    },
    /// Another server uses the directory.
    #[error("{} is in use by another server", .directory.display())]
    InUse {
        /// The directory.
        directory: PathBuf,
    },
}

/// Returns what the user can do about an address that is not available.
fn listen_help(reason: &io::Error) -> &'static str {
    match reason.kind() {
        io::ErrorKind::AddrInUse => "; choose another port, or port 0 for any free one",
        io::ErrorKind::PermissionDenied => "; choose a port above 1023",
        _ => "",
    }
}

/// Turns an I/O error about `directory` into an [`Error`].
pub(crate) fn directory_error(directory: &Path) -> impl Fn(io::Error) -> Error {
    let directory = directory.to_owned();
    move |source| Error::Directory { directory: directory.clone(), source }
}

#[cfg(test)]
mod tests {
    use super::super::gc::collect_garbage;
    use super::*;

    #[test]
    fn advice_follows_the_reason() {
        let error = |kind: io::ErrorKind| {
            let address = SocketAddr::from(([127, 0, 0, 1], 5000));
            Error::Listen { address, reason: kind.into() }.to_string()
        };
        assert_eq!(
            error(io::ErrorKind::AddrInUse),
            "failed to listen on 127.0.0.1:5000: address in use; choose another port, or port 0 for any free one"
        );
        assert_eq!(
            error(io::ErrorKind::AddrNotAvailable),
            "failed to listen on 127.0.0.1:5000: address not available"
        );
    }

    #[test]
    fn directory_that_cannot_be_read_is_not_taken_for_one_without_a_registry() {
        let directory = tempfile::tempdir().unwrap();
        let missing = collect_garbage(directory.path(), false, true);
        assert!(matches!(missing, Err(Error::NoRegistry { .. })), "{missing:?}");
        let file = directory.path().join("file");
        std::fs::write(&file, "").unwrap();
        let unreadable = collect_garbage(&file, false, true);
        assert!(matches!(unreadable, Err(Error::Directory { .. })), "{unreadable:?}");
    }
}
