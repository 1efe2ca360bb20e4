//! The JSON document that programs read: `{"bundles": [{path, name, package, passed, findings}]}`.

use std::io::{self, Write};

use serde::Serialize;

use super::{BundleReport, Finding};

#[derive(Serialize)]
struct Document<'a> {
    bundles: Vec<Entry<'a>>,
}

#[derive(Serialize)]
struct Entry<'a> {
    path: &'a str,
    name: Option<&'a str>,
    package: Option<&'a str>,
    passed: bool,
    findings: &'a [Finding],
}

/// Prints one document with all bundles.
///
/// # Errors
/// The output cannot be written.
pub fn json(reports: &[BundleReport], out: &mut impl Write) -> io::Result<()> {
    let bundles = reports
        .iter()
        .map(|bundle| Entry {
            path: &bundle.path,
            name: bundle.name.as_deref(),
            package: bundle.package.as_deref(),
            passed: bundle.passed(),
            findings: &bundle.findings,
        })
        .collect();
    serde_json::to_writer_pretty(&mut *out, &Document { bundles })?;
    writeln!(out)
}
