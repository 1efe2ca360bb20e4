//! operator-sdk's JSON, `--output json-alpha1`: `{"passed": true, "outputs": [{"type": "warning", "message": "…"}]}`.
//!
//! Source: `internal/validate/result.go` of operator-sdk v1.42, which prints one such document for its one bundle. Here
//! several bundles share one document, and messages begin with the place.

use std::io::{self, Write};

use serde::Serialize;

use super::diagnostic::{Diagnostic, Subject};
use kube_yaml::text::write_json_indented;
use olm_model::report::Severity;
use olm_model::report::UnreadBundle;

#[derive(Serialize)]
struct Document {
    passed: bool,
    /// `null` without findings, as Go prints an empty list.
    outputs: Option<Vec<Output>>,
}

#[derive(Serialize)]
struct Output {
    r#type: Severity,
    message: String,
}

/// Prints what was found in operator-sdk's format.
///
/// # Errors
/// The output cannot be written.
pub fn alpha(
    subjects: &[Subject<'_>],
    unreadable: &[UnreadBundle],
    out: &mut (impl Write + ?Sized),
) -> io::Result<()> {
    let findings = subjects.iter().flat_map(|subject| &subject.diagnostics);
    let mut outputs: Vec<_> =
        findings.filter(|diagnostic| diagnostic.ignored.is_none()).map(output).collect();
    // operator-sdk prints warnings before errors, validator by validator; here errors come first.
    outputs.sort_by_key(|output| output.r#type);
    outputs.extend(unreadable.iter().map(|bundle| Output {
        r#type: Severity::Error,
        message: format!("{}: {}", bundle.path, bundle.message),
    }));
    let passed = unreadable.is_empty() && subjects.iter().all(|subject| subject.passed);
    let document = Document { passed, outputs: Some(outputs).filter(|outputs| !outputs.is_empty()) };
    write_json_indented(&document, "    ", out)
}

fn output(diagnostic: &Diagnostic<'_>) -> Output {
    let place = diagnostic.place.map_or_else(String::new, |(line, column)| format!(":{line}:{column}"));
    let Diagnostic { file, message, rule, .. } = diagnostic;
    Output { r#type: diagnostic.severity, message: format!("{file}{place}: {message} [{rule}]") }
}
