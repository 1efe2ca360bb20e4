//! The JSON document that programs read: `{"version", "bundles": [{path, name, package, passed, findings}], "unreadable"}`,
//! with `"catalogs"` if any were validated. `docs/report.schema.json` describes it.

use std::io::{self, Write};

use serde::Serialize;

use super::bundle::{BundleReport, UnreadBundle};
use super::finding::Finding;

/// The version of the document's form.
const VERSION: u32 = 1;

#[derive(Serialize)]
struct Document<'a, C> {
    version: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    bundles: Option<Vec<Entry<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    catalogs: Option<&'a [C]>,
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

/// Prints one document with all bundles and catalogs.
///
/// # Errors
/// The output cannot be written.
pub fn json<C: Serialize>(
    bundles: Option<&[BundleReport]>,
    catalogs: Option<&[C]>,
    unreadable: &[UnreadBundle],
    out: &mut impl Write,
) -> io::Result<()> {
    fn entry(report: &BundleReport) -> Entry<'_> {
        let BundleReport { path, name, package, findings } = report;
        Entry { path, name: name.as_deref(), package: package.as_deref(), passed: report.passed(), findings }
    }
    let bundles = bundles.map(|bundles| bundles.iter().map(entry).collect());
    serde_json::to_writer_pretty(&mut *out, &Document { version: VERSION, bundles, catalogs, unreadable })?;
    writeln!(out)
}
