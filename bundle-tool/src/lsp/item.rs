//! What validation finds, in one form for bundles and catalogs.

use std::collections::BTreeMap;
use std::path::PathBuf;

use olm_model::kubernetes::Versions;
use olm_model::report::{Finding, Fix, Severity};

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

/// A finding.
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
    /// Whether it is about a catalog, whose files have many documents.
    pub is_of_catalog: bool,
    /// The versions of Kubernetes that it holds for, if not for all.
    pub versions: Option<Versions>,
}

/// Another place that explains an item.
#[derive(Debug)]
pub struct RelatedPlace {
    /// The explanation shown beside the location.
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
            help: finding.help.into_owned(),
            file: finding.file,
            place: finding.line.zip(finding.column),
            end_column: finding.end_column,
            related: related.collect(),
            versions: finding.versions,
            fix: finding.fix,
            is_of_catalog: false,
        }
    }
}
