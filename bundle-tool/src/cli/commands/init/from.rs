//! `bundle-tool init --from`: packages an operator that exists.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use atomic_files::Tree;

use crate::cli::commands::generate::new_base;
use crate::cli::exit::Exit;
use crate::cli::lock::lock;
use crate::cli::scaffold::directory_name;
use crate::terminal::{NOTE, messages};
use kube_yaml::text::printable;
use olm_model::disk::walk::{Kind, Options};
use olm_model::disk::{Directory, WalkError};
use olm_model::read::Unreadable;
use operator_scaffold::Error;
use operator_scaffold::adopt;
use operator_scaffold::adopt::{Found, Metadata, Source};

/// How deep, and how many entries of, an operator's directory are looked at.
const MAX_DEPTH: usize = 6;
const MAX_ENTRIES: usize = 100_000;
/// The maximum size of a file that describes the operator: also the existing CSV is one.
const MAX_FILE_SIZE: u64 = olm_model::read::MAX_FILE_SIZE;
/// Directories that are not looked into: what is there is not the operator's own.
const FOREIGN: &[&str] = &["build", "node_modules", "target", "testdata", "vendor"];
/// The directory of the base CSV.
const BASES: &str = "config/manifests/bases";

pub(crate) fn run(directory: &Path, name: Option<&str>) -> Result<Exit> {
    let found = detect(directory)?;
    let stated = name.map(str::to_owned).or_else(|| found.metadata.name.clone());
    let is_guessed = stated.is_none();
    let name = stated.map_or_else(|| directory_name(directory), Ok)?;
    let files = adopt::files(&found, &name).map_err(|error| match &error {
        Error::NoOperator { .. }
        | Error::SeveralOperators { .. }
        | Error::SeveralCharts { .. }
        | Error::OtherKustomizations { .. }
        | Error::OtherBase { .. } => anyhow::Error::new(error).context(directory.display().to_string()),
        Error::Name { .. } => anyhow::Error::new(error).context("pass --project-name"),
        _ => error.into(),
    })?;
    let mut tree: BTreeMap<String, Vec<u8>> =
        files.into_iter().map(|(path, text)| (path, text.into_bytes())).collect();
    if !found
        .files
        .iter()
        .any(|file| file.starts_with(BASES) && file.ends_with(".clusterserviceversion.yaml"))
    {
        let crds = adopt::crds(&found, &found.source()?);
        for (name, bytes) in new_base(directory, &crds, &name)? {
            tree.insert(format!("{BASES}/{name}"), bytes);
        }
    }
    let mut lock = lock(directory)?;
    let mut output = Tree::new();
    for (path, bytes) in &tree {
        if fs::symlink_metadata(directory.join(path)).is_ok() {
            bail!(Error::FileExists { path: directory.join(path).display().to_string() });
        }
        output.file(path.as_str(), None::<&[u8]>, bytes.as_slice());
    }
    lock.write(&output)?;
    let mut err = messages();
    for path in tree.keys() {
        writeln!(err, "{:>9} {}", "write", directory.join(path).display())?;
    }
    if is_guessed {
        writeln!(
            err,
            "{NOTE} the package is {}, the name of the directory, because no file states one",
            printable(&name)
        )?;
    }
    for note in adopt::notes(&found, &name) {
        writeln!(err, "{NOTE} {}", printable(&note))?;
    }
    writeln!(err, "next: make -C {} -f {} bundle", directory.display(), adopt::MAKEFILE)?;
    Ok(Exit::Success)
}

/// Lists what matters in the directory of an operator.
fn detect(directory: &Path) -> Result<Found> {
    if !directory.is_dir() {
        bail!("{} is not a directory: set --from to the directory of the operator", directory.display());
    }
    let mut found = Found::default();
    let options = Options {
        max_depth: MAX_DEPTH,
        max_entries: MAX_ENTRIES,
        skip_hidden_directories: true,
        skipped_directories: FOREIGN,
        ..Options::default()
    };
    let opened = Directory::open(directory)?;
    let entries = match opened.walk(options) {
        Err(error @ WalkError::TooManyEntries { .. }) => {
            bail!("{error}: set --from to the directory of the operator")
        }
        entries => entries?,
    };
    for entry in entries {
        let name = entry.name.rsplit('/').next().unwrap_or_default();
        match entry.kind {
            Kind::File(_) if adopt::matters(name) && !entry.name.contains(char::REPLACEMENT_CHARACTER) => {
                found.files.push(entry.name);
            }
            // A link that leads nowhere is not the operator's.
            Kind::Unreadable(Unreadable::Io(error)) if error.kind() == io::ErrorKind::NotFound => {}
            Kind::Unreadable(error @ (Unreadable::Io(_) | Unreadable::LeavesDirectory))
                if adopt::matters(name) || opened.has_directory(&entry.below) =>
            {
                let path = directory.join(&entry.below);
                return Err(error).with_context(|| format!("failed to read {}", path.display()));
            }
            _ => {}
        }
    }
    // The chart of an operand says nothing about the operator.
    let source = found.source().ok();
    let chart = match &source {
        Some(Source::Chart(chart)) => Some(chart.as_str()),
        _ => None,
    };
    found.metadata = Metadata::read(&found.files, chart, |path| {
        let bytes = opened
            .read(path, MAX_FILE_SIZE)
            .with_context(|| format!("failed to read {}", directory.join(path).display()))?;
        anyhow::Ok(String::from_utf8_lossy(&bytes).into_owned())
    })?;
    Ok(found)
}
