//! What validation finds, in one form for bundles and catalogs.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::catalog::validate::Problem;
use crate::report::{Finding, Fix, Severity};

/// What was found in a bundle or a catalog.
#[derive(Debug, Default)]
pub struct Validated {
    /// What was found; what is ignored is not part of it.
    pub items: Vec<Item>,
    /// The texts of files that were validated, by their paths below the bundle or the catalog.
    pub texts: BTreeMap<String, Vec<u8>>,
    /// The file that stands for the bundle or the catalog as a whole, below it.
    pub main: Option<String>,
}

/// Why a bundle or a catalog was not validated.
#[derive(Debug)]
pub struct Failure {
    /// The reason.
    pub message: String,
    /// The file that is at fault, such as settings, and the line and column.
    pub place: Option<(PathBuf, (u32, u32))>,
}

/// A finding or a problem.
#[derive(Debug)]
pub struct Item {
    /// The severity.
    pub severity: Severity,
    /// The rule's id.
    pub rule: &'static str,
    /// What is wrong.
    pub message: String,
    /// An instruction; empty if there is none.
    pub help: String,
    /// The file, below the bundle or the catalog.
    pub file: Option<String>,
    /// The line and column, from 1.
    pub place: Option<(u32, u32)>,
    /// The column behind what is wrong.
    pub end_column: Option<u32>,
    /// Other places.
    pub related: Vec<RelatedPlace>,
    /// How it can be fixed.
    pub fix: Option<Box<Fix>>,
    /// Whether it is a problem of a catalog, whose files have many documents and no comments that ignore findings.
    pub is_of_catalog: bool,
}

/// Another place that explains an item.
#[derive(Debug)]
pub struct RelatedPlace {
    /// What is there.
    pub message: String,
    /// The file, below the bundle or the catalog.
    pub file: String,
    /// The line and column, from 1.
    pub place: (u32, u32),
    /// The column behind it.
    pub end_column: Option<u32>,
}

impl From<Finding> for Item {
    fn from(finding: Finding) -> Self {
        let related = finding.related.into_iter().map(|related| RelatedPlace {
            message: related.message,
            file: related.file,
            place: (related.line, related.column),
            end_column: related.excerpt.map(|excerpt| excerpt.end_column),
        });
        Self {
            severity: finding.severity,
            rule: finding.rule,
            message: finding.message,
            help: finding.help.to_owned(),
            file: finding.file,
            place: finding.line.zip(finding.column),
            end_column: finding.end_column,
            related: related.collect(),
            fix: finding.fix,
            is_of_catalog: false,
        }
    }
}

impl From<Problem> for Item {
    fn from(problem: Problem) -> Self {
        let place = &problem.place;
        Self {
            severity: problem.rule.severity,
            rule: problem.rule.id,
            help: problem.help().to_owned(),
            file: Some(place.file.to_string()),
            place: (place.line > 0).then_some((place.line, place.column)),
            end_column: None,
            related: Vec::new(),
            fix: problem.fix,
            is_of_catalog: true,
            message: problem.message,
        }
    }
}
