//! Windows, which has no limit of open files.

use std::process::Child;

/// Does nothing: there is no limit.
pub fn raise_limit() {}

/// Does nothing: there is no limit.
pub fn restore_limit(_child: &Child) {}
