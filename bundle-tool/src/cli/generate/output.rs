//! What came out: written, compared with what is there, printed, explained.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use similar::TextDiff;

use crate::generate::{Fate, Generated, Ledger, Severity};

/// The Dockerfile's name, in the current folder.
pub(super) const DOCKERFILE: &str = "bundle.Dockerfile";

/// How long to wait for another process that writes to the same directory.
const LOCK_WAIT: std::time::Duration = std::time::Duration::from_mins(1);

/// Files to be written: a folder's, and some beside it.
#[derive(Debug, Default)]
pub(super) struct Output {
    pub(super) folder: PathBuf,
    /// Path below the folder to bytes.
    pub(super) files: BTreeMap<String, Vec<u8>>,
    /// Paths below the folder that are to go.
    pub(super) removed: Vec<String>,
    /// Path from the current folder to bytes.
    pub(super) beside: BTreeMap<PathBuf, Vec<u8>>,
}

impl Output {
    /// Writes everything that differs and says on standard error how much that is.
    pub(super) fn write(&self, name: &str, quiet: bool) -> Result<()> {
        let mut tree = atomic_files::Tree::new();
        for (path, bytes) in &self.files {
            tree.file(path.as_str(), bytes.as_slice());
        }
        for path in &self.removed {
            tree.remove(path.as_str());
        }
        let mut lock = atomic_files::DirectoryLock::acquire(&self.folder, LOCK_WAIT, |path| {
            // A message that cannot be printed stops nothing.
            let _ =
                writeln!(io::stderr(), "waiting for another process that is writing to {}", path.display());
        })?;
        let changes = lock.write(&tree)?;
        for (path, bytes) in &self.beside {
            atomic_files::file(path, bytes)?;
        }
        if !quiet {
            let mut counts = vec![
                format!("{} new", changes.created.len()),
                format!("{} changed", changes.replaced.len()),
                format!("{} as before", changes.unchanged.len()),
            ];
            if !changes.removed.is_empty() {
                counts.push(format!("{} removed", changes.removed.len()));
            }
            writeln!(io::stderr(), "{name} in {}: {}", self.folder.display(), counts.join(", "))?;
        }
        Ok(())
    }

    /// Prints how the disk differs from what would be written; says whether it does.
    pub(super) fn check(&self, out: &mut dyn Write) -> Result<bool> {
        let mut differs = false;
        let inside = self.files.iter().map(|(path, bytes)| (self.folder.join(path), Some(bytes)));
        let removed = self.removed.iter().map(|path| (self.folder.join(path), None));
        let beside = self.beside.iter().map(|(path, bytes)| (path.clone(), Some(bytes)));
        for (path, wanted) in inside.chain(removed).chain(beside) {
            let there = match fs::read(&path) {
                Ok(bytes) => Some(bytes),
                Err(error) if error.kind() == io::ErrorKind::NotFound => None,
                Err(error) => {
                    return Err(error).with_context(|| format!("failed to read {}", path.display()));
                }
            };
            if there.as_ref() == wanted {
                continue;
            }
            differs = true;
            let text = |bytes: Option<&Vec<u8>>| {
                bytes.map(|bytes| String::from_utf8_lossy(bytes).into_owned()).unwrap_or_default()
            };
            let name = |exists: bool, prefix: &str| {
                if exists { format!("{prefix}/{}", path.display()) } else { "/dev/null".to_owned() }
            };
            let (old, new) = (text(there.as_ref()), text(wanted));
            let diff = TextDiff::from_lines(&old, &new);
            let mut unified = diff.unified_diff();
            unified.context_radius(3).header(&name(there.is_some(), "a"), &name(wanted.is_some(), "b"));
            write!(out, "{unified}")?;
        }
        out.flush()?;
        Ok(differs)
    }
}

/// Prints the notes on standard error: warnings and, where `all`, what is good to know.
pub(super) fn notes(ledger: &Ledger, all: bool) -> Result<()> {
    let mut err = io::BufWriter::new(io::stderr().lock());
    for note in &ledger.notes {
        let kind = match note.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Info if all => "info",
            Severity::Info => continue,
        };
        match &note.place {
            Some(place) => writeln!(err, "{kind}: {place}: {}", note.message)?,
            None => writeln!(err, "{kind}: {}", note.message)?,
        }
    }
    err.flush()?;
    Ok(())
}

/// The CSV, then all other manifests, each as a document of its own.
pub(super) fn print(generated: &Generated) -> Result<()> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    let rest =
        generated.files.iter().filter(|(path, _)| **path != generated.csv && path.starts_with("manifests/"));
    let csv = generated.files.get(&generated.csv);
    for bytes in csv.into_iter().chain(rest.map(|(_, bytes)| bytes)) {
        out.write_all(b"---\n")?;
        out.write_all(bytes)?;
    }
    out.flush()?;
    Ok(())
}

/// A table of all objects of the input: where each stands, what it is and what became of it.
pub(super) fn explain(ledger: &Ledger, out: &mut dyn Write) -> io::Result<()> {
    let rows: Vec<[String; 3]> = ledger
        .sources
        .iter()
        .map(|source| {
            let fates: Vec<String> = source.fates.iter().map(Fate::to_string).collect();
            [
                format!("{}:{}", source.place.file, source.place.position.line),
                source.title(),
                fates.join(", "),
            ]
        })
        .collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default();
    let (first, second) = (width(0), width(1));
    for [place, object, fate] in &rows {
        writeln!(out, "{place:first$}  {object:second$}  {fate}")?;
    }
    Ok(())
}

/// The files of the bundle that is in `folder` now.
pub(super) fn previous(folder: &Path) -> Result<BTreeMap<String, Vec<u8>>> {
    let mut files = BTreeMap::new();
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(files),
        Err(error) => return Err(error).with_context(|| format!("failed to read {}", folder.display())),
    };
    let mut names: Vec<String> = entries
        .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
        .collect::<io::Result<_>>()
        .with_context(|| format!("failed to read {}", folder.display()))?;
    names.sort();
    let is_bundle = names.iter().any(|name| matches!(name.as_str(), "manifests" | "metadata" | "tests"));
    if let Some(other) = names.iter().find(|name| *name != DOCKERFILE)
        && !is_bundle
    {
        bail!(
            "{} is no bundle: it holds {other} but neither manifests/ nor metadata/; give another folder, or an \
             empty one, with --output-dir",
            folder.display()
        );
    }
    for part in ["manifests", "metadata", "tests/scorecard"] {
        let Ok(entries) = fs::read_dir(folder.join(part)) else { continue };
        for entry in entries {
            let path =
                entry.with_context(|| format!("failed to read {}", folder.join(part).display()))?.path();
            if path.is_file()
                && let Some(name) = path.file_name().and_then(|name| name.to_str())
            {
                let bytes = fs::read(&path).with_context(|| format!("failed to read {}", path.display()))?;
                files.insert(format!("{part}/{name}"), bytes);
            }
        }
    }
    Ok(files)
}
