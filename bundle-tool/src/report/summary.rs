//! The line that counts bundles, catalogs and findings.

use std::fmt::Write as _;
use std::io::{self, Write};

use super::diagnostic::Subject;
use super::finding::Severity;
use crate::model::text::{counted, printable};

/// How many bundles and catalogs were validated, with what result.
#[derive(Debug, Clone, Default)]
pub struct Summary {
    /// A line for each catalog.
    lines: Vec<String>,
    bundles: Verdicts,
    catalogs: Verdicts,
    unreadable: usize,
    errors: usize,
    warnings: usize,
    ignored: usize,
}

#[derive(Debug, Clone, Copy, Default)]
struct Verdicts {
    passed: usize,
    failed: usize,
}

impl Summary {
    /// Counts what was validated, and what could not be read.
    #[must_use]
    pub fn new<'a>(subjects: impl IntoIterator<Item = &'a Subject<'a>>, unreadable: usize) -> Self {
        let mut summary = Self { unreadable, ..Self::default() };
        for subject in subjects {
            let verdicts =
                if subject.kind == "catalog" { &mut summary.catalogs } else { &mut summary.bundles };
            if subject.passed {
                verdicts.passed += 1;
            } else {
                verdicts.failed += 1;
            }
            let (mut errors, mut warnings) = (0, 0);
            for diagnostic in &subject.diagnostics {
                match diagnostic.severity {
                    _ if diagnostic.ignored.is_some() => summary.ignored += 1,
                    Severity::Error => errors += 1,
                    Severity::Warning => warnings += 1,
                    Severity::Info => {}
                }
            }
            summary.errors += errors;
            summary.warnings += warnings;
            if let Some(contents) = &subject.contents {
                let verdict = if subject.passed { "passed" } else { "failed" };
                let (errors, warnings) = (counted(errors, "error"), counted(warnings, "warning"));
                let path = printable(subject.path);
                let mut line = format!("{path}: {contents}, {verdict}: {errors}, {warnings}");
                if subject.omitted > 0 {
                    let omitted = counted(subject.omitted, "more finding");
                    // Writing to a string cannot fail.
                    let _ = write!(line, " ({omitted} of the same rules omitted)");
                }
                summary.lines.push(line);
            }
        }
        summary
    }

    /// Prints a line for each catalog, one that counts bundles and findings, and how to learn more about a rule.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn print(&self, out: &mut impl Write) -> io::Result<()> {
        for line in &self.lines {
            writeln!(out, "{line}")?;
        }
        if !self.lines.is_empty() && self.bundles.passed + self.bundles.failed == 0 {
            return Ok(());
        }
        let mut line = verdict(self.bundles, self.catalogs, self.unreadable);
        // Writing to a string cannot fail.
        let _ = write!(line, ": {}, {}", counted(self.errors, "error"), counted(self.warnings, "warning"));
        if self.ignored > 0 {
            let _ = write!(line, " ({} ignored)", self.ignored);
        }
        writeln!(out, "{line}")?;
        if self.errors + self.warnings > 0 {
            writeln!(out, "run `bundle-tool explain RULE` for more about a rule")?;
        }
        Ok(())
    }
}

/// `2 bundles, 1 failed`, as short as it is clear.
fn verdict(bundles: Verdicts, catalogs: Verdicts, unreadable: usize) -> String {
    let validated = [(bundles, "bundle"), (catalogs, "catalog")];
    let (passed, failed) = (bundles.passed + catalogs.passed, bundles.failed + catalogs.failed);
    // What could not be read counts as a bundle, unless only catalogs were validated.
    let is_bundle = catalogs.passed + catalogs.failed == 0 || bundles.passed + bundles.failed > 0;
    let counts = validated.map(|(verdicts, name)| {
        let extra = if (name == "bundle") == is_bundle { unreadable } else { 0 };
        (verdicts.passed + verdicts.failed + extra, name)
    });
    let all: Vec<_> =
        counts.iter().filter(|(count, _)| *count > 0).map(|(count, name)| counted(*count, name)).collect();
    let all = if all.is_empty() { counted(0, "bundle") } else { all.join(" and ") };
    match (passed, failed, unreadable) {
        (1, 0, 0) => format!("{all}, passed"),
        (_, 0, 0) => format!("{all}, all passed"),
        (_, failed, 0) => format!("{all}, {failed} failed"),
        (passed, failed, unreadable) => {
            let counts = [(passed, "passed"), (failed, "failed"), (unreadable, "could not be read")];
            let parts = counts.iter().filter(|(count, _)| *count > 0);
            let parts: Vec<String> = parts.map(|(count, what)| format!("{count} {what}")).collect();
            format!("{all}, {}", parts.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bundle_that_could_not_be_read_has_not_passed() {
        let counts = |passed, failed| Verdicts { passed, failed };
        let none = Verdicts::default();
        for (bundles, catalogs, unreadable, expected) in [
            (counts(1, 0), none, 0, "1 bundle, passed"),
            (counts(0, 1), none, 0, "1 bundle, 1 failed"),
            (counts(3, 0), none, 0, "3 bundles, all passed"),
            (counts(3, 2), none, 0, "5 bundles, 2 failed"),
            (none, none, 1, "1 bundle, 1 could not be read"),
            (counts(2, 1), none, 1, "4 bundles, 2 passed, 1 failed, 1 could not be read"),
            (none, counts(1, 0), 0, "1 catalog, passed"),
            (none, counts(1, 0), 1, "2 catalogs, 1 passed, 1 could not be read"),
            (counts(3, 0), counts(0, 1), 0, "3 bundles and 1 catalog, 1 failed"),
        ] {
            assert_eq!(verdict(bundles, catalogs, unreadable), expected);
        }
    }
}
