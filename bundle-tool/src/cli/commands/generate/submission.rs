//! `bundle-tool generate submission`: a bundle into a clone of an `OperatorHub` repository.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use clap::{Args, ValueEnum};

use super::files;
use super::output::{self, Output};
use crate::cli::exit::Exit;
use crate::cli::lock::lock;
use crate::terminal::{WARNING, stderr};
use kube_yaml::edit;
use kube_yaml::text::printable;
use olm_generate::Publishing;
use olm_model::disk;

/// Prepare a bundle for submission to a catalog repository such as OperatorHub's
///
/// Writes the bundle to operators/PACKAGE/VERSION/ in DIR, and creates or updates ci.yaml beside it; with --catalogs
/// also release-config.yaml and, if there is none, the template that the pipeline renders. Existing values in ci.yaml
/// are kept unless --update-graph changes them; --reviewers and --catalogs are added to them.
///
/// Exit status: 0 if the submission was written, 1 if --check found a difference, 2 on an error.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  # Prepare a pull request in a clone of community-operators
  bundle-tool generate submission ../community-operators --reviewers ada,bob

  # Publish through the catalogs of two OpenShift versions
  bundle-tool generate submission ../community-operators-prod \\
    --catalogs v4.19,v4.20")]
pub(crate) struct Submission {
    /// Clone of community-operators, community-operators-prod or a similar repository
    #[arg(value_name = "DIR")]
    repository: PathBuf,
    /// Directory of the bundle
    #[arg(long, value_name = "DIR", default_value = "bundle")]
    bundle: PathBuf,
    /// GitHub users who may approve changes, separated by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    reviewers: Vec<String>,
    /// How the upgrade order of versions is determined [default: the value in ci.yaml, or replaces-mode]
    #[arg(long, value_enum, value_name = "MODE")]
    update_graph: Option<Graph>,
    /// File-based catalogs to publish to, separated by commas, such as v4.19,v4.20
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    catalogs: Vec<String>,
    /// Change a version that already exists
    #[arg(long)]
    overwrite: bool,
    /// Write nothing, print what would change, and exit with 1 if something would
    #[arg(long)]
    check: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Graph {
    /// By spec.replaces
    #[value(name = "replaces-mode", alias = "replaces")]
    Replaces,
    /// By version number
    #[value(name = "semver-mode", alias = "semver")]
    Semver,
}

/// Fails if a directory on the way to `path` in `clone` is a symbolic link: what is written would not be in the clone.
fn reject_links(clone: &Path, path: &str) -> Result<()> {
    let mut at = clone.to_owned();
    for name in Path::new(path) {
        at.push(name);
        if fs::symlink_metadata(&at).is_ok_and(|metadata| metadata.is_symlink()) {
            bail!("{} is a symbolic link; replace it with a directory or a file", at.display());
        }
    }
    Ok(())
}

impl Submission {
    pub(crate) fn run(self) -> Result<Exit> {
        if !self.repository.is_dir() {
            bail!("{} is not a directory; clone the repository first", self.repository.display());
        }
        if !self.repository.join("operators").is_dir() {
            bail!(
                "{} is not a clone of a catalog repository: it has no operators directory",
                self.repository.display()
            );
        }
        let by_version = self.update_graph == Some(Graph::Semver);
        let reviewers = list("reviewer", "a GitHub user name", &self.reviewers)?;
        let catalogs = list("catalog", "a name such as v4.20", &self.catalogs)?;
        let publishing = if catalogs.is_empty() {
            Publishing::Bundles { by_version, explicit: self.update_graph.is_some() }
        } else {
            Publishing::Catalogs { names: catalogs, by_version, explicit: self.update_graph.is_some() }
        };
        let bundle = disk::bundle::directory(&self.bundle)?;
        bundle.complete().with_context(|| format!("failed to read {}", self.bundle.display()))?;
        let plan = |ci: Option<&serde_json::Value>| {
            olm_generate::submission(&bundle, &reviewers, &publishing, ci)
                .with_context(|| format!("failed to prepare {} for submission", self.bundle.display()))
        };
        let directory = plan(None)?.directory;
        reject_links(&self.repository, &directory)?;
        let directory = self.repository.join(&directory);
        let locked = if self.check { None } else { Some(lock(&directory)?) };
        let ci_read = files::expected(&directory.join("ci.yaml"))?;
        let existing = files::document(&directory.join("ci.yaml"))?;
        let submission = plan(existing.as_ref().map(|(_, tree)| tree.root().to_json()).as_ref())?;

        for warning in &submission.warnings {
            writeln!(stderr(), "{WARNING} {warning}")?;
        }
        let mut output = Output { directory: directory.clone(), ..Output::default() };
        output.files = submission.files(output::previous(&self.bundle, false)?);
        let ci = match &existing {
            Some((text, _)) => edit::rewrite(text, &submission.ci)
                .with_context(|| format!("failed to update {}", directory.join("ci.yaml").display()))?,
            None => kube_yaml::emit(&submission.ci),
        };
        output.files.insert("ci.yaml".to_owned(), ci.into_bytes());
        if let Some(release) = &submission.release {
            let path = format!("{}/release-config.yaml", submission.version);
            output.files.insert(path, kube_yaml::emit(release).into_bytes());
        }
        for (path, template) in &submission.templates {
            if !directory.join(path).exists() {
                output.files.insert(path.clone(), kube_yaml::emit(template).into_bytes());
            }
        }
        for path in output.files.keys() {
            reject_links(&directory, path)?;
        }
        for path in output.files.keys().map(|path| directory.join(path)) {
            output.read.insert(path.clone(), files::expected(&path)?);
        }
        output.read.insert(directory.join("ci.yaml"), ci_read);
        let Some(locked) = locked else {
            let differs = output.check(&mut io::BufWriter::new(io::stdout().lock()))?;
            return Ok(if differs { Exit::Findings } else { Exit::Success });
        };
        let version = directory.join(&submission.version);
        if version.exists() && !self.overwrite && differs_within(&output, &submission.version)? {
            bail!(
                "{} already exists, and a published version must not change; increase the version, or pass --overwrite",
                version.display()
            );
        }
        let name = Path::new(&submission.directory).join(&submission.version);
        output.write(&name.display().to_string(), locked)?;
        Ok(Exit::Success)
    }
}

/// Returns the names of a list whose items may have blanks around them or be empty, each once.
fn list(what: &str, expected: &str, values: &[String]) -> Result<Vec<String>> {
    let mut names: Vec<String> = Vec::new();
    for name in values.iter().map(|value| value.trim()).filter(|name| !name.is_empty()) {
        let is_valid = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if !name.chars().all(is_valid) {
            bail!("invalid {what} `{}`: expected {expected}", printable(name));
        }
        if !names.iter().any(|other| other == name) {
            names.push(name.to_owned());
        }
    }
    if names.is_empty() && !values.is_empty() {
        bail!("the list has no {what}: expected {expected}");
    }
    Ok(names)
}

/// Returns whether the existing files of a version differ from those of the submission.
fn differs_within(output: &Output, version: &str) -> Result<bool> {
    let prefix = format!("{version}/");
    for (path, bytes) in output.files.iter().filter(|(path, _)| path.starts_with(&prefix)) {
        if files::bytes(&output.directory.join(path))?.as_ref() != Some(bytes) {
            return Ok(true);
        }
    }
    Ok(false)
}
