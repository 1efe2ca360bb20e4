//! `catalog validate`: everything that `opm validate` rejects, each with its place, and what is likely to cause problems.
//!
//! [`decode`] looks at one document by itself and keeps what others may refer to, so that documents can be read as a
//! stream and in parallel; [`link`] then puts the packages together. Neither reads files.

mod blob;
mod decode;
mod fields;
mod graph;
mod link;
mod openshift;
mod problem;
mod reference;
mod repair;
mod rules;

use crate::report::Severity;

pub use blob::{Blob, Bundle, Channel, Deprecation, Deprecations, Entry, Package};
pub use decode::{Decoded, Input, check_package_name, decode};
pub use fields::bytes as base64_data;
pub use graph::{Shape, head_positions, heads, shape, upgrade_breaks};
pub use link::{Linked, Packages, link};
pub use openshift::OpenshiftVersion;
pub use problem::{Place, Problem, Rule};
pub use rules::RULES;

/// The maximum number of problems of one rule that are reported.
pub const MAX_PROBLEMS: usize = 100;

/// What was found in a catalog.
#[derive(Debug)]
pub struct Report {
    /// The names of its packages, sorted.
    pub packages: Vec<String>,
    /// How many channels it has.
    pub channels: usize,
    /// How many bundles it has.
    pub bundles: usize,
    /// What is wrong, sorted by place: at most [`MAX_PROBLEMS`] of each rule.
    pub problems: Vec<Problem>,
    /// How many problems are not in the list.
    pub omitted: usize,
}

impl Report {
    /// Returns whether no problem is an error.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.problems.iter().all(|problem| problem.rule.severity != Severity::Error)
    }
}

/// Returns everything that is wrong with a catalog of which every document can be read, sorted by place: what was found in its
/// `documents`, and what linking its blobs finds.
#[must_use]
pub fn problems(
    documents: Vec<Problem>,
    blobs: &[Blob],
    openshift: Option<OpenshiftVersion>,
) -> Vec<Problem> {
    let mut problems = documents;
    problems.extend(link(blobs).1);
    problems.extend(openshift.into_iter().flat_map(|version| openshift::check(blobs, version)));
    sort(&mut problems);
    problems
}

fn sort(problems: &mut [Problem]) {
    problems.sort_by(|a, b| (&a.place, a.rule.id).cmp(&(&b.place, b.rule.id)));
}

/// Puts together what was found in all documents of a catalog, which is for a version of OpenShift if one is given.
///
/// Where a document could not be read, the documents are not linked: what it lacks would be reported of the others.
#[must_use]
pub fn report(documents: Vec<Decoded>, openshift: Option<OpenshiftVersion>) -> Report {
    match report_with(documents, openshift, |_| Ok::<_, std::convert::Infallible>(Vec::new())) {
        Ok(report) => report,
        Err(never) => match never {},
    }
}

/// Puts together what was found in all documents of a catalog, with what `check` finds in its packages.
///
/// # Errors
/// That of `check`.
pub fn report_with<E>(
    documents: Vec<Decoded>,
    openshift: Option<OpenshiftVersion>,
    check: impl FnOnce(&Packages<'_>) -> Result<Vec<Problem>, E>,
) -> Result<Report, E> {
    let mut problems = Vec::new();
    let mut blobs = Vec::with_capacity(documents.len());
    for document in documents {
        problems.extend(document.problems);
        blobs.push(document.blob);
    }
    let mut report =
        Report { packages: Vec::new(), channels: 0, bundles: 0, problems: Vec::new(), omitted: 0 };
    let (packages, linked) = link(&blobs);
    let is_complete = !blobs.iter().any(|blob| matches!(blob, Blob::Invalid));
    // The graph of a channel does not depend on other documents.
    problems.extend(linked.into_iter().filter(|problem| is_complete || graph::is_checked(problem.rule)));
    if is_complete {
        problems.extend(check(&packages)?);
    }
    problems.extend(openshift.into_iter().flat_map(|version| openshift::check(&blobs, version)));
    for (name, linked) in packages {
        report.packages.push(name.to_owned());
        report.channels += linked.channels.len();
        report.bundles += linked.bundles.len();
    }
    sort(&mut problems);
    let mut counts = std::collections::HashMap::new();
    let all = problems.len();
    problems.retain(|problem| {
        let count = counts.entry(problem.rule.id).or_insert(0);
        *count += 1;
        *count <= MAX_PROBLEMS
    });
    report.omitted = all - problems.len();
    report.problems = problems;
    Ok(report)
}
