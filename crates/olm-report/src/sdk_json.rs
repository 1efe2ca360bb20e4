//! operator-sdk's JSON, `--output json-alpha1`: `{"passed": true, "outputs": [{"type": "warning", "message": "…"}]}`.
//!
//! Source: `internal/validate/result.go` of operator-sdk v1.42, which prints one such document for its one bundle. Here
//! several bundles share one document, and messages begin with the place.

use std::io::{self, Write};

use serde::Serialize;

use super::diagnostic::{Diagnostic, Subject};
use kube_yaml::text::write_json_indented;
use olm_model::report::{Severity, UnreadBundle, one_line};

/// The result of a validation.
#[derive(Debug, Serialize)]
pub struct SdkResult {
    passed: bool,
    /// `null` without findings, as Go prints an empty list.
    outputs: Option<Vec<SdkOutput>>,
}

/// A finding.
#[derive(Debug, Serialize)]
pub struct SdkOutput {
    /// The severity.
    pub r#type: Severity,
    /// The message.
    pub message: String,
}

impl SdkResult {
    /// Returns the result that consists of findings. It is passed if none is an error.
    ///
    /// operator-sdk prints warnings before errors, validator by validator; here errors come first.
    #[must_use]
    pub fn new(mut outputs: Vec<SdkOutput>) -> Self {
        outputs.sort_by_key(|output| output.r#type);
        let passed = outputs.iter().all(|output| output.r#type != Severity::Error);
        Self { passed, outputs: Some(outputs).filter(|outputs| !outputs.is_empty()) }
    }

    /// Returns whether there is no error.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.passed
    }

    /// Returns the findings.
    #[must_use]
    pub fn outputs(&self) -> &[SdkOutput] {
        self.outputs.as_deref().unwrap_or_default()
    }

    /// Writes the JSON document.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write(&self, out: &mut (impl Write + ?Sized)) -> io::Result<()> {
        write_json_indented(self, "    ", out)
    }
}

/// Prints what was found in operator-sdk's format.
///
/// # Errors
/// The output cannot be written.
pub fn sdk_json(
    subjects: &[Subject<'_>],
    unreadable: &[UnreadBundle],
    out: &mut (impl Write + ?Sized),
) -> io::Result<()> {
    let findings = subjects.iter().flat_map(|subject| &subject.diagnostics);
    let mut outputs: Vec<_> =
        findings.filter(|diagnostic| diagnostic.ignored.is_none()).map(output).collect();
    outputs.extend(unreadable.iter().map(|bundle| SdkOutput {
        r#type: Severity::Error,
        message: format!("{}: {}", bundle.path, bundle.message),
    }));
    let mut result = SdkResult::new(outputs);
    result.passed = unreadable.is_empty() && subjects.iter().all(|subject| subject.passed);
    result.write(out)
}

fn output(diagnostic: &Diagnostic<'_>) -> SdkOutput {
    let file = Some(diagnostic.file.as_str()).filter(|file| !file.is_empty());
    SdkOutput {
        r#type: diagnostic.severity,
        message: one_line(file, diagnostic.place, diagnostic.message, diagnostic.rule),
    }
}
