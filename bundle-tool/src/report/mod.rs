//! Findings, and how people and programs get to read them.

mod finding;
mod json;
pub mod rules;
mod text;

pub use finding::{Finding, Severity, Suite};
pub use json::json;
pub use text::text;

/// What was found in one bundle.
#[derive(Debug)]
pub struct BundleReport {
    /// The folder or image as the user named it.
    pub path: String,
    /// The CSV's name, where there is one.
    pub name: Option<String>,
    /// The package that `annotations.yaml` names, where it does.
    pub package: Option<String>,
    /// The findings, sorted by file, place and rule.
    pub findings: Vec<Finding>,
}

impl BundleReport {
    /// Whether nothing of severity error was found.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.findings.iter().all(|finding| finding.severity != Severity::Error)
    }
}
