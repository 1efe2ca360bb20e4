//! Findings for people: `file:line:column: severity[rule]: message`, the field, the help, and a closing line.

use std::io::{self, Write};

use super::{BundleReport, Severity};

/// Prints all findings and a line that counts them.
///
/// # Errors
/// The output cannot be written.
pub fn text(reports: &[BundleReport], out: &mut impl Write) -> io::Result<()> {
    let mut counts = [0usize; 3];
    for bundle in reports {
        for finding in &bundle.findings {
            counts[finding.severity as usize] += 1;
            write!(out, "{}", bundle.path.trim_end_matches('/'))?;
            if let Some(file) = &finding.file {
                write!(out, "/{file}")?;
            }
            if let (Some(line), Some(column)) = (finding.line, finding.column) {
                write!(out, ":{line}:{column}")?;
            }
            writeln!(out, ": {}[{}]: {}", finding.severity, finding.rule, finding.message)?;
            if let Some(path) = &finding.path {
                writeln!(out, "    at {path}")?;
            }
            if !finding.help.is_empty() {
                writeln!(out, "    help: {}", finding.help)?;
            }
        }
    }
    let failed = reports.iter().filter(|bundle| !bundle.passed()).count();
    let bundles = match reports.len() {
        1 => "1 bundle".to_owned(),
        count => format!("{count} bundles"),
    };
    let passed = match (reports.len(), failed) {
        (1, 0) => "passed".to_owned(),
        (_, 0) => "all passed".to_owned(),
        (_, failed) => format!("{failed} failed"),
    };
    let count = |severity: Severity, name: &str| {
        let count = counts[severity as usize];
        format!("{count} {name}{}", if count == 1 { "" } else { "s" })
    };
    writeln!(
        out,
        "{bundles}, {passed}: {}, {}",
        count(Severity::Error, "error"),
        count(Severity::Warning, "warning")
    )
}
