//! How a command ends: its exit status, and its errors on standard error.

use std::io::Write;
use std::process::ExitCode;

use super::remedy::with_help;
use crate::model::text::{printable, shortened};

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// No finding is an error: status 0.
    Success,
    /// A finding is an error, or `--check` found a difference: status 1.
    Findings,
    /// Something could not be done, as printed to standard error: status 2.
    Failure,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        match exit {
            Exit::Success => Self::SUCCESS,
            Exit::Findings => Self::from(1),
            Exit::Failure => Self::from(2),
        }
    }
}

/// The maximum number of characters of an error that are printed.
const MAX_ERROR: usize = 4000;

/// Prints an error and its causes on one line of standard error. It may quote file names and values of foreign input, which
/// are shortened and cannot forge a line.
pub(super) fn print_error(error: &anyhow::Error) -> std::io::Result<()> {
    let text = with_help(error.as_ref());
    writeln!(std::io::stderr(), "error: {}", printable(&shortened(&text, MAX_ERROR)))
}

/// Returns whether an error is that nobody reads the output any more.
pub(super) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<std::io::Error>()
            .is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
    })
}
