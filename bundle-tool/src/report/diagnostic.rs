//! What all printers print: the findings of a bundle or the problems of a catalog, with the paths as the user would name
//! them.

use std::path::Path;

use super::bundle::BundleReport;
use super::excerpt::Excerpt;
use super::finding::{Finding, Ignored, Severity};

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
    /// What is there.
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
    /// How many further findings of the same rules there are.
    pub omitted: usize,
    /// What was found, sorted by file and place.
    pub diagnostics: Vec<Diagnostic<'a>>,
}

/// Returns the path of a file below a bundle or catalog, or beside it (`../ci.yaml`), as the user would name it. Services that
/// show findings with a file compare its path with those of a repository, which have no `..`.
#[must_use]
pub fn path_below(root: &str, file: Option<&str>) -> String {
    let root = root.trim_end_matches('/');
    // `link/..` is the directory of what the link refers to.
    let path = Path::new(root);
    if let (Some(beside), Some(parent)) = (file.and_then(|file| file.strip_prefix("../")), path.parent())
        && path.file_name().is_some()
        && !path.is_symlink()
    {
        return parent.join(beside).display().to_string();
    }
    match file {
        Some(file) => format!("{root}/{file}"),
        None => root.to_owned(),
    }
}

impl<'a> Diagnostic<'a> {
    fn of_finding(root: &str, finding: &'a Finding) -> Self {
        Self {
            severity: finding.severity,
            rule: finding.rule,
            message: &finding.message,
            help: finding.help,
            file: path_below(root, finding.file.as_deref()),
            place: finding.line.zip(finding.column),
            end_column: finding.end_column,
            path: finding.path.as_deref().unwrap_or_default(),
            related: finding
                .related
                .iter()
                .map(|related| RelatedPlace {
                    message: &related.message,
                    file: path_below(root, Some(&related.file)),
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
        let diagnostics = report.findings.iter().map(|finding| Diagnostic::of_finding(&report.path, finding));
        Self {
            kind: "bundle",
            path: &report.path,
            name: report.name.as_deref(),
            passed: report.passed(),
            contents: None,
            omitted: 0,
            diagnostics: diagnostics.collect(),
        }
    }
}
