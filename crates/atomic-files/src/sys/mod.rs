//! Everything that differs between operating systems. The rest of the crate uses the standard library only.
//!
//! Another system needs one more file beside `unix.rs` and `windows.rs`, with the same functions:
//!
//! - `open_directory`: a handle on a directory, to lock and to compare.
//! - `lock`: an exclusive lock on what a handle is open on, held as long as the handle and the returned value exist.
//! - `create_file`, `create_private_directory`, `open_regular`, `open_special`: opening, never following a link and never
//!   waiting for a pipe.
//! - `is_same`: whether a path still names an open file.
//! - `exchange`, `rename_new`: the two renames that neither overwrite nor lose a file.
//! - `sync_file`, `sync_handle`, `sync_directory`, `sync_file_system`: making files and renames survive a power failure.
//! - `set_private`, `copy_attributes`, `inherit_group`, `make_removable`: owners, modes and extended attributes.
//! - `invalid_name`: names that the system resolves to other ones.
//! - `shown`: a path as messages name it.

#[cfg(unix)]
mod unix;
#[cfg(unix)]
pub(crate) use unix::*;

#[cfg(windows)]
mod windows;
#[cfg(windows)]
pub(crate) use windows::*;

#[cfg(not(any(unix, windows)))]
compile_error!("atomic-files supports Unix systems and Windows only");
