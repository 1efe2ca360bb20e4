//! Findings for people: `file:line:column: severity[rule]: message`, the field, the help, and a closing line.

use std::io::{self, Write};

use super::bundle::{BundleReport, UnreadBundle};
use super::finding::{Finding, Severity};
use crate::model::text::printable;

/// Prints all findings and a line that counts them. Why a bundle is unreadable is not printed here: that is an error.
///
/// # Errors
/// The output cannot be written.
pub fn text(reports: &[BundleReport], unreadable: &[UnreadBundle], out: &mut impl Write) -> io::Result<()> {
    for report in reports {
        for finding in &report.findings {
            print(report.path.trim_end_matches('/'), finding, out)?;
        }
    }
    let findings = || reports.iter().flat_map(|report| &report.findings);
    let count = |severity| findings().filter(|finding| finding.severity == severity).count();
    let failed = reports.iter().filter(|report| !report.passed()).count();
    writeln!(
        out,
        "{}: {}, {}",
        verdict(reports.len() - failed, failed, unreadable.len()),
        counted(count(Severity::Error), "error"),
        counted(count(Severity::Warning), "warning")
    )
}

fn print(bundle: &str, finding: &Finding, out: &mut impl Write) -> io::Result<()> {
    write!(out, "{}", printable(bundle))?;
    if let Some(file) = &finding.file {
        write!(out, "/{}", printable(file))?;
    }
    if let (Some(line), Some(column)) = (finding.line, finding.column) {
        write!(out, ":{line}:{column}")?;
    }
    writeln!(out, ": {}[{}]: {}", finding.severity, finding.rule, printable(&finding.message))?;
    if let Some(path) = &finding.path {
        writeln!(out, "    at {}", printable(path))?;
    }
    if !finding.help.is_empty() {
        writeln!(out, "    help: {}", printable(finding.help))?;
    }
    Ok(())
}

/// `2 bundles, 1 passed, 1 failed`, as short as it is clear.
fn verdict(passed: usize, failed: usize, unreadable: usize) -> String {
    let bundles = counted(passed + failed + unreadable, "bundle");
    match (passed, failed, unreadable) {
        (1, 0, 0) => format!("{bundles}, passed"),
        (_, 0, 0) => format!("{bundles}, all passed"),
        (_, failed, 0) => format!("{bundles}, {failed} failed"),
        (passed, failed, unreadable) => {
            let counts = [(passed, "passed"), (failed, "failed"), (unreadable, "could not be read")];
            let parts = counts.iter().filter(|(count, _)| *count > 0);
            let parts: Vec<String> = parts.map(|(count, what)| format!("{count} {what}")).collect();
            format!("{bundles}, {}", parts.join(", "))
        }
    }
}

fn counted(count: usize, name: &str) -> String {
    format!("{count} {name}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Suite;

    #[test]
    fn foreign_text_cannot_forge_a_line() {
        let finding = Finding {
            rule: "yaml-syntax",
            suite: Suite::Bundle,
            severity: Severity::Warning,
            message: "a\u{1b}[2J\nb".to_owned(),
            help: "",
            file: Some("x\n/fine: error[none]: forged\r".to_owned()),
            line: None,
            column: None,
            path: Some("spec.\u{202e}x".to_owned()),
        };
        let report =
            BundleReport { path: "a\nb/".to_owned(), name: None, package: None, findings: vec![finding] };
        let mut printed = Vec::new();
        text(&[report], &[], &mut printed).unwrap();
        assert_eq!(
            String::from_utf8(printed).unwrap(),
            "a\\nb/x\\n/fine: error[none]: forged\\r: warning[yaml-syntax]: a\\u{1b}[2J\\nb\n    at spec.\\u{202e}x\n\
             1 bundle, passed: 0 errors, 1 warning\n"
        );
    }

    #[test]
    fn a_bundle_that_could_not_be_read_has_not_passed() {
        for (counts, expected) in [
            ((1, 0, 0), "1 bundle, passed"),
            ((0, 1, 0), "1 bundle, 1 failed"),
            ((3, 0, 0), "3 bundles, all passed"),
            ((3, 2, 0), "5 bundles, 2 failed"),
            ((0, 0, 1), "1 bundle, 1 could not be read"),
            ((2, 1, 1), "4 bundles, 2 passed, 1 failed, 1 could not be read"),
        ] {
            assert_eq!(verdict(counts.0, counts.1, counts.2), expected);
        }
    }
}
