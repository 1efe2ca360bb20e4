//! Runs git on repositories that may be a stranger's: git starts no program that their configuration names for it, and
//! fetches nothing.

use std::io::{self, Read as _};
use std::path::Path;
use std::process::{Command, Stdio};

/// The maximum number of bytes that are read from one git command: a file, or a list of files.
const MAX_OUTPUT: u64 = 64 << 20;

/// Options that keep the configuration of a repository from running programs. A directory of the repository that looks
/// like a bare repository is not taken for one.
const SAFE_OPTIONS: [&str; 5] =
    ["--no-pager", "-c", "core.fsmonitor=false", "-c", "safe.bareRepository=explicit"];

/// Runs git in a directory and returns what it prints, or its message if it fails.
///
/// # Errors
///
/// git cannot be run, or prints more than [`MAX_OUTPUT`] bytes.
pub(super) fn output(directory: &Path, args: &[&str]) -> io::Result<Result<Vec<u8>, String>> {
    let mut child = Command::new("git")
        .arg("-C")
        .arg(directory)
        .args(SAFE_OPTIONS)
        .args(args)
        // A partial clone names the program that fetches what it lacks. Versions before 2.45 know the second variable only.
        .env("GIT_NO_LAZY_FETCH", "1")
        .env("GIT_ALLOW_PROTOCOL", "")
        .env("GIT_OPTIONAL_LOCKS", "0")
        // Its messages are recognized.
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut bytes = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        stdout.take(MAX_OUTPUT + 1).read_to_end(&mut bytes)?;
    }
    let ended = child.wait_with_output()?;
    if bytes.len() as u64 > MAX_OUTPUT {
        let command = args.join(" ");
        let reason = format!("the output of git {command} exceeds the limit of {MAX_OUTPUT} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, reason));
    }
    if ended.status.success() {
        return Ok(Ok(bytes));
    }
    Ok(Err(String::from_utf8_lossy(&ended.stderr).trim().to_owned()))
}

/// Returns the first line of git's message, without its prefix.
pub(super) fn first_line(message: &str) -> &str {
    let line = message.lines().next().unwrap_or_default();
    line.strip_prefix("fatal: ").or_else(|| line.strip_prefix("error: ")).unwrap_or(line)
}
