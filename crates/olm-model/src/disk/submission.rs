//! Reads what surrounds a bundle in a catalog's repository: `operators/NAME/VERSION`.

use std::fs;
use std::path::{Path, PathBuf};

use super::bundle;
use super::directory::Directory;
use super::overlay::Overlay;
use crate::openshift::OPENSHIFT_VERSIONS;
use crate::read::submission::with_files;
use crate::read::{MAX_FILE_SIZE, Unreadable};
use crate::submission::{CI, PublishedVersion, RELEASE};
use crate::{Annotations, Bundle, RepositoryContext};

/// Maximum number of other bundles of an operator that are read.
pub const MAX_SIBLINGS: usize = 500;

/// Reads the directory of the operator that a bundle's directory belongs to; nothing if the bundle is elsewhere.
///
/// What cannot be read there is omitted, because other findings are about the bundle itself; a link out of the repository is an
/// unreadable file.
pub(crate) fn find_repository(directory: &Path, overlay: &Overlay) -> Option<RepositoryContext> {
    let directory = fs::canonicalize(directory).ok()?;
    let name = |path: &Path| path.file_name().and_then(|name| name.to_str()).map(str::to_owned);
    let operator = operator_of(&directory)?;
    let version = name(&directory)?;
    // Links between the operators of a repository are part of it.
    let repository = operator.parent()?.parent()?;
    let below = operator.strip_prefix(repository).ok()?;
    let repository = Directory::open(repository).ok()?;
    let mut siblings: Vec<PublishedVersion> = fs::read_dir(operator)
        .ok()?
        .filter_map(|entry| name(&entry.ok()?.path()))
        .filter(|sibling| *sibling != version)
        .filter(|sibling| repository.has_directory(below.join(sibling).join("manifests")))
        .take(MAX_SIBLINGS)
        .filter_map(|sibling| {
            let directory = repository.directory(below.join(&sibling)).ok()?;
            let bundle = bundle::read(&directory, &Overlay::default()).ok()?;
            Some(described(&sibling, &bundle))
        })
        .collect();
    siblings.sort_by(|a, b| a.directory.cmp(&b.directory));
    let paths = [(CI, below.join("ci.yaml")), (RELEASE, below.join(&version).join(RELEASE))];
    let mut submission =
        RepositoryContext { operator: name(operator)?, version, siblings, ..RepositoryContext::default() };
    let mut files = Vec::new();
    for (name, path) in paths {
        match overlay.read(&repository, &path, MAX_FILE_SIZE) {
            Ok(bytes) => files.push((name, bytes)),
            Err(error @ Unreadable::LeavesDirectory) => {
                submission.files.push(super::unreadable(name, &error));
            }
            Err(_) => {}
        }
    }
    Some(with_files(files, submission))
}

/// Returns the directory of the operator that a bundle's directory belongs to; nothing if the bundle is elsewhere.
fn operator_of(directory: &Path) -> Option<&Path> {
    let operator = directory.parent()?;
    (operator.parent()?.file_name()? == "operators").then_some(operator)
}

/// Returns the path of the file beside a bundle's directory that configures its operator, whether it exists or not.
#[must_use]
pub fn configuration_of(directory: &Path) -> Option<PathBuf> {
    Some(operator_of(&fs::canonicalize(directory).ok()?)?.join("ci.yaml"))
}

/// Returns what other bundles of an operator need to know of a bundle.
fn described(directory: &str, bundle: &Bundle) -> PublishedVersion {
    let annotations = bundle.annotations();
    let get = |key: &str| annotations.and_then(|annotations| annotations.get(key)).map(str::to_owned);
    PublishedVersion {
        directory: directory.to_owned(),
        name: bundle.csv().map(|csv| csv.name().to_owned()).unwrap_or_default(),
        package: get(Annotations::PACKAGE).unwrap_or_default(),
        openshift_versions: get(OPENSHIFT_VERSIONS).filter(|versions| !versions.is_empty()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::Content;

    #[test]
    fn links_are_followed_within_the_repository() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let operator = "repository/operators/a";
        for version in ["1.0.0/manifests", "1.1.0/manifests"] {
            fs::create_dir_all(at(operator).join(version)).unwrap();
        }
        fs::create_dir_all(at("outside/manifests")).unwrap();
        fs::write(at("secret"), "password\n").unwrap();
        fs::write(at("repository/ci.yaml"), "updateGraph: semver-mode\n").unwrap();
        symlink("../../../outside", at(operator).join("0.9.0")).unwrap();
        symlink("1.1.0", at(operator).join("1.2.0")).unwrap();
        symlink("../../ci.yaml", at(operator).join("ci.yaml")).unwrap();
        symlink("../../../../secret", at(operator).join("1.0.0/release-config.yaml")).unwrap();
        let submission = find_repository(&at(operator).join("1.0.0"), &Overlay::default()).unwrap();
        let siblings: Vec<_> = submission.siblings.iter().map(|sibling| sibling.directory.as_str()).collect();
        assert_eq!(siblings, ["1.1.0", "1.2.0"]);
        assert!(submission.ci.is_some() && submission.release.is_none());
        let release = submission.files.iter().find(|file| file.path == RELEASE).unwrap();
        assert!(matches!(release.content, Content::Unreadable(_)));
    }
}
