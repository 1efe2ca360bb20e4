//! Delivers images that the original tool builds with a container tool: loads them into the storage of the container tool, where the
//! next line of a script looks for them, or pushes them if the container tool is not installed.

use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

use super::registries::is_on_this_machine;
use super::{Status, log, native};

/// The container tools.
const TOOLS: [&str; 3] = ["docker", "podman", "buildah"];

/// An image that a native command builds.
pub(crate) struct BuiltImage<'t> {
    /// The image's name.
    pub(crate) tag: &'t str,
    /// The native command and its options.
    pub(crate) words: Vec<String>,
    /// The arguments of the native command.
    pub(crate) values: Vec<String>,
}

/// Loads the image of a native `push` command into the storage of a container tool, or pushes it if the tool is not installed.
pub(crate) fn deliver(image: &BuiltImage<'_>, tool: &str, is_insecure: bool) -> Result<Status> {
    check(tool)?;
    let mut words: Vec<&str> = image.words.iter().map(String::as_str).collect();
    let values = image.values.iter().map(String::as_str);
    if is_installed(tool) {
        let scratch = tempfile::tempdir().context("failed to create a temporary directory")?;
        let archive = scratch.path().join("image.tar").display().to_string();
        let to = format!("--to=docker-archive:{archive}");
        words.push(&to);
        return match native(words, values)? {
            Status::SUCCESS => load(tool, &archive),
            failed => Ok(failed),
        };
    }
    note(tool, image.tag);
    if is_insecure || is_on_this_machine(image.tag) {
        words.push("--insecure");
    }
    native(words, values)
}

fn check(tool: &str) -> Result<()> {
    if !TOOLS.contains(&tool) {
        bail!("{tool} is not supported image builder");
    }
    Ok(())
}

fn note(tool: &str, tag: &str) {
    log::info(&format!("{tool} is not installed, so the image is pushed to {tag}"));
}

fn is_installed(tool: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(tool).is_file())
}

/// Loads an archive into the storage of a tool.
fn load(tool: &str, archive: &str) -> Result<Status> {
    let source = format!("docker-archive:{archive}");
    let arguments = if tool == "buildah" { vec!["pull", &source] } else { vec!["load", "--input", archive] };
    let status = Command::new(tool).args(&arguments).stdin(Stdio::null()).status();
    let status = status.with_context(|| format!("failed to run {tool}"))?;
    if !status.success() {
        bail!("`{tool} {}` failed: {status}", arguments.join(" "));
    }
    Ok(Status::SUCCESS)
}
