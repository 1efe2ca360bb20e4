//! Reads what surrounds a bundle in a catalog's repository: `operators/NAME/VERSION`.

use std::fs;
use std::path::{Path, PathBuf};

use super::bundle;
use super::file::{self, MAX_FILE_SIZE};
use super::yaml;
use crate::model::submission::{CI, OPENSHIFT_VERSIONS, RELEASE, Sibling};
use crate::model::{Annotations, Bundle, Content, Document, File, Submission};

/// Maximum number of other bundles of an operator that are read.
pub const MAX_SIBLINGS: usize = 500;

/// Reads the directory of the operator that a bundle's directory belongs to; nothing if the bundle is elsewhere.
///
/// What cannot be read there is left out: other findings are about the bundle itself.
#[must_use]
pub fn around(directory: &Path) -> Option<Submission> {
    let directory = fs::canonicalize(directory).ok()?;
    let name = |path: &Path| path.file_name().and_then(|name| name.to_str()).map(str::to_owned);
    let operator = operator_of(&directory)?;
    let version = name(&directory)?;
    let mut siblings: Vec<Sibling> = fs::read_dir(operator)
        .ok()?
        .filter_map(|entry| name(&entry.ok()?.path()))
        .filter(|sibling| *sibling != version && operator.join(sibling).join("manifests").is_dir())
        .take(MAX_SIBLINGS)
        .filter_map(|sibling| {
            let bundle = bundle::directory(&operator.join(&sibling)).ok()?;
            Some(described(&sibling, &bundle))
        })
        .collect();
    siblings.sort_by(|a, b| a.directory.cmp(&b.directory));
    let paths = [(CI, operator.join("ci.yaml")), (RELEASE, directory.join(RELEASE))];
    let files = paths.into_iter().filter_map(|(name, path)| {
        let bytes = file::read(&path, MAX_FILE_SIZE).ok()?;
        Some((name, bytes))
    });
    Some(with_files(
        files,
        Submission { operator: name(operator)?, version, siblings, ..Submission::default() },
    ))
}

/// Returns the directory of the operator that a bundle's directory belongs to; nothing if the bundle is elsewhere.
fn operator_of(directory: &Path) -> Option<&Path> {
    let operator = directory.parent()?;
    (operator.parent()?.file_name()? == "operators").then_some(operator)
}

/// Returns the path of the file beside a bundle's directory that configures its operator, whether it exists or not.
#[must_use]
pub fn beside(directory: &Path) -> Option<PathBuf> {
    Some(operator_of(&fs::canonicalize(directory).ok()?)?.join("ci.yaml"))
}

/// Returns what other bundles of an operator need to know of a bundle.
fn described(directory: &str, bundle: &Bundle) -> Sibling {
    let annotations = bundle.annotations();
    let get = |key: &str| annotations.and_then(|annotations| annotations.get(key)).map(str::to_owned);
    Sibling {
        directory: directory.to_owned(),
        name: bundle.csv().map(|csv| csv.name().to_owned()).unwrap_or_default(),
        package: get(Annotations::PACKAGE).unwrap_or_default(),
        openshift_versions: get(OPENSHIFT_VERSIONS).filter(|versions| !versions.is_empty()),
    }
}

/// Adds the files [`CI`] and [`RELEASE`] of a repository by their paths from the bundle, with the first document of each; an
/// invalid one is empty.
#[must_use]
pub fn with_files<'n>(
    files: impl IntoIterator<Item = (&'n str, Vec<u8>)>,
    mut submission: Submission,
) -> Submission {
    for (name, bytes) in files {
        let tree = yaml::parse(&bytes).documents.into_iter().next().unwrap_or_default();
        let document = Some(Document { file: name.to_owned(), tree });
        if name == CI {
            submission.ci = document;
        } else {
            submission.release = document;
        }
        let size = bytes.len() as u64;
        submission.files.push(File { path: name.to_owned(), size, content: Content::Other, bytes });
    }
    submission
}
