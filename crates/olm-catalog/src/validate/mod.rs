//! Validates catalogs: reports everything that `opm validate` rejects, each with its position, and what is likely to cause
//! problems.
//!
//! [`decode`] looks at one document by itself and keeps what others may refer to, so that documents can be read as a
//! stream and in parallel; [`resolve`] then puts the packages together. Neither reads files. The rules are documented in
//! [`olm_rules::catalog`], and findings are those of all rules.

mod blob;
mod decode;
mod fields;
mod graph;
mod openshift;
mod reference;
mod repair;
mod resolve;

use olm_model::kubernetes::Minor;
use olm_model::report::{CatalogReport, Finding};
use olm_rules::{IgnoreComment, Selection};

pub use blob::{Blob, Bundle, Channel, Deprecation, Deprecations, Entry, Package, SourcePosition};
pub use decode::{Decoded, decode};
pub use fields::bytes as base64_data;
pub use graph::{Shape, head_positions, heads, shape, upgrade_breaks};
pub use openshift::version_of_path;
pub use reference::check as check_image_reference;
pub use resolve::{PackageGraph, Packages, UnknownChannel, resolve};

/// Validates a catalog whose documents were decoded, and which is for a version of OpenShift if one is given. `path` is the catalog
/// as the user named it.
///
/// If a document could not be read, the references between documents are not validated, because those to its contents would be
/// reported as broken.
#[must_use]
pub fn report(
    path: &str,
    documents: Vec<Decoded>,
    openshift: Option<Minor>,
    selection: &Selection,
) -> CatalogReport {
    match report_with(
        path,
        documents,
        openshift,
        selection,
        |_| Ok::<_, std::convert::Infallible>(Vec::new()),
    ) {
        Ok(report) => report,
        Err(never) => match never {},
    }
}

/// Validates a catalog as [`report`] does, with what `check` finds in its packages.
///
/// # Errors
/// That of `check`.
pub fn report_with<E>(
    path: &str,
    documents: Vec<Decoded>,
    openshift: Option<Minor>,
    selection: &Selection,
    check: impl FnOnce(&Packages<'_>) -> Result<Vec<Finding>, E>,
) -> Result<CatalogReport, E> {
    let (mut findings, mut comments) = (Vec::new(), Vec::new());
    let mut blobs = Vec::with_capacity(documents.len());
    for document in documents {
        findings.extend(document.findings);
        comments.extend(document.comments);
        blobs.push(document.blob);
    }
    let (packages, resolved) = resolve(&blobs);
    let is_complete = !blobs.iter().any(|blob| matches!(blob, Blob::Invalid));
    // The graph of a channel does not depend on other documents.
    findings.extend(resolved.into_iter().filter(|finding| is_complete || graph::is_checked(finding)));
    if is_complete {
        findings.extend(check(&packages)?);
    }
    findings.extend(openshift.into_iter().flat_map(|version| openshift::check(&blobs, version)));
    let mut report = CatalogReport {
        path: path.to_owned(),
        packages: Vec::new(),
        channels: 0,
        bundles: 0,
        findings: olm_rules::choose(findings, comments, selection),
    };
    for (name, package) in packages {
        report.packages.push(name.to_owned());
        report.channels += package.channels.len();
        report.bundles += package.bundles.len();
    }
    Ok(report)
}

/// Returns all findings of a catalog of which every document can be read: those of its documents, and those of the references between
/// them.
#[must_use]
pub fn findings(
    mut documents: Vec<Finding>,
    comments: Vec<IgnoreComment>,
    blobs: &[Blob],
    openshift: Option<Minor>,
    selection: &Selection,
) -> Vec<Finding> {
    documents.extend(resolve(blobs).1);
    documents.extend(openshift.into_iter().flat_map(|version| openshift::check(blobs, version)));
    olm_rules::choose_all(documents, comments, selection)
}
