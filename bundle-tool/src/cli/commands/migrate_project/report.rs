//! What `migrate-project` prints: the calls, notes, and the changes as a diff.

use std::io::{self, IsTerminal as _, Write as _};

use anyhow::Result;
use serde::Serialize;
use similar::TextDiff;

use crate::cli::fix_outcome::write_diff;
use crate::terminal::{CODE, HEADING, NOTE, Styled, WARNING, messages, stdout, verbosity};
use kube_yaml::text::{counted, printable, write_json};
use olm_report::text::Verbosity;

/// A remark on a line that is not changed.
#[derive(Debug, Clone, Serialize, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ReportNote {
    pub(super) file: String,
    pub(super) line: usize,
    pub(super) severity: Severity,
    pub(super) message: String,
}

/// Whether a note needs a decision.
#[derive(Debug, Clone, Copy, Serialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "lowercase")]
pub(super) enum Severity {
    Warning,
    Note,
}

impl ReportNote {
    pub(super) fn warning(file: &str, line: usize, message: String) -> Self {
        Self { file: file.to_owned(), line, severity: Severity::Warning, message }
    }

    pub(super) fn info(file: &str, line: usize, message: String) -> Self {
        Self { file: file.to_owned(), line, severity: Severity::Note, message }
    }
}

/// A call, as it is printed.
#[derive(Debug, Serialize)]
pub(super) struct CallRow {
    pub(super) file: String,
    pub(super) line: usize,
    pub(super) tool: &'static str,
    pub(super) call: String,
    pub(super) result: CallResult,
    /// The line that replaces it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) replacement: Option<String>,
    /// Why there is no native command, or no replacement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<String>,
}

/// What becomes of a call.
#[derive(Debug, Clone, Copy, Serialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(super) enum CallResult {
    /// A native command.
    Native,
    /// `bundle-tool operator-sdk` or `bundle-tool opm` with the same arguments.
    Adapter,
    /// No change.
    Kept,
}

/// A file that changes.
#[derive(Debug)]
pub(super) struct FileChange {
    pub(super) path: String,
    pub(super) old: String,
    pub(super) new: String,
}

/// What was found in a project.
#[derive(Debug)]
pub(super) struct Report {
    pub(super) calls: Vec<CallRow>,
    pub(super) notes: Vec<ReportNote>,
    pub(super) changes: Vec<FileChange>,
}

#[derive(Serialize)]
struct Document<'r> {
    version: u32,
    calls: &'r [CallRow],
    notes: &'r [ReportNote],
    changed: Vec<&'r str>,
    diff: String,
}

impl FileChange {
    fn diff(&self) -> String {
        // Lines as git separates them: a carriage return alone ends none.
        let [old, new] = [&self.old, &self.new].map(|text| text.split_inclusive('\n').collect::<Vec<&str>>());
        let diff = TextDiff::configure().newline_terminated(true).diff_slices(&old, &new);
        let names = (quoted(&format!("a/{}", self.path)), quoted(&format!("b/{}", self.path)));
        diff.unified_diff().context_radius(3).header(&names.0, &names.1).to_string()
    }
}

/// Returns the name of a file as git writes it in a diff: in quotes if it contains characters that end it otherwise, and followed by a
/// tabulator if it contains a space.
fn quoted(name: &str) -> String {
    if !name.contains(|char: char| char.is_control() || matches!(char, '"' | '\\')) {
        return if name.contains(' ') { format!("{name}\t") } else { name.to_owned() };
    }
    let mut text = String::from("\"");
    for char in name.chars() {
        match char {
            '"' | '\\' => text.extend(['\\', char]),
            '\n' => text.push_str("\\n"),
            '\t' => text.push_str("\\t"),
            char if char.is_control() => {
                for byte in char.encode_utf8(&mut [0; 4]).bytes() {
                    text.push('\\');
                    text.extend([6, 3, 0].map(|shift| char::from(b'0' + (byte >> shift & 7))));
                }
            }
            char => text.push(char),
        }
    }
    text.push('"');
    text
}

