//! Everything that differs between operating systems. The rest of the crate uses the standard library only.
//!
//! Another system needs one more file beside `unix.rs`, with the same functions:
//!
//! - `open_directory`: a handle that can be locked and flushed. Windows cannot lock directories: its half would lock a
//!   file in the directory instead.
//! - `create_file`, `create_private_directory`, `open_regular`, `open_special`: opening, never following a link and never
//!   waiting for a pipe.
//! - `is_same`: whether a path still names an open file.
//! - `exchange`, `rename_new`: the two renames that neither overwrite nor lose a file.
//! - `sync_directory`, `sync_file_system`: making renames survive a power failure.
//! - `set_private`, `copy_attributes`, `inherit_group`, `make_removable`: owners, modes and extended attributes.

#[cfg(unix)]
mod unix;
#[cfg(unix)]
pub(crate) use unix::*;

#[cfg(not(unix))]
compile_error!("atomic-files supports Unix systems only");
