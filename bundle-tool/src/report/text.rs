//! Findings for people: `file:line:column: severity[rule]: message`, the field, the help, and a closing line.

use std::io::{self, Write};

use super::{Judged, Severity};

/// Prints all findings and a line that counts them.
///
/// # Errors
/// The output cannot be written.
pub fn text(judged: &[Judged], out: &mut impl Write) -> io::Result<()> {
    let mut counts = [0usize; 3];
    for bundle in judged {
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
    let failed = judged.iter().filter(|bundle| !bundle.passed()).count();
    let bundles = match judged.len() {
        1 => "1 bundle".to_owned(),
        count => format!("{count} bundles"),
    };
    let passed = match (judged.len(), failed) {
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
