//! Reads the files around a bundle in a catalog's repository.

use crate::submission::CI;
use crate::{Content, Document, File, RepositoryContext};

/// Adds the files [`CI`] and [`RELEASE`](crate::submission::RELEASE) of a repository by their paths from the bundle, with the first document of each; an
/// invalid one is empty.
#[must_use]
pub fn with_files<'n>(
    files: impl IntoIterator<Item = (&'n str, Vec<u8>)>,
    mut submission: RepositoryContext,
) -> RepositoryContext {
    for (name, bytes) in files {
        let tree = kube_yaml::parse(&bytes).documents.into_iter().next().unwrap_or_default();
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
