//! `bundle-tool init`: writes a new project, or packages an operator that exists.

mod from;

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use clap::{Args, ValueEnum};

use crate::cli::exit::Exit;
use crate::cli::lock::lock;
use crate::cli::scaffold::{ProjectFiles, directory_name, report, runtime_in, write};
use crate::terminal::messages;
use olm_model::disk::file;
use olm_model::disk::walk;
use olm_model::disk::walk::{Entry, Kind, walk};
use olm_model::read;
use operator_scaffold::merge;
use operator_scaffold::merge::Existing;
use operator_scaffold::{Error, Files, License, Project, Runtime, plugins, project, record, vendor};

/// The oldest version of Rust that scaffolded projects build with.
const MIN_RUST: (u64, u64) = (1, 95);

#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  # Create a project in the current directory
  bundle-tool init --domain example.com \\
    --repo github.com/example/flight-operator

  # Create one in another directory, built with a checkout of operator-runtime
  bundle-tool init --project-dir flights --project-name flight-operator \\
    --domain example.com --runtime-path ../operator-runtime

  # Package an existing operator
  bundle-tool init --from ~/src/lake-operator
  make -C ~/src/lake-operator -f Makefile.bundle bundle")]
pub(crate) struct Init {
    /// Add packaging to the existing operator in this directory instead of scaffolding a new one; existing files are
    /// not changed
    #[arg(long, value_name = "DIR", conflicts_with_all = ["domain", "repo", "owner", "plugins", "runtime_path", "project_dir"])]
    from: Option<PathBuf>,
    /// Domain of the API groups
    #[arg(long, value_name = "DOMAIN", required_unless_present = "from")]
    domain: Option<String>,
    /// Address of the source code [default: DOMAIN/NAME]
    #[arg(long, value_name = "ADDRESS")]
    repo: Option<String>,
    /// Name of the project [default: the directory's name]
    #[arg(long, value_name = "NAME")]
    project_name: Option<String>,
    /// Version of the PROJECT file
    #[arg(long, value_name = "VERSION", default_value = project::FORMAT)]
    project_version: String,
    /// Copyright holder, for the license header
    #[arg(long, value_name = "NAME")]
    owner: Option<String>,
    /// License of the source code
    #[arg(long, value_name = "LICENSE", default_value = "apache2")]
    license: LicenseArg,
    /// Plugin keys, comma-separated
    #[arg(long, value_name = "KEY,…", value_delimiter = ',')]
    plugins: Vec<String>,
    /// Directory of the operator-runtime crate [default: a copy in the project's runtime directory]
    #[arg(long, value_name = "DIR")]
    runtime_path: Option<PathBuf>,
    /// Do not check that cargo is installed and new enough
    #[arg(long)]
    skip_cargo_version_check: bool,
    /// Directory of the project
    #[arg(long, value_name = "DIR", default_value = ".")]
    project_dir: PathBuf,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum LicenseArg {
    /// Apache License 2.0
    Apache2,
    /// No license
    None,
}

impl Init {
    pub(crate) fn run(self) -> Result<Exit> {
        if let Some(directory) = &self.from {
            return from::run(directory, self.project_name.as_deref());
        }
        let project = self.project()?;
        if !self.skip_cargo_version_check {
            check_cargo()?;
        }
        let files = operator_scaffold::render(&project)?;
        let copies = vendor::copies(&project)?;
        let mut written: BTreeMap<&str, &[u8]> =
            files.values().map(|file| (file.path.as_str(), file.text.as_bytes())).collect();
        written.extend(copies.iter().map(|(path, text)| (path.as_str(), text.as_bytes())));
        check_empty(&self.project_dir, &written)?;
        let mut lock = lock(&self.project_dir)?;
        // Another process may have been faster.
        check_empty(&self.project_dir, &written)?;
        let there = ProjectFiles::new(&self.project_dir);
        let mut plan = merge::plan(&Files::new(), &files, Existing::Reject, |path| there.read_text(path))?;
        let vendored = vendor::follow(&mut plan, &vendor::Digests::new(), &copies, |path| there.bytes(path))?;
        write(&mut lock, &there, &project, files, vendored, &plan)?;
        report(&plan, &self.project_dir)?;
        writeln!(messages(), "next: bundle-tool create api --group GROUP --version v1alpha1 --kind KIND")?;
        Ok(Exit::Success)
    }

