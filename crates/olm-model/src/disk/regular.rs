//! What a regular file is, and reading one that is open.

use std::fs::{File, FileType, Metadata};

use super::sys;
use crate::read::Unreadable;
use crate::read::unreadable::read_to_end;

/// Reads an open file to its end if it is at most `limit` bytes long.
pub(crate) fn whole((file, metadata): (File, Metadata), limit: u64) -> Result<Vec<u8>, Unreadable> {
    if metadata.len() > limit {
        return Err(Unreadable::TooLarge(limit));
    }
    // Files of the kernel have no size: what is read counts.
    read_to_end(file, limit, metadata.len())
}

/// Returns an open file that is a regular one.
pub(crate) fn checked(file: File) -> Result<(File, Metadata), Unreadable> {
    let metadata = file.metadata()?;
    check_type(metadata.file_type())?;
    Ok((file, metadata))
}

/// Checks that a file is a regular one.
pub(crate) fn check_type(file_type: FileType) -> Result<(), Unreadable> {
    if file_type.is_file() { Ok(()) } else { Err(Unreadable::NotRegular(type_name(file_type))) }
}

/// Returns what kind of file stands where a regular one is expected.
pub(crate) fn type_name(file_type: FileType) -> &'static str {
    if file_type.is_dir() {
        "a directory"
    } else if file_type.is_symlink() {
        "a symbolic link"
    } else {
        sys::special_name(file_type)
    }
}
