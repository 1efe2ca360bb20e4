//! What was generated: written, compared with the existing files, printed, explained.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use atomic_files::{DirectoryLock, Pending, Tree};
use similar::TextDiff;

use crate::generate::{Fate, Generated, Ledger, Severity};
use crate::model::text::printable;
use crate::read::file::{self, MAX_FILE_SIZE, Unreadable};
use crate::read::manifests::MAX_TOTAL_SIZE;

/// The name of the Dockerfile, in the current directory.
pub(super) const DOCKERFILE: &str = "bundle.Dockerfile";

/// Files to be written: those of a directory, and some beside it.
#[derive(Debug, Default)]
pub(super) struct Output {
    pub(super) directory: PathBuf,
    /// Path below the directory to bytes.
    pub(super) files: BTreeMap<String, Vec<u8>>,
    /// Paths below the directory that are removed.
    pub(super) removed: Vec<String>,
    /// Path from the current directory to bytes.
    pub(super) beside: BTreeMap<PathBuf, Vec<u8>>,
}

impl Output {
    /// Writes everything that differs and reports on standard error how much that is.
    ///
    /// The directory is replaced in one step. The files beside it are on the disk before, and renamed after.
    pub(super) fn write(&self, name: &str, quiet: bool, mut lock: DirectoryLock) -> Result<()> {
        let mut tree = Tree::new();
        for (path, bytes) in &self.files {
            tree.file(path.as_str(), bytes.as_slice());
        }
        for path in &self.removed {
            tree.remove(path.as_str());
        }
        let mut beside = Vec::new();
        for (path, bytes) in &self.beside {
            let is_link = fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink());
            if is_link || atomic_files::compare(path, bytes)? != atomic_files::Change::Unchanged {
                let mut pending = Pending::replacing(path)?;
                pending.append(bytes)?;
                beside.push(pending);
            }
        }
        let changes = lock.write(&tree)?;
        for pending in beside {
            pending.commit()?;
        }
        if !quiet {
            let mut counts = vec![
                format!("{} created", changes.created.len()),
                format!("{} changed", changes.replaced.len()),
                format!("{} unchanged", changes.unchanged.len()),
            ];
            if !changes.removed.is_empty() {
                counts.push(format!("{} removed", changes.removed.len()));
            }
            writeln!(io::stderr(), "{name} in {}: {}", self.directory.display(), counts.join(", "))?;
        }
        Ok(())
    }

    /// Prints how the existing files differ from what would be written. Returns whether they do.
    pub(super) fn check(&self, out: &mut dyn Write) -> Result<bool> {
        let mut differs = false;
        let inside = self.files.iter().map(|(path, bytes)| (self.directory.join(path), Some(bytes)));
        let removed = self.removed.iter().map(|path| (self.directory.join(path), None));
        let beside = self.beside.iter().map(|(path, bytes)| (path.clone(), Some(bytes)));
        for (path, wanted) in inside.chain(removed).chain(beside) {
            let there = super::files::bytes(&path)?;
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

/// Prints the notes on standard error: warnings and, if `all`, information.
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
            Some(place) => {
                writeln!(err, "{kind}: {}: {}", printable(&place.to_string()), printable(&note.message))?;
            }
            None => writeln!(err, "{kind}: {}", printable(&note.message))?,
        }
    }
    if ledger.more_warnings > 0 {
        writeln!(err, "warning: {} more warnings are not shown", ledger.more_warnings)?;
    }
    err.flush()?;
    Ok(())
}

/// Prints the CSV, then all other manifests, each as a document of its own.
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

/// Prints a table of all objects of the input: where each is, what it is and where it went.
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
            .map(|cell| printable(&cell).into_owned())
        })
        .collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default();
    let (first, second) = (width(0), width(1));
    for [place, object, fate] in &rows {
        writeln!(out, "{place:first$}  {object:second$}  {fate}")?;
    }
    Ok(())
}

/// Reads the files of the bundle in `directory`: manifests, metadata and the scorecard's configuration.
///
/// Limits: [`MAX_FILE_SIZE`] a file, [`MAX_TOTAL_SIZE`] in all. What is not a regular file is ignored.
pub(super) fn previous(directory: &Path) -> Result<BTreeMap<String, Vec<u8>>> {
    let mut files = BTreeMap::new();
    let failed = |path: &Path| format!("failed to read {}", path.display());
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(files),
        Err(error) => return Err(error).with_context(|| failed(directory)),
    };
    let mut names: Vec<String> = entries
        .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
        .collect::<io::Result<_>>()
        .with_context(|| failed(directory))?;
    names.retain(|name| !atomic_files::is_temporary(name));
    names.sort();
    let is_bundle = names.iter().any(|name| matches!(name.as_str(), "manifests" | "metadata" | "tests"));
    if let Some(other) = names.iter().find(|name| *name != DOCKERFILE)
        && !is_bundle
    {
        bail!(
            "{} is not a bundle: it contains {} but neither manifests/ nor metadata/; choose another directory, or an \
             empty one, with --output-dir",
            directory.display(),
            printable(other)
        );
    }
    let mut total = 0;
    for part in ["manifests", "metadata", "tests/scorecard"] {
        let Ok(entries) = fs::read_dir(directory.join(part)) else { continue };
        for entry in entries {
            let path = entry.with_context(|| failed(&directory.join(part)))?.path();
            let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
            if atomic_files::is_temporary(name) || !path.is_file() {
                continue;
            }
            let bytes = file::read(&path, MAX_FILE_SIZE).with_context(|| failed(&path))?;
            total += bytes.len() as u64;
            if total > MAX_TOTAL_SIZE {
                return Err(Unreadable::TotalTooLarge(MAX_TOTAL_SIZE)).with_context(|| failed(directory));
            }
            files.insert(format!("{part}/{name}"), bytes);
        }
    }
    Ok(files)
}
