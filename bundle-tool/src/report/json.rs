//! The JSON document that programs read: `{"version", "bundles": [{path, name, package, passed, findings}], "unreadable"}`.

use std::io::{self, Write};

use serde::Serialize;

use super::bundle::{BundleReport, UnreadBundle};
use super::finding::Finding;

/// The version of the document's form.
const VERSION: u32 = 1;

#[derive(Serialize)]
struct Document<'a> {
    version: u32,
    bundles: Vec<Entry<'a>>,
    unreadable: &'a [UnreadBundle],
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
pub fn json(reports: &[BundleReport], unreadable: &[UnreadBundle], out: &mut impl Write) -> io::Result<()> {
    let bundles = reports
        .iter()
        .map(|report| Entry {
            path: &report.path,
            name: report.name.as_deref(),
            package: report.package.as_deref(),
            passed: report.passed(),
            findings: &report.findings,
        })
        .collect();
    serde_json::to_writer_pretty(&mut *out, &Document { version: VERSION, bundles, unreadable })?;
    writeln!(out)
}
