//! The exit statuses of the other tools.

use std::process::ExitCode;

use crate::cli::exit::Exit;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Status(u8);

impl Status {
    pub(super) const SUCCESS: Self = Self(0);
    pub(super) const FAILURE: Self = Self(1);
}

impl From<Exit> for Status {
    fn from(exit: Exit) -> Self {
        if exit == Exit::Success { Self::SUCCESS } else { Self::FAILURE }
    }
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> Self {
        Self::from(status.0)
    }
}
