//! `--base-commit`: what a branch changes in a catalog's repository, from git.
//!
//! The repository may be a stranger's: see [`git`].

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use crate::cli::git;
use crate::sys::path_from_bytes;
use kube_yaml::{Tree, Value};
use olm_model::pull_request::{BundleChange, ChangedBundle, PullRequest};

/// A repository, and the commits that are compared.
struct Git {
    repository: PathBuf,
    /// The common ancestor of the base and of `HEAD`.
    base: String,
}

/// Returns what `HEAD` changes since it left the branch `base`.
///
/// # Errors
/// git is not installed, the directory is not in a repository, the base is unknown, an object is not in the repository, or
/// git prints too much.
pub(crate) fn read(repository: &Path, base: &str) -> Result<PullRequest> {
    if base.starts_with('-') {
        bail!("invalid base `{base}`: expected a branch or a commit");
    }
    let name = repository.display();
    if !repository.is_dir() {
        bail!("--base-commit requires a directory in a git repository, found `{name}`");
    }
    let top = match output(repository, &["rev-parse", "--show-toplevel"])? {
        Ok(top) => top,
        Err(message) if message.contains("not a git repository") => bail!(
            "{name} is not in a git repository, which --base-commit requires: run the command in a clone of the catalog's repository"
        ),
        Err(message) => bail!("failed to read the git repository of {name}: {}", git::first_line(&message)),
    };
    let top = path_from_bytes(top.strip_suffix(b"\n").unwrap_or(&top));
    let commit = format!("{base}^{{commit}}");
    if output(&top, &["rev-parse", "--verify", "--quiet", &commit])?.is_err() {
        bail!("unknown base `{base}`: expected a branch or a commit; fetch it if it is not in this clone");
    }
    if output(&top, &["rev-parse", "--verify", "--quiet", "HEAD^{commit}"])?.is_err() {
        bail!("the git repository {} has no commit to compare with `{base}`", top.display());
    }
    let ancestor = match output(&top, &["merge-base", base, "HEAD"])? {
        Ok(ancestor) => String::from_utf8_lossy(&ancestor).trim_end().to_owned(),
        Err(message) if message.is_empty() => bail!(
            "`{base}` and HEAD have no common ancestor; in a shallow clone, run `git fetch --unshallow` first"
        ),
        Err(message) => bail!("failed to compare `{base}` with HEAD: {}", git::first_line(&message)),
    };
    let git = Git { repository: top, base: ancestor };
    let changed =
        git.names(&["diff-tree", "-r", "--name-only", "--no-renames", "-z", &git.base, "HEAD", "--"])?;
    let mut request = PullRequest::default();
    let mut bundles: BTreeSet<(String, String)> = BTreeSet::new();
    for file in &changed {
        let parts: Vec<&str> = file.split('/').collect();
        match parts[..] {
            ["operators", operator, below, ..] => {
                request.operators.insert(operator.to_owned());
                if parts.len() > 3 {
                    bundles.insert((operator.to_owned(), below.to_owned()));
                }
            }
            ["catalogs", catalog, operator, _, ..] => {
                request.catalogs.insert(format!("catalogs/{catalog}/{operator}"));
            }
            _ => request.foreign.push(file.clone()),
        }
    }
    for (operator, version) in bundles {
        let path = format!("operators/{operator}/{version}");
        let change = match (git.has_bundle(&git.base, &path)?, git.has_bundle("HEAD", &path)?) {
            (false, true) => BundleChange::Added,
            (true, true) => BundleChange::Modified,
            (true, false) => git.deleted(&operator, &path)?,
            // Another directory of the operator.
            (false, false) => continue,
        };
        request.bundles.push(ChangedBundle { operator, version, change });
    }
    Ok(request)
}

impl Git {
    /// Runs git on objects, all of which are in the repository unless it is a partial clone.
    fn read(&self, args: &[&str]) -> Result<Vec<u8>> {
        run(&self.repository, args)
            .context("failed to read the repository; in a partial clone, fetch all objects first")
    }

    /// Runs git and returns the names that it prints with `-z`.
    fn names(&self, args: &[&str]) -> Result<Vec<String>> {
        let list = self.read(args)?;
        let names = list.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        names
            .map(|name| match std::str::from_utf8(name) {
                Ok(name) => Ok(name.to_owned()),
                Err(_) => bail!("path `{}` is not valid UTF-8; rename the file", name.escape_ascii()),
            })
            .collect()
    }

    fn has_bundle(&self, commit: &str, path: &str) -> Result<bool> {
        let manifests = format!("{path}/manifests");
        Ok(!self.names(&["ls-tree", "-z", "--name-only", commit, "--", &manifests])?.is_empty())
    }

    /// Returns the documents of a file in a commit.
    fn documents(&self, commit: &str, path: &str) -> Result<Vec<Tree>> {
        let bytes = self.read(&["cat-file", "blob", &format!("{commit}:{path}")])?;
        Ok(kube_yaml::parse(&bytes).documents)
    }

    fn files(&self, commit: &str, below: &str) -> Result<Vec<String>> {
        self.names(&["ls-tree", "-r", "-z", "--name-only", commit, "--", below])
    }

    fn deleted(&self, operator: &str, path: &str) -> Result<BundleChange> {
        let mut enabled = None;
        for file in self.files(&self.base, &format!("operators/{operator}/ci.yaml"))? {
            let config = self.documents(&self.base, &file)?;
            enabled = config.first().and_then(|tree| tree.root().dig(&["fbc", "enabled"])?.as_bool());
        }
        let text = |value: Option<Value<'_>>| value.map(Value::text).unwrap_or_default().to_owned();
        let mut name = String::new();
        for file in self.files(&self.base, &format!("{path}/manifests/"))? {
            for tree in self.documents(&self.base, &file)? {
                if text(tree.root().get("kind")) == "ClusterServiceVersion" {
                    name = text(tree.root().dig(&["metadata", "name"]));
                }
            }
        }
        let mut used_by = Vec::new();
        let marker = format!("/{operator}/");
        for file in self.files("HEAD", "catalogs/")?.into_iter().filter(|file| file.contains(&marker)) {
            let is_used = self.documents("HEAD", &file)?.iter().any(|tree| {
                text(tree.root().get("schema")) == "olm.bundle" && text(tree.root().get("name")) == name
            });
            if is_used {
                used_by.push(file);
            }
        }
        Ok(BundleChange::Deleted { uses_catalog: enabled == Some(true), used_by })
    }
}

/// Runs git and returns what it prints.
fn run(repository: &Path, args: &[&str]) -> Result<Vec<u8>> {
    match output(repository, args)? {
        Ok(bytes) => Ok(bytes),
        Err(message) => {
            bail!("git {} failed: {}", args.first().unwrap_or(&""), git::first_line(&message))
        }
    }
}

/// Runs git and returns what it prints, or its message if it fails.
fn output(repository: &Path, args: &[&str]) -> Result<Result<Vec<u8>, String>> {
    git::output(repository, args).context("failed to run git, which --base-commit requires")
}