    fn project(&self) -> Result<Project> {
        if self.project_version != project::FORMAT {
            bail!("unsupported --project-version `{}`: must be `{}`", self.project_version, project::FORMAT);
        }
        let name = match &self.project_name {
            Some(name) => name.clone(),
            None => directory_name(&self.project_dir)?,
        };
        let domain = self.domain.as_deref().unwrap_or_default();
        let repo = self.repo.clone().unwrap_or_else(|| format!("{domain}/{name}"));
        let runtime = match &self.runtime_path {
            Some(path) => runtime_in(path, &self.project_dir)?,
            None => Runtime::Vendored,
        };
        let mut project = Project::new(&name, domain, &repo, runtime);
        project.owner.clone_from(&self.owner);
        project.license = match self.license {
            LicenseArg::Apache2 => License::Apache2,
            LicenseArg::None => License::None,
        };
        for key in &self.plugins {
            match plugins::resolve(key)? {
                // The layout itself, and one that belongs to an API.
                plugins::RUST => {}
                plugins::DEPLOY_IMAGE => {
                    bail!("the plugin `{key}` belongs to an API: set it in `bundle-tool create api`")
                }
                other if project.plugins.contains(&other) => {}
                other => project.plugins.push(other),
            }
        }
        project.check().map_err(|error| match &error {
            Error::Name { what: "project name", .. } if self.project_name.is_none() => {
                anyhow::Error::new(error)
                    .context("the directory's name is not a valid project name; pass --project-name")
            }
            _ => error.into(),
        })?;
        Ok(project)
    }
}

/// Fails if a directory has anything but hidden files, or a file that would be overwritten. Files that are as they are `written`
/// are accepted, so that a project whose `PROJECT` was lost can be initialized again.
fn check_empty(directory: &Path, written: &BTreeMap<&str, &[u8]>) -> Result<()> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error).with_context(|| format!("failed to read {}", directory.display())),
    };
    if directory.join(project::FILE).exists() {
        bail!("{} already contains a project; add to it with `bundle-tool create`", directory.display());
    }
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.with_context(|| format!("failed to read {}", directory.display()))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if !name.starts_with('.') && !is_written(directory, &name, written) {
            names.push(name);
        }
    }
    names.sort();
    if let Some(first) = names.first() {
        bail!(
            "{} is not empty: it contains {}; choose an empty directory with --project-dir",
            directory.display(),
            match names.len() {
                1 => format!("`{first}`"),
                count => format!("`{first}` and {} more", count - 1),
            }
        );
    }
    for (path, bytes) in
        written.iter().map(|(path, bytes)| (*path, Some(*bytes))).chain([(record::FILE, None)])
    {
        let there = directory.join(path);
        if fs::symlink_metadata(&there).is_ok() && bytes.is_none_or(|bytes| !is_same(&there, bytes)) {
            bail!(Error::FileExists { path: there.display().to_string() });
        }
    }
    Ok(())
}

/// Returns whether an entry of a directory has nothing but files that are written, as they are written.
fn is_written(directory: &Path, name: &str, written: &BTreeMap<&str, &[u8]>) -> bool {
    let path = directory.join(name);
    if !written.keys().any(|path| path.split('/').next() == Some(name)) || path.is_symlink() {
        return false;
    }
    if let Some(bytes) = written.get(name) {
        return is_same(&path, bytes);
    }
    let options = walk::Options { max_entries: 2 * written.len(), ..walk::Options::default() };
    let Ok(entries) = walk(&path, options) else { return false };
    let is_written = |entry: &Entry| {
        let bytes = written.get(format!("{name}/{}", entry.name).as_str());
        matches!(entry.kind, Kind::Directory)
            || bytes.is_some_and(|bytes| is_same(&path.join(&entry.below), bytes))
    };
    entries.iter().all(is_written)
}

fn is_same(path: &Path, bytes: &[u8]) -> bool {
    file::read(path, read::MAX_FILE_SIZE).is_ok_and(|there| there == bytes)
}

/// Fails if cargo is not installed or too old.
fn check_cargo() -> Result<()> {
    let hint = "pass --skip-cargo-version-check to create the project without it";
    let output = match Command::new("cargo").arg("--version").output() {
        Ok(output) => output,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            bail!("cargo was not found: install Rust from https://rustup.rs, or {hint}")
        }
        Err(error) => return Err(error).context("failed to run cargo"),
    };
    let text = String::from_utf8_lossy(&output.stdout);
    let version = text.split_whitespace().nth(1).and_then(|word| semver::Version::parse(word).ok());
    let (major, minor) = MIN_RUST;
    match version {
        Some(version) if (version.major, version.minor) >= MIN_RUST => Ok(()),
        Some(version) => bail!(
            "cargo {version} is too old: Rust {major}.{minor} is required; run `rustup update`, or {hint}"
        ),
        None => bail!(
            "`cargo --version` failed: {}; repair the installation of Rust, or {hint}",
            String::from_utf8_lossy(&output.stderr).lines().next().unwrap_or("it printed no version")
        ),
    }
}
