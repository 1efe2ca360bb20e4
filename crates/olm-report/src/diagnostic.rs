//! What all printers print: the findings of a bundle or a catalog, with the paths as the user would name
//! them.

use std::path::Path;

use kube_yaml::text::counted;
use olm_model::kubernetes::Versions;
use olm_model::report::Excerpt;
use olm_model::report::{BundleReport, CatalogReport};
use olm_model::report::{Finding, Ignored, Severity};

/// One finding, with a path that does not depend on what it is a finding of.
#[derive(Debug, Clone)]
pub struct Diagnostic<'a> {
    /// The severity.
    pub severity: Severity,
    /// The rule's id.
    pub rule: &'a str,
    /// The message.
    pub message: &'a str,
    /// An instruction; empty if there is none.
    pub help: &'a str,
    /// The path of the file, or of the bundle or catalog as a whole, from where the user is.
    pub file: String,
    /// The line and column, from 1.
    pub place: Option<(u32, u32)>,
    /// The column behind what is wrong.
    pub end_column: Option<u32>,
    /// The field; empty if there is none.
    pub path: &'a str,
    /// The versions of Kubernetes that it holds for, if not for all.
    pub versions: Option<Versions>,
    /// Other places.
    pub related: Vec<RelatedPlace<'a>>,
    /// Why it does not count.
    pub ignored: Option<&'a Ignored>,
    /// The line in the file.
    pub excerpt: Option<&'a Excerpt>,
}

/// Another place that explains a diagnostic.
#[derive(Debug, Clone)]
pub struct RelatedPlace<'a> {
    /// The explanation shown beside the location.
    pub message: &'a str,
    /// The path of the file from where the user is.
    pub file: String,
    /// The line and column, from 1.
    pub place: (u32, u32),
    /// The line in the file.
    pub excerpt: Option<&'a Excerpt>,
}

/// What was validated: a bundle or a catalog, and what was found.
#[derive(Debug, Clone)]
pub struct Subject<'a> {
    /// `bundle` or `catalog`.
    pub kind: &'static str,
    /// The directory, file or image as the user named it.
    pub path: &'a str,
    /// The CSV's name, where there is one.
    pub name: Option<&'a str>,
    /// Whether nothing that counts is an error.
    pub passed: bool,
    /// What a catalog contains, for people: `1 package, 2 channels, 3 bundles`.
    pub contents: Option<String>,
    /// What was found, sorted by file and place.
    pub diagnostics: Vec<Diagnostic<'a>>,
}

/// Returns the path of a file below a bundle or catalog, or beside it (`../ci.yaml`), as the user would name it. Services that
/// show findings with a file compare its path with those of a repository, which have no `..`.
#[must_use]
fn path_below(root: &str, parent: Option<&str>, file: Option<&str>) -> String {
    let root = root.trim_end_matches('/');
    if let (Some(beside), Some(parent)) = (file.and_then(|file| file.strip_prefix("../")), parent) {
        return kube_yaml::text::path(&Path::new(parent).join(beside));
    }
    match file {
        Some(file) => format!("{root}/{file}"),
        None => root.to_owned(),
    }
}

impl<'a> Diagnostic<'a> {
    /// Returns what is printed of a finding; `path` returns the path of its file as the user would name it.
    fn new(finding: &'a Finding, path: impl Fn(Option<&str>) -> String) -> Self {
        Self {
            severity: finding.severity,
            rule: finding.rule,
            message: &finding.message,
            help: &finding.help,
            file: path(finding.file.as_deref()),
            place: finding.line.zip(finding.column),
            end_column: finding.end_column,
            path: finding.path.as_deref().unwrap_or_default(),
            versions: finding.versions,
            related: finding
                .related
                .iter()
                .map(|related| RelatedPlace {
                    message: &related.message,
                    file: path(Some(&related.file)),
                    place: (related.line, related.column),
                    excerpt: related.excerpt.as_ref(),
                })
                .collect(),
            ignored: finding.ignored.as_ref(),
            excerpt: finding.excerpt.as_ref(),
        }
    }
}

impl<'a> From<&'a BundleReport> for Subject<'a> {
    fn from(report: &'a BundleReport) -> Self {
        let path = |file: Option<&str>| path_below(&report.path, report.parent.as_deref(), file);
        let diagnostics = report.findings.iter().map(|finding| Diagnostic::new(finding, path));
        Self {
            kind: "bundle",
            path: &report.path,
            name: report.name.as_deref(),
            passed: report.passed(),
            contents: None,
            diagnostics: diagnostics.collect(),
        }
    }
}

impl<'a> From<&'a CatalogReport> for Subject<'a> {
    fn from(report: &'a CatalogReport) -> Self {
        // The name of a single file stands for itself.
        let path = |file: Option<&str>| match file {
            Some(file) if !report.path.trim_end_matches('/').ends_with(file) => {
                path_below(&report.path, None, Some(file))
            }
            _ => report.path.trim_end_matches('/').to_owned(),
        };
        let CatalogReport { packages, channels, bundles, .. } = report;
        let counts = [(packages.len(), "package"), (*channels, "channel"), (*bundles, "bundle")];
        let contents = counts.map(|(count, name)| counted(count, name)).join(", ");
        let diagnostics = report.findings.iter().map(|finding| Diagnostic::new(finding, path));
        Self {
            kind: "catalog",
            path: &report.path,
            name: None,
            passed: report.passed(),
            contents: Some(contents),
            diagnostics: diagnostics.collect(),
        }
    }
}
