//! Renames that overwrite and remove only what they are meant to.
//!
//! Each compares what is there right before the rename and, where the file system can exchange files, also right after it:
//! what somebody saved in between is put back. A file that another program keeps open and writes to in place can still
//! change after that; no rename can prevent it.

use std::fs;
use std::io;
use std::path::Path;

use crate::error::Error;
use crate::expected::{State, is_missing};
use crate::sys;

/// Renames `new` to `path`, which does not exist.
///
/// # Errors
///
/// [`Error::Changed`] if `path` exists.
pub(crate) fn put_new(new: &Path, path: &Path) -> Result<(), Error> {
    sys::rename_new(new, path).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => Error::changed(path),
        _ => Error::new("write", path, error),
    })
}

/// Puts `new` in place of `path`, a file or a link that is as `old` says. The old one is then found at `new` or, where the
/// file system cannot exchange files, at `kept`.
///
/// # Errors
///
/// [`Error::Changed`] if `path` is not as `old` says; nothing is changed then.
pub(crate) fn replace(new: &Path, path: &Path, kept: &Path, old: &State) -> Result<(), Error> {
    replace_with(sys::exchange, new, path, kept, old)
}

fn replace_with(
    exchange: impl Fn(&Path, &Path) -> io::Result<()>,
    new: &Path,
    path: &Path,
    kept: &Path,
    old: &State,
) -> Result<(), Error> {
    if !old.is_at(path) {
        return Err(Error::changed(path));
    }
    match exchange(new, path) {
        Ok(()) if old.is_at(new) => Ok(()),
        Ok(()) => {
            // Back again: what is at `new` is somebody's, and must not be lost.
            exchange(new, path).map_err(|error| Error::new("restore", path, error))?;
            Err(Error::changed(path))
        }
        Err(error) if is_missing(&error) => Err(Error::changed(path)),
        Err(error) if error.kind() == io::ErrorKind::Unsupported => {
            // Without hard links there is a moment without the file.
            let keep = fs::hard_link(path, kept).or_else(|_| fs::rename(path, kept));
            keep.and_then(|()| fs::rename(new, path)).map_err(|error| Error::new("write", path, error))
        }
        Err(error) => Err(Error::new("write", path, error)),
    }
}

/// Moves `path`, which is as `old` says, to `kept`.
///
/// # Errors
///
/// [`Error::Changed`] if `path` is not as `old` says; nothing is changed then.
pub(crate) fn take(path: &Path, kept: &Path, old: &State) -> Result<(), Error> {
    if !old.is_at(path) {
        return Err(Error::changed(path));
    }
    match fs::rename(path, kept) {
        Ok(()) if old.is_at(kept) => Ok(()),
        Ok(()) => {
            put_new(kept, path)?;
            Err(Error::changed(path))
        }
        Err(error) if is_missing(&error) => Err(Error::changed(path)),
        Err(error) => Err(Error::new("remove", path, error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expected::Fingerprint;

    #[test]
    fn replace_without_exchange_keeps_the_old_file() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::write(at("new"), "2").unwrap();
        fs::write(at("file"), "1").unwrap();
        let unsupported = |_: &Path, _: &Path| Err(io::ErrorKind::Unsupported.into());
        let old = State::observe(&at("file")).unwrap();
        replace_with(unsupported, &at("new"), &at("file"), &at("kept"), &old).unwrap();
        assert_eq!(fs::read(at("file")).unwrap(), b"2");
        assert_eq!(fs::read(at("kept")).unwrap(), b"1");
        assert!(!at("new").exists());
        fs::write(at("new"), "3").unwrap();
        let error = replace_with(unsupported, &at("new"), &at("file"), &at("kept"), &old).unwrap_err();
        assert!(matches!(error, Error::Changed { .. }), "{error}");
        assert_eq!(fs::read(at("file")).unwrap(), b"2");
    }

    // Where files can be exchanged.
    #[cfg(unix)]
    #[test]
    fn replace_puts_back_what_was_saved_between_comparison_and_rename() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::write(at("new"), "2").unwrap();
        fs::write(at("file"), "1").unwrap();
        let calls = std::cell::Cell::new(0);
        let late = |one: &Path, other: &Path| {
            if calls.replace(calls.get() + 1) == 0 {
                // An editor saves: by rename, as most do.
                fs::write(at("saved"), "edited")?;
                fs::rename(at("saved"), at("file"))?;
            }
            sys::exchange(one, other)
        };
        let old = State::observe(&at("file")).unwrap();
        let error = replace_with(late, &at("new"), &at("file"), &at("kept"), &old).unwrap_err();
        assert!(matches!(error, Error::Changed { path } if path == at("file")));
        assert_eq!(fs::read(at("file")).unwrap(), b"edited");
    }

    #[test]
    fn take_requires_the_file_to_be_unchanged() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::write(at("file"), "edited").unwrap();
        let old = State::File(Fingerprint::new(b"1"));
        assert!(matches!(take(&at("file"), &at("kept"), &old), Err(Error::Changed { .. })));
        assert!(matches!(take(&at("gone"), &at("kept"), &old), Err(Error::Changed { .. })));
        assert_eq!(fs::read(at("file")).unwrap(), b"edited");
        assert!(!at("kept").exists());
    }
}