impl Report {
    /// Prints the calls and notes, and the changes as a diff; only warnings and the changes with `--quiet`.
    pub(super) fn print_text(&self) -> Result<()> {
        let is_quiet = verbosity() == Verbosity::Quiet;
        let mut out = io::BufWriter::new(stdout().lock());
        let calls = if is_quiet { &[][..] } else { &self.calls };
        let is_shown = |note: &&ReportNote| !is_quiet || note.severity == Severity::Warning;
        let notes: Vec<&ReportNote> = self.notes.iter().filter(is_shown).collect();
        for row in calls {
            let place = format!("{}:{}:", row.file, row.line);
            writeln!(out, "{} {}", Styled(HEADING, printable(&place)), printable(&row.call))?;
            if let Some(replacement) = &row.replacement {
                writeln!(out, "  {:<8} {}", "becomes:", Styled(CODE, printable(replacement)))?;
            }
            match (row.result, &row.reason) {
                (CallResult::Kept, Some(reason)) => writeln!(out, "  {:<8} {}", "kept:", printable(reason))?,
                (_, Some(reason)) => writeln!(out, "  {:<8} {}", "reason:", printable(reason))?,
                (_, None) => {}
            }
        }
        if !notes.is_empty() && !calls.is_empty() {
            writeln!(out)?;
        }
        for note in &notes {
            let label = if note.severity == Severity::Warning { WARNING } else { NOTE };
            let place = format!("{}:{}:", note.file, note.line);
            writeln!(out, "{} {label} {}", printable(&place), printable(&note.message))?;
        }
        let is_first = notes.is_empty() && calls.is_empty();
        if !self.changes.is_empty() && !is_first {
            writeln!(out)?;
        }
        out.flush()?;
        drop(out);
        self.print_colored_diff()
    }

    /// Prints the changes as a diff, which programs get as it is.
    pub(super) fn print_diff(&self) -> Result<()> {
        if io::stdout().is_terminal() {
            return self.print_colored_diff();
        }
        let mut out = io::BufWriter::new(io::stdout().lock());
        for change in &self.changes {
            out.write_all(change.diff().as_bytes())?;
        }
        out.flush()?;
        Ok(())
    }

    fn print_colored_diff(&self) -> Result<()> {
        let mut out = io::BufWriter::new(stdout().lock());
        for change in &self.changes {
            write_diff(&change.diff(), &mut out)?;
        }
        out.flush()?;
        Ok(())
    }

    /// Prints everything as one JSON document.
    pub(super) fn print_json(&self) -> Result<()> {
        let mut out = io::BufWriter::new(io::stdout().lock());
        let document = Document {
            version: 1,
            calls: &self.calls,
            notes: &self.notes,
            changed: self.changes.iter().map(|change| change.path.as_str()).collect(),
            diff: self.changes.iter().map(FileChange::diff).collect(),
        };
        write_json(&document, &mut out)?;
        out.flush()?;
        Ok(())
    }

    /// Prints the numbers of calls to standard error.
    pub(super) fn print_summary(&self, is_written: bool) -> Result<()> {
        let count = |result: CallResult| self.calls.iter().filter(|row| row.result == result).count();
        let (native, adapter) = (count(CallResult::Native), count(CallResult::Adapter));
        let mut err = messages();
        write!(
            err,
            "{}: {native} replaced with native commands, {adapter} with `bundle-tool operator-sdk` or `bundle-tool opm`, {} kept",
            counted(self.calls.len(), "call"),
            count(CallResult::Kept)
        )?;
        match (self.changes.len(), is_written) {
            (0, _) => writeln!(err)?,
            (files, true) => writeln!(err, "; wrote {}", counted(files, "file"))?,
            (files, false) => writeln!(err, "; --write changes {}", counted(files, "file"))?,
        }
        Ok(())
    }
}
