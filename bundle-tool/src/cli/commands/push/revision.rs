//! The git revision of the sources of an image.

use std::io;
use std::path::Path;

use crate::cli::git;
use kube_yaml::text::message;

/// A directory in a git repository.
#[derive(Debug)]
pub(crate) struct Revision {
    /// The path of the directory in the repository.
    pub(crate) path: String,
    /// The commit of `HEAD`.
    pub(crate) commit: String,
    /// The address of the remote `origin`, which may contain a password; empty without one.
    pub(crate) remote: String,
    /// How files in the directory differ from the commit.
    pub(crate) changes: Changes,
}

/// How files differ from a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Changes {
    /// They are those of the commit.
    None,
    /// There are files that the commit does not have.
    Untracked,
    /// Files of the commit were changed or deleted, or are not compared.
    Tracked,
}

/// Returns the revision of a directory, or the reason why none is known. With `whole`, files that git ignores or takes for
/// unchanged are changes, too.
pub(crate) fn revision(directory: &Path, whole: bool) -> Result<Revision, String> {
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => "git is not installed".to_owned(),
        _ => format!("failed to run git: {}", message(&error)),
    };
    let git = |args: &[&str]| git::output(directory, args).map_err(failed);
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).trim_end_matches('\n').to_owned();
    let prefix = git(&["rev-parse", "--show-prefix"])?;
    let path = text(prefix.map_err(|message| git::first_line(&message).to_owned())?);
    let commit = git(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"])?;
    let commit = text(commit.map_err(|_| "the repository has no commits".to_owned())?);
    // A repository may have no remote.
    let remote = git(&["config", "--get", "remote.origin.url"])?.map(text).unwrap_or_default();
    let ignored = if whole { "--ignored=matching" } else { "--ignored=no" };
    let status = git::status(directory, &["--untracked-files=normal", ignored, "--", "."]).map_err(failed)?;
    // Without an answer, the files may be any.
    let status = status.map_err(|message| format!("git status failed: {}", git::first_line(&message)))?;
    let mut entries = status.split(|byte| *byte == 0).filter(|entry| !entry.is_empty());
    // The second path of a file that was renamed comes after an entry of a tracked file.
    let is_tracked = |entry: &[u8]| !entry.starts_with(b"?? ") && !entry.starts_with(b"!! ");
    // A tag in lower case or `S` says that git does not look whether a file has changed.
    let tags = if whole { git(&["ls-files", "-v", "-z", "--", "."])?? } else { Vec::new() };
    let is_assumed = |entry: &[u8]| matches!(entry.first(), Some(b'a'..=b'z' | b'S'));
    let changes = if entries.clone().any(is_tracked) || tags.split(|byte| *byte == 0).any(is_assumed) {
        Changes::Tracked
    } else if entries.next().is_some() {
        Changes::Untracked
    } else {
        Changes::None
    };
    Ok(Revision { path, commit, remote, changes })
}
