//! What was generated: written, compared with the existing files, printed, explained.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use atomic_files::{DirectoryLock, Expected, Pending, Tree};
use similar::TextDiff;

use crate::cli::padding::padded;
use crate::terminal::{WARNING, messages, stderr};
use kube_yaml::text::printable;
use olm_generate::{GenerateReport, Generated, ObjectOutcome, Severity};
use olm_model::disk::walk::{Entry, Kind, Options};
use olm_model::disk::{Directory, WalkError};
use olm_model::read::manifests::MAX_TOTAL_SIZE;
use olm_model::read::{MAX_FILE_SIZE, Unreadable};

/// The name of the Dockerfile, in the current directory.
pub(crate) const DOCKERFILE: &str = "bundle.Dockerfile";

/// Files to be written: those of a directory, and some beside it.
#[derive(Debug, Default)]
pub(crate) struct Output {
    pub(crate) directory: PathBuf,
    /// Path below the directory to bytes.
    pub(crate) files: BTreeMap<String, Vec<u8>>,
    /// Paths below the directory that are removed.
    pub(crate) removed: Vec<String>,
    /// Path from the current directory to bytes.
    pub(crate) beside: BTreeMap<PathBuf, Vec<u8>>,
    /// What was read of the files that are written or removed: paths from the current directory. The others did not exist.
    pub(crate) read: BTreeMap<PathBuf, Expected>,
}

