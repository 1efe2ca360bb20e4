//! How a command ends: its exit status, and its errors on standard error.

use std::io::Write;
use std::process::ExitCode;

use super::error_help::with_help;
use crate::terminal::{ERROR, stderr};
use kube_yaml::text::{printable, shortened};
use oci_images::secrets::without_users;

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
pub(crate) fn print_error(error: &anyhow::Error) -> std::io::Result<()> {
    let mut text = with_help(error.as_ref());
    if is_of_output(error) {
        text = format!("failed to write to standard output: {text}");
    }
    let text = without_users(&shortened(&text, MAX_ERROR));
    writeln!(stderr(), "{ERROR} {}", printable(&text))
}

/// Returns whether an error is about standard output, which alone is written without a context: there is no space for what is written.
fn is_of_output(error: &anyhow::Error) -> bool {
    use std::io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    let is_alone = error.chain().nth(1).is_none();
    let error = error.downcast_ref::<std::io::Error>().filter(|_| is_alone);
    error.is_some_and(|error| matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge))
}

/// Returns whether an error is that nobody reads the output any more.
pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<std::io::Error>()
            .is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
    })
}

#[cfg(test)]
mod tests {
    use std::io;

    use anyhow::Context as _;

    use super::*;

    #[test]
    fn output_without_space_is_named() {
        let full = || anyhow::Error::from(io::Error::from(io::ErrorKind::StorageFull));
        assert!(is_of_output(&full()));
        let other = anyhow::Error::from(io::Error::from(io::ErrorKind::NotFound));
        assert!(!is_of_output(&other));
        let named = Err::<(), _>(full()).context("failed to write a.yaml").unwrap_err();
        assert!(!is_of_output(&named), "{named:#}");
    }
}
