//! The JSON document that programs read: `{"version", "bundles": [{path, name, package, passed, findings}], "unreadable"}`,
//! with `"catalogs"` if any were validated. `docs/report.schema.json` describes it.

use std::io::{self, Write};

use serde::Serialize;

use kube_yaml::text::write_json;
use olm_model::report::Finding;
use olm_model::report::{BundleReport, CatalogReport, UnreadBundle};

/// The version of the document's form.
const VERSION: u32 = 1;

#[derive(Serialize)]
struct Document<'a> {
    version: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    bundles: Option<Vec<Entry<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    catalogs: Option<Vec<CatalogEntry<'a>>>,
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

#[derive(Serialize)]
struct CatalogEntry<'a> {
    path: &'a str,
    passed: bool,
    packages: &'a [String],
    channels: usize,
    bundles: usize,
    findings: &'a [Finding],
}

/// Prints one document with all bundles and catalogs.
///
/// # Errors
/// The output cannot be written.
pub fn json(
    bundles: Option<&[BundleReport]>,
    catalogs: Option<&[CatalogReport]>,
    unreadable: &[UnreadBundle],
    out: &mut impl Write,
) -> io::Result<()> {
    fn entry(report: &BundleReport) -> Entry<'_> {
        let BundleReport { path, parent: _, name, package, findings } = report;
        Entry { path, name: name.as_deref(), package: package.as_deref(), passed: report.passed(), findings }
    }
    fn catalog(report: &CatalogReport) -> CatalogEntry<'_> {
        let CatalogReport { path, packages, channels, bundles, findings } = report;
        CatalogEntry {
            path,
            passed: report.passed(),
            packages,
            channels: *channels,
            bundles: *bundles,
            findings,
        }
    }
    let bundles = bundles.map(|bundles| bundles.iter().map(entry).collect());
    let catalogs = catalogs.map(|catalogs| catalogs.iter().map(catalog).collect());
    write_json(&Document { version: VERSION, bundles, catalogs, unreadable }, out)
}
