//! `JUnit` XML, `--output junit`: a test suite for each bundle or catalog, with a failure for each error.
//!
//! There is no standard: the elements and attributes are those that Jenkins' `xunit` plugin, GitLab and Maven's Surefire
//! have in common (`testsuites`, `testsuite`, `testcase`, `failure`, `error`, `system-out`).

use std::io::{self, Write};

use super::diagnostic::{Diagnostic, Subject};
use kube_yaml::text::{printable, printable_lines, xml_escaped};
use olm_model::report::Severity;
use olm_model::report::UnreadBundle;

/// Prints one test suite for each bundle or catalog. Its test cases are its findings, of which errors fail; one that
/// passes stands for a bundle without findings.
///
/// # Errors
/// The output cannot be written.
pub fn junit(
    subjects: &[Subject<'_>],
    unreadable: &[UnreadBundle],
    out: &mut (impl Write + ?Sized),
) -> io::Result<()> {
    let suites: Vec<_> = subjects.iter().map(Suite::new).collect();
    let tests: usize = suites.iter().map(|suite| suite.cases.len().max(1)).sum();
    let failures: usize = suites.iter().map(Suite::failures).sum();
    writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>")?;
    writeln!(
        out,
        "<testsuites name=\"bundle-tool\" tests=\"{}\" failures=\"{failures}\" errors=\"{}\">",
        tests + unreadable.len(),
        unreadable.len()
    )?;
    for suite in &suites {
        suite.print(out)?;
    }
    for bundle in unreadable {
        let (path, message) = (escaped(&bundle.path), escaped(&bundle.message));
        writeln!(out, "  <testsuite name=\"{path}\" tests=\"1\" failures=\"0\" errors=\"1\" skipped=\"0\">")?;
        writeln!(out, "    <testcase name=\"read\" classname=\"{path}\">")?;
        writeln!(out, "      <error message=\"{message}\" type=\"unreadable\"></error>")?;
        writeln!(out, "    </testcase>")?;
        writeln!(out, "  </testsuite>")?;
    }
    writeln!(out, "</testsuites>")
}

/// The findings of a bundle or catalog that are not ignored.
struct Suite<'a> {
    subject: &'a Subject<'a>,
    cases: Vec<&'a Diagnostic<'a>>,
}

impl<'a> Suite<'a> {
    fn new(subject: &'a Subject<'a>) -> Self {
        let cases = subject.diagnostics.iter().filter(|diagnostic| diagnostic.ignored.is_none());
        Self { subject, cases: cases.collect() }
    }

    fn failures(&self) -> usize {
        self.cases.iter().filter(|case| case.severity == Severity::Error).count()
    }

    fn print(&self, out: &mut (impl Write + ?Sized)) -> io::Result<()> {
        let path = escaped(self.subject.path);
        writeln!(
            out,
            "  <testsuite name=\"{path}\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"0\">",
            self.cases.len().max(1),
            self.failures()
        )?;
        if self.cases.is_empty() {
            writeln!(out, "    <testcase name=\"validate\" classname=\"{path}\"></testcase>")?;
        }
        for case in &self.cases {
            let place = case.place.map_or_else(String::new, |(line, column)| format!(":{line}:{column}"));
            let name = escaped(&format!("{} {}{place}", case.rule, case.file));
            writeln!(out, "    <testcase name=\"{name}\" classname=\"{path}\">")?;
            let details = [("", case.message), ("field: ", case.path), ("help: ", case.help)];
            let lines = details.iter().filter(|(_, text)| !text.is_empty());
            let lines: Vec<_> = lines.map(|(name, text)| format!("{name}{}", printable(text))).collect();
            let text = escaped(&lines.join("\n"));
            if case.severity == Severity::Error {
                let (message, rule) = (escaped(case.message), escaped(case.rule));
                writeln!(out, "      <failure message=\"{message}\" type=\"{rule}\">{text}</failure>")?;
            } else {
                writeln!(out, "      <system-out>{}: {text}</system-out>", case.severity)?;
            }
            writeln!(out, "    </testcase>")?;
        }
        writeln!(out, "  </testsuite>")
    }
}

/// Returns text of one or several lines for XML, without what a terminal obeys.
fn escaped(text: &str) -> String {
    xml_escaped(&printable_lines(text))
}
