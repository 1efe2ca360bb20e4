//! `bundle-tool migrate-project`: replaces calls to operator-sdk and opm in the files of a project.
//!
//! [`files`] reads the files. [`makefile`], [`shell`], [`yaml`] and [`dockerfile`] find the commands in them, by their ranges;
//! [`variables`] resolves the variables that name a tool or contain flags. [`calls`] translates each call with the table of the
//! drop-in adapters, [`scan`] and [`edits`] go through the project, and [`report`] prints the result.

mod calls;
mod dockerfile;
mod edits;
mod files;
mod makefile;
mod report;
mod scan;
mod shell;
mod variables;
mod wrappers;
mod yaml;

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use atomic_files::Tree;
use clap::{Args, ValueEnum};

use self::calls::MAX_TOTAL_WORDS;
use self::report::{FileChange, Report, Severity};
use self::scan::Scan;
use crate::cli::exit::Exit;
use crate::cli::format::{Formats, OutputOption};
use crate::cli::lock::lock;

/// The maximum number of calls in a project, and of notes.
const MAX_CALLS: usize = 5000;

#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct MigrateProject {
    /// Directory of the project
    #[arg(value_name = "DIR", default_value = ".")]
    directory: PathBuf,
    /// Write the changes
    #[arg(long)]
    write: bool,
    #[command(flatten)]
    format: OutputOption<Output>,
}

/// The formats of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Output {
    /// The calls and what each becomes, notes, and the changes
    Text,
    /// One JSON document
    Json,
    /// Only the changes, as a diff for `git apply`
    Diff,
}

impl Formats for Output {
    const DEFAULT: &'static str = "text";
}

const EXAMPLES: &str = "\
Examples:
  # Show the replacement of each call to operator-sdk and opm, and the changes
  bundle-tool migrate-project

  # Write the changes of a project in another directory
  bundle-tool migrate-project ../gizmo-operator --write

  # Apply only some of the changes
  bundle-tool migrate-project --output diff > migrate.patch
  git apply --include Makefile migrate.patch";

impl MigrateProject {
    pub(crate) fn run(self) -> Result<Exit> {
        let report = examine(&self.directory)?;
        // Written first: whoever reads the report may end early.
        if self.write {
            write(&self.directory, &report.changes)?;
        }
        match self.format.output {
            Output::Text => report.print_text()?,
            Output::Json => report.print_json()?,
            Output::Diff => report.print_diff()?,
        }
        report.print_summary(self.write)?;
        Ok(Exit::Success)
    }
}

/// Replaces the files of a project: all or none. A file that has changed since it was read is an error.
fn write(directory: &Path, changes: &[FileChange]) -> Result<()> {
    if changes.is_empty() {
        return Ok(());
    }
    let mut lock = lock(directory)?;
    let mut tree = Tree::new();
    for change in changes {
        tree.file(change.path.as_str(), Some(&change.old), change.new.as_bytes());
    }
    lock.write(&tree)?;
    Ok(())
}

/// Finds the calls in a project, and what each becomes.
fn examine(directory: &Path) -> Result<Report> {
    let found = files::read(directory)?;
    let mut scan = Scan::new(&found.list, &found.project, found.notes);
    let mut words = 0;
    for file in 0..found.list.len() {
        let calls = scan.calls.len();
        scan.file(file);
        words += scan.calls[calls..].iter().map(|call| call.words.len()).sum::<usize>();
        if words > MAX_TOTAL_WORDS {
            bail!("the calls to operator-sdk and opm exceed the limit of {MAX_TOTAL_WORDS} words");
        }
        if scan.calls.len() > MAX_CALLS || scan.notes.len() > MAX_CALLS {
            bail!(
                "{} contains more than {MAX_CALLS} calls to operator-sdk and opm; migrate its directories one by one",
                directory.display()
            );
        }
    }
    if scan.calls.is_empty() && scan.notes.iter().all(|note| note.severity == Severity::Note) {
        bail!("no calls to operator-sdk or opm found in {}", directory.display());
    }
    Ok(scan.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_that_changes_meanwhile_is_kept_and_nothing_is_written() {
        let directory = tempfile::tempdir().unwrap();
        let change = |path: &str| {
            std::fs::write(directory.path().join(path), "old").unwrap();
            FileChange { path: path.to_owned(), old: "old".to_owned(), new: "new".to_owned() }
        };
        let changes = ["a.mk", "b.mk"].map(change);
        std::fs::write(directory.path().join("b.mk"), "edited").unwrap();
        let error = write(directory.path(), &changes).unwrap_err();
        assert!(matches!(
            error.downcast_ref(),
            Some(atomic_files::Error::Changed { path }) if path.ends_with("b.mk")
        ));
        let read = |path: &str| std::fs::read_to_string(directory.path().join(path)).unwrap();
        assert_eq!([read("a.mk"), read("b.mk")], ["old", "edited"]);
    }
}
