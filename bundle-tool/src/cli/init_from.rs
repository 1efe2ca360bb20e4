//! `bundle-tool init --from`: packages an operator that exists.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use atomic_files::Tree;

use super::exit::Exit;
use super::generate::write_base;
use super::lock::lock;
use super::scaffold::directory_name;
use crate::read;
use crate::read::file::{self, Unreadable};
use crate::read::walk::{Kind, Options, WalkError, walk};
use crate::scaffold::adopt::{self, Found};
use crate::scaffold::{Error, project};

/// How deep, and how many entries of, an operator's directory are looked at.
const MAX_DEPTH: usize = 6;
const MAX_ENTRIES: usize = 100_000;
/// The maximum size of a file that names the operator.
const MAX_FILE_SIZE: u64 = 1 << 20;
/// Directories that are not looked into: what is there is not the operator's own.
const FOREIGN: &[&str] = &["build", "node_modules", "target", "testdata", "vendor"];
/// The directory of the base CSV.
const BASES: &str = "config/manifests/bases";

pub(super) fn run(directory: &Path, name: Option<&str>, quiet: bool) -> Result<Exit> {
    let found = look(directory)?;
    let name = match name.map(str::to_owned).or_else(|| found.name.clone()) {
        Some(name) => name,
        None => directory_name(directory)?,
    };
    let files = adopt::files(&found, &name).map_err(|error| match &error {
        Error::NoOperator { .. } => anyhow::Error::new(error).context(directory.display().to_string()),
        Error::Name { .. } => anyhow::Error::new(error).context("set --project-name"),
        _ => error.into(),
    })?;
    let mut tree: BTreeMap<String, Vec<u8>> =
        files.into_iter().map(|(path, text)| (path, text.into_bytes())).collect();
    if !found
        .files
        .iter()
        .any(|file| file.starts_with(BASES) && file.ends_with(".clusterserviceversion.yaml"))
    {
        let scratch = tempfile::tempdir().context("failed to create a temporary directory")?;
        let crds = directory.join(adopt::crds(&found, &found.source()?));
        write_base(directory, crds.is_dir().then_some(crds), &name, scratch.path())?;
        for entry in fs::read_dir(scratch.path().join("bases")).context("failed to read the base CSV")? {
            let entry = entry.context("failed to read the base CSV")?;
            let bytes = fs::read(entry.path()).context("failed to read the base CSV")?;
            tree.insert(format!("{BASES}/{}", entry.file_name().to_string_lossy()), bytes);
        }
    }
    let mut lock = lock(directory)?;
    let mut output = Tree::new();
    for (path, bytes) in &tree {
        if fs::symlink_metadata(directory.join(path)).is_ok() {
            bail!(Error::FileExists { path: directory.join(path).display().to_string() });
        }
        output.file(path.as_str(), bytes.as_slice());
    }
    lock.write(&output)?;
    if !quiet {
        let mut err = io::stderr().lock();
        for path in tree.keys() {
            writeln!(err, "{:>9} {}", "write", directory.join(path).display())?;
        }
        writeln!(err, "next: make -C {} -f {} bundle", directory.display(), adopt::MAKEFILE)?;
    }
    Ok(Exit::Success)
}

/// Lists what matters in the directory of an operator.
fn look(directory: &Path) -> Result<Found> {
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
    let entries = match walk(directory, options) {
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
            Kind::Unreadable(error @ Unreadable::Io(_)) if adopt::matters(name) || entry.path.is_dir() => {
                return Err(error).with_context(|| format!("failed to read {}", entry.path.display()));
            }
            _ => {}
        }
    }
    found.name = name(directory, &found)?;
    Ok(found)
}

/// Returns the name in `PROJECT`, in the chart or in `Cargo.toml`, the first of them that there is.
fn name(directory: &Path, found: &Found) -> Result<Option<String>> {
    let text = |path: &str| -> Result<Option<String>> {
        if !found.files.iter().any(|file| file == path) {
            return Ok(None);
        }
        let bytes = file::read(&directory.join(path), MAX_FILE_SIZE)
            .with_context(|| format!("failed to read {}", directory.join(path).display()))?;
        Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
    };
    let field = |text: &str, key: &str| {
        let parsed = read::yaml::parse(text.as_bytes());
        let root = parsed.documents.first()?.root().get(key)?;
        root.as_str().map(str::to_owned)
    };
    if let Some(name) = text(project::FILE)?.and_then(|text| field(&text, "projectName")) {
        return Ok(Some(name));
    }
    if let Some(chart) = found.chart() {
        let path = if chart == "." { "Chart.yaml".to_owned() } else { format!("{chart}/Chart.yaml") };
        if let Some(name) = text(&path)?.and_then(|text| field(&text, "name")) {
            return Ok(Some(name));
        }
    }
    let package = text("Cargo.toml")?.and_then(|text| toml::from_str::<toml::Value>(&text).ok());
    let name = package.as_ref().and_then(|toml| toml.get("package")?.get("name")?.as_str());
    Ok(name.map(str::to_owned))
}
