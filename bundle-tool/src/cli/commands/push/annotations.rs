//! `--annotate` and `--annotation`: annotations of the manifest, with the names of the OCI image specification.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use clap::Args;

use super::pair;
use super::revision::{Changes, Revision, revision};
use crate::cli::commands::generate;
use crate::provenance::source_url;
use crate::terminal::{WARNING, stderr};
use kube_yaml::text::printable;
use olm_generate::Project;

/// Where the source code is.
const SOURCE: &str = "org.opencontainers.image.source";
/// The commit of the source code.
const REVISION: &str = "org.opencontainers.image.revision";
/// The licenses, as an SPDX expression.
const LICENSES: &str = "org.opencontainers.image.licenses";
/// The version of what the image contains.
const VERSION: &str = "org.opencontainers.image.version";

const CARGO_TOML: &str = "Cargo.toml";

// Annotations of the manifest.
//
// None is derived without a request: an image would have another digest in each commit, and outside of a clone.
#[derive(Debug, Args)]
pub(crate) struct AnnotationArguments {
    /// Annotate the image with its source, revision, licenses and version, from git and Cargo.toml
    #[arg(long)]
    annotate: bool,
    /// Cargo.toml that --annotate reads [default: the nearest one in or above the directory of the sources]
    #[arg(long, value_name = "FILE", requires = "annotate")]
    manifest_path: Option<PathBuf>,
    /// Annotation of the manifest (repeatable); replaces one that is derived, or removes it if VALUE is empty
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse)]
    annotation: Vec<(String, String)>,
}

/// What an image is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Subject {
    /// Files, such as an operator, of the crate's version.
    Files,
    /// A bundle with a version of its own.
    Bundle(Option<String>),
    /// A catalog, which has no version.
    Catalog,
}

impl AnnotationArguments {
    /// Returns whether the user asks for an annotation.
    pub(crate) fn is_used(&self) -> bool {
        self.annotate || self.annotation.iter().any(|(_, value)| !value.is_empty())
    }

    /// Returns the annotations of an image of `subject`, whose sources are in `directory`; `base` are those about its base.
    ///
    /// # Errors
    ///
    /// Cargo.toml cannot be read or parsed.
    pub(crate) fn all(
        &self,
        directory: &Path,
        subject: &Subject,
        base: BTreeMap<String, String>,
    ) -> Result<BTreeMap<String, String>> {
        let mut all = base;
        if self.annotate {
            all.extend(self.derived(directory, subject)?);
        }
        for (name, value) in &self.annotation {
            if value.is_empty() {
                all.remove(name);
            } else {
                all.insert(name.clone(), value.clone());
            }
        }
        Ok(all)
    }

    fn derived(&self, directory: &Path, subject: &Subject) -> Result<BTreeMap<String, String>> {
        let revision = revision(directory, *subject != Subject::Files);
        let project = self.project(directory, revision.as_ref().ok())?.unwrap_or_default();
        let url = |address: &str| source_url(address);
        let origin = revision.as_ref().ok().and_then(|revision| url(&revision.remote));
        let version = match subject {
            Subject::Files => project.version,
            Subject::Bundle(version) => version.clone(),
            Subject::Catalog => None,
        };
        let found = [
            // Clones of one commit may have different remotes, but they have the same Cargo.toml.
            (SOURCE, project.repository.as_deref().and_then(url).or(origin)),
            (REVISION, self.revision(directory, subject, revision)?),
            (LICENSES, project.license),
            (VERSION, version),
        ];
        let known = |(name, value): (&str, Option<String>)| {
            Some((name.to_owned(), value.filter(|value| !value.is_empty())?))
        };
        Ok(found.into_iter().filter_map(known).collect())
    }

    /// Returns the commit of the sources, or warns that it is unknown.
    fn revision(
        &self,
        directory: &Path,
        subject: &Subject,
        revision: Result<Revision, String>,
    ) -> Result<Option<String>> {
        let reason = match revision {
            // Programs are built files, which git does not track, and `--to` may write beside them.
            Ok(Revision { commit, changes, .. })
                if changes == Changes::None
                    || (changes == Changes::Untracked && *subject == Subject::Files) =>
            {
                return Ok(Some(commit));
            }
            Ok(Revision { commit, .. }) => format!("{} differs from commit {commit}", directory.display()),
            Err(reason) => reason,
        };
        if !self.annotation.iter().any(|(name, _)| name == REVISION) {
            writeln!(stderr(), "{WARNING} the annotation {REVISION} is not set: {}", printable(&reason))?;
        }
        Ok(None)
    }

    /// Reads Cargo.toml. In a repository, none above it is used.
    fn project(&self, directory: &Path, revision: Option<&Revision>) -> Result<Option<Project>> {
        if let Some(path) = &self.manifest_path {
            let Some(project) = generate::project(path)? else { bail!("{} does not exist", path.display()) };
            return Ok(Some(project));
        }
        let whole =
            directory.canonicalize().with_context(|| format!("failed to read {}", directory.display()))?;
        let depth =
            revision.map_or(usize::MAX, |revision| Path::new(&revision.path).components().count() + 1);
        let mut nearest = whole.ancestors().take(depth).map(|directory| directory.join(CARGO_TOML));
        let Some(path) = nearest.find(|path| path.is_file()) else { return Ok(None) };
        match generate::project(&path) {
            // Which package of a workspace is meant is unknown.
            Err(error) if generate::is_virtual(&error) => Ok(None),
            project => project,
        }
    }
}

/// Parses `NAME=VALUE`. The specification allows every string as a name; spaces and control characters are typing errors.
fn parse(text: &str) -> Result<(String, String), String> {
    let (name, value) = pair::parse(text)?;
    if name.chars().any(|char| char.is_whitespace() || char.is_control()) {
        return Err("the name must not contain whitespace or control characters".into());
    }
    Ok((name, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_no_whitespace() {
        let parsed = |text: &str| parse(text).ok();
        assert_eq!(parsed("a=b=c"), Some(("a".to_owned(), "b=c".to_owned())));
        assert_eq!(parsed("a="), Some(("a".to_owned(), String::new())));
        for wrong in ["", "a", "=b", " a=b", "a b=c", "a\n=b", "a\u{7f}=b"] {
            assert_eq!(parsed(wrong), None, "{wrong:?}");
        }
    }
}