impl Output {
    /// Writes everything that differs and reports on standard error how much that is.
    ///
    /// The files of the directory are written all or none. Those beside it are on the disk before, and renamed after.
    ///
    /// # Errors
    /// A file was changed since it was read, or cannot be written.
    pub(crate) fn write(&self, name: &str, mut lock: DirectoryLock) -> Result<()> {
        let mut tree = Tree::new();
        for (path, bytes) in &self.files {
            tree.file(path.as_str(), self.expected(&self.directory.join(path)), bytes.as_slice());
        }
        for path in &self.removed {
            tree.remove(path.as_str(), self.expected(&self.directory.join(path)));
        }
        let mut beside = Vec::new();
        for (path, bytes) in &self.beside {
            let is_link = fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink());
            if is_link || atomic_files::compare(path, bytes)? != atomic_files::Change::Unchanged {
                let mut pending = Pending::replacing(path)?.if_unchanged(self.expected(path));
                pending.append(bytes)?;
                beside.push(pending);
            }
        }
        let changes = lock.write(&tree)?;
        for pending in beside {
            pending.commit().with_context(|| format!("{} was written", self.directory.display()))?;
        }
        let mut counts = vec![
            format!("{} created", changes.created.len()),
            format!("{} changed", changes.replaced.len()),
            format!("{} unchanged", changes.unchanged.len()),
        ];
        if !changes.removed.is_empty() {
            counts.push(format!("{} removed", changes.removed.len()));
        }
        writeln!(messages(), "{name} in {}: {}", self.directory.display(), counts.join(", "))?;
        Ok(())
    }

    fn expected(&self, path: &Path) -> Expected {
        self.read.get(path).copied().unwrap_or(Expected::Absent)
    }

    /// Prints how the existing files differ from what would be written. Returns whether they do.
    pub(crate) fn check(&self, out: &mut dyn Write) -> Result<bool> {
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
pub(crate) fn notes(report: &GenerateReport, all: bool) -> Result<()> {
    let mut err = io::BufWriter::new(stderr());
    for note in &report.notes {
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
    if report.more_warnings > 0 {
        writeln!(err, "{WARNING} {} more warnings are not shown", report.more_warnings)?;
    }
    err.flush()?;
    Ok(())
}

/// Prints the CSV, then all other manifests, each as a document of its own. Between documents, operator-sdk prints a line break more,
/// because it removes the one at the end of each.
pub(crate) fn print(generated: &Generated, is_of_sdk: bool) -> Result<()> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    for bytes in generated.manifests.iter().filter_map(|path| generated.files.get(path)) {
        if is_of_sdk {
            out.write_all(b"\n---\n")?;
            out.write_all(bytes.trim_ascii())?;
        } else {
            out.write_all(b"---\n")?;
            out.write_all(bytes)?;
        }
    }
    out.flush()?;
    Ok(())
}

/// Prints a table of all objects of the input: where each is, what it is and where it went.
pub(crate) fn explain(report: &GenerateReport, out: &mut dyn Write) -> io::Result<()> {
    let rows: Vec<[String; 3]> = report
        .sources
        .iter()
        .map(|source| {
            let fates: Vec<String> = source.outcomes.iter().map(ObjectOutcome::to_string).collect();
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
        writeln!(out, "{}  {}  {fate}", padded(place, first), padded(object, second))?;
    }
    Ok(())
}

/// Reads the files of the bundle in `directory`: manifests, metadata and the scorecard's configuration.
///
/// Limits: [`MAX_FILE_SIZE`] a file, [`MAX_TOTAL_SIZE`] in all. What is not a regular file is ignored.
///
/// A directory that contains something, but no bundle, is an error, unless the bundle is that of operator-sdk.
pub(crate) fn previous(directory: &Path, is_of_sdk: bool) -> Result<BTreeMap<String, Vec<u8>>> {
    let mut files = BTreeMap::new();
    let failed = |path: &Path| format!("failed to read {}", path.display());
    let root = match Directory::open(directory) {
        Ok(root) => root,
        Err(WalkError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => return Ok(files),
        Err(error) => return Err(error.into()),
    };
    let one_level = Options { max_depth: 1, ..Options::default() };
    let entries = root.walk(one_level)?;
    let names: Vec<&str> = entries.iter().map(|entry| &*entry.name).collect();
    let is_bundle = names.iter().any(|name| matches!(*name, "manifests" | "metadata" | "tests"));
    if let Some(other) = names.iter().find(|name| **name != DOCKERFILE)
        && !is_bundle
        && !is_of_sdk
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
        let Ok(below) = root.directory(part) else { continue };
        for Entry { name, below: file, kind } in below.walk(one_level)? {
            // A link that leads out of the directory is replaced, as is what is not a file.
            if !matches!(kind, Kind::File(_)) || name.contains(char::REPLACEMENT_CHARACTER) {
                continue;
            }
            let bytes = below.read(&file, MAX_FILE_SIZE);
            let bytes = bytes.with_context(|| failed(&below.path().join(&file)))?;
            total += bytes.len() as u64;
            if total > MAX_TOTAL_SIZE {
                return Err(Unreadable::TotalTooLarge(MAX_TOTAL_SIZE)).with_context(|| failed(directory));
            }
            files.insert(format!("{part}/{name}"), bytes);
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_keeps_what_others_saved_meanwhile() {
        let dir = tempfile::tempdir().unwrap();
        let directory = dir.path().join("bundle");
        let paths = [
            directory.join("manifests/a.yaml"),
            directory.join("manifests/b.yaml"),
            dir.path().join(DOCKERFILE),
        ];
        fs::create_dir_all(directory.join("manifests")).unwrap();
        for path in &paths {
            fs::write(path, "1").unwrap();
        }
        let mut output = Output { directory: directory.clone(), ..Output::default() };
        for name in ["a", "b"] {
            output.files.insert(format!("manifests/{name}.yaml"), b"2".to_vec());
        }
        output.beside.insert(paths[2].clone(), b"2".to_vec());
        output.read = paths.iter().map(|path| (path.clone(), Some("1").into())).collect();
        for edited in &paths {
            fs::write(edited, "edited").unwrap();
            let lock = crate::cli::lock::lock(&directory).unwrap();
            let error = output.write("bundle", lock).unwrap_err();
            assert!(matches!(
                error.downcast_ref(),
                Some(atomic_files::Error::Changed { path }) if path == edited
            ));
            assert_eq!(fs::read_to_string(edited).unwrap(), "edited");
            for path in &paths {
                fs::write(path, "1").unwrap();
            }
        }
        output.write("bundle", crate::cli::lock::lock(&directory).unwrap()).unwrap();
        for path in &paths {
            assert_eq!(fs::read_to_string(path).unwrap(), "2");
        }
    }
}
