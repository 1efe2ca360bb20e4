//! The line that counts bundles, catalogs and findings.

use std::fmt::Write as _;
use std::io::{self, Write};

use annotate_snippets::renderer::{AnsiColor, Style};

use super::diagnostic::Subject;
use kube_yaml::text::{counted, printable, source_name};
use olm_model::report::Severity;

/// How many bundles and catalogs were validated, with what result.
#[derive(Debug, Clone, Default)]
pub struct Summary {
    /// A line for each catalog.
    lines: Vec<String>,
    bundles: Verdicts,
    catalogs: Verdicts,
    unreadable: usize,
    /// Whether only catalogs were to be validated.
    is_of_catalogs: bool,
    errors: usize,
    warnings: usize,
    ignored: usize,
    /// The rule of the finding that is shown first, with its severity.
    first: Option<(Severity, String)>,
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
                let is_first =
                    summary.first.as_ref().is_none_or(|(severity, _)| diagnostic.severity < *severity);
                if diagnostic.ignored.is_none() && is_first {
                    summary.first = Some((diagnostic.severity, diagnostic.rule.to_owned()));
                }
            }
            summary.errors += errors;
            summary.warnings += warnings;
            if let Some(contents) = &subject.contents {
                let verdict = if subject.passed { "passed" } else { "failed" };
                let (errors, warnings) = (counted(errors, "error"), counted(warnings, "warning"));
                let path = printable(source_name(subject.path));
                summary.lines.push(format!("{path}: {contents}, {verdict}: {errors}, {warnings}"));
            }
        }
        summary
    }

    /// Returns the same summary of a command that validates only catalogs, also where none could be read.
    #[must_use]
    pub fn of_catalogs(mut self) -> Self {
        self.is_of_catalogs = true;
        self
    }

    /// Prints a line for each catalog, one that counts bundles and findings, and how to learn more about a rule; with
    /// `color`, the counts have the colors of the severities.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn print(&self, color: bool, out: &mut impl Write) -> io::Result<()> {
        for line in &self.lines {
            writeln!(out, "{line}")?;
        }
        if !self.lines.is_empty() && self.bundles.passed + self.bundles.failed == 0 {
            return Ok(());
        }
        let mut line = verdict(self.bundles, self.catalogs, self.unreadable, self.is_of_catalogs);
        let count = |count: usize, name: &str, style: Style| {
            let text = counted(count, name);
            if color && count > 0 { format!("{style}{text}{style:#}") } else { text }
        };
        let errors = count(self.errors, "error", AnsiColor::Red.on_default().bold());
        let warnings = count(self.warnings, "warning", AnsiColor::Yellow.on_default().bold());
        // Writing to a string cannot fail.
        let _ = write!(line, ": {errors}, {warnings}");
        if self.ignored > 0 {
            let _ = write!(line, " ({} ignored)", self.ignored);
        }
        writeln!(out, "{line}")?;
        if let Some((Severity::Error | Severity::Warning, rule)) = &self.first {
            writeln!(out, "run `bundle-tool explain {rule}` for more about this rule")?;
        }
        Ok(())
    }
}

/// `2 bundles, 1 failed`, as short as it is clear.
fn verdict(bundles: Verdicts, catalogs: Verdicts, unreadable: usize, is_of_catalogs: bool) -> String {
    let validated = [(bundles, "bundle"), (catalogs, "catalog")];
    let (passed, failed) = (bundles.passed + catalogs.passed, bundles.failed + catalogs.failed);
    // What could not be read counts as a bundle, unless only catalogs were validated.
    let is_bundle =
        !is_of_catalogs && (catalogs.passed + catalogs.failed == 0 || bundles.passed + bundles.failed > 0);
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
    use super::super::diagnostic::Diagnostic;
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
            assert_eq!(verdict(bundles, catalogs, unreadable, false), expected);
        }
        assert_eq!(verdict(none, none, 1, true), "1 catalog, 1 could not be read");
    }

    #[test]
    fn summary_names_the_rule_of_the_first_error() {
        let diagnostic = |severity, rule| Diagnostic {
            severity,
            rule,
            message: "",
            help: "",
            file: String::new(),
            place: None,
            end_column: None,
            path: "",
            versions: None,
            related: Vec::new(),
            ignored: None,
            excerpt: None,
        };
        let diagnostics = vec![
            diagnostic(Severity::Info, "a"),
            diagnostic(Severity::Warning, "b"),
            diagnostic(Severity::Error, "c"),
            diagnostic(Severity::Error, "d"),
        ];
        let subject = |diagnostics| Subject {
            kind: "bundle",
            path: "",
            name: None,
            passed: false,
            contents: None,
            diagnostics,
        };
        let printed = |diagnostics, color| {
            let mut out = Vec::new();
            Summary::new(&[subject(diagnostics)], 0).print(color, &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        let explain = "run `bundle-tool explain c` for more about this rule\n";
        assert_eq!(
            printed(diagnostics.clone(), false),
            format!("1 bundle, 1 failed: 2 errors, 1 warning\n{explain}")
        );
        assert_eq!(
            printed(diagnostics, true),
            format!(
                "1 bundle, 1 failed: \u{1b}[1m\u{1b}[31m2 errors\u{1b}[0m, \u{1b}[1m\u{1b}[33m1 warning\u{1b}[0m\n{explain}"
            )
        );
        assert_eq!(
            printed(vec![diagnostic(Severity::Info, "a")], true),
            "1 bundle, 1 failed: 0 errors, 0 warnings\n"
        );
    }
}
