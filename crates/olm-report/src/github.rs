//! GitHub's workflow commands, `--output github`, which show findings beside the lines of a pull request.
//!
//! Source: <https://docs.github.com/actions/reference/workflow-commands-for-github-actions>, and how the runner reads
//! them (`ActionCommand` of actions/runner): in values `%`, CR and LF are escaped, in properties `:` and `,` too.

use std::io::{self, Write};

use super::diagnostic::{Diagnostic, Subject};
use kube_yaml::text::printable;
use olm_model::report::Severity;
use olm_model::report::UnreadBundle;

/// Prints one command for each finding that is not ignored.
///
/// # Errors
/// The output cannot be written.
pub fn github(
    subjects: &[Subject<'_>],
    unreadable: &[UnreadBundle],
    out: &mut (impl Write + ?Sized),
) -> io::Result<()> {
    let findings = subjects.iter().flat_map(|subject| &subject.diagnostics);
    for diagnostic in findings.filter(|diagnostic| diagnostic.ignored.is_none()) {
        command(diagnostic, out)?;
    }
    for bundle in unreadable {
        writeln!(
            out,
            "::error file={},title=unreadable::{}",
            property(&bundle.path),
            data(&printable(&bundle.message))
        )?;
    }
    Ok(())
}

fn command(diagnostic: &Diagnostic<'_>, out: &mut (impl Write + ?Sized)) -> io::Result<()> {
    let name = match diagnostic.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "notice",
    };
    write!(out, "::{name} file={}", property(&diagnostic.file))?;
    if let Some((line, column)) = diagnostic.place {
        write!(out, ",line={line},col={column}")?;
        // GitHub accepts columns only for ranges within one line.
        if let Some(end) = diagnostic.end_column.filter(|end| *end > column) {
            write!(out, ",endLine={line},endColumn={end}")?;
        }
    }
    let mut message = printable(diagnostic.message).into_owned();
    if !diagnostic.path.is_empty() {
        message = format!("{message}\nfield: {}", printable(diagnostic.path));
    }
    if !diagnostic.help.is_empty() {
        message = format!("{message}\nhelp: {}", diagnostic.help);
    }
    writeln!(out, ",title={}::{}", property(diagnostic.rule), data(&message))
}

fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(&printable(text)).replace(':', "%3A").replace(',', "%2C")
}
