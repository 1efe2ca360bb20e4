//! Windows, where a helper that hangs could not be killed with its children.

use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;

/// Always fails.
pub(super) fn run(
    _name: &str,
    _action: &str,
    _input: &str,
    _directory: Option<&Path>,
    _limit: Duration,
) -> Result<(ExitStatus, Vec<u8>), String> {
    Err("credential helpers are not supported on Windows; name a file with the credentials in REGISTRY_AUTH_FILE".into())
}
