//! Reads a bundle with what belongs to it outside of its directory.

use std::path::Path;

use super::bundle::{self, ReadError};
use super::directory::Directory;
use super::overlay::Overlay;
use super::{dockerfile, format, submission};
use crate::Bundle;

/// Reads the bundle in the directory `path` whole: with its Dockerfile and, if it is in a catalog's repository and
/// `with_submission` is set, what surrounds it there. Texts stand for some of the files.
///
/// # Errors
/// As for [`bundle::directory`].
pub fn bundle(path: &Path, overlay: &Overlay, with_submission: bool) -> Result<Bundle, ReadError> {
    let directory = Directory::open(path)?;
    format::require_bundle(path)?;
    let mut bundle = bundle::read(&directory, overlay)?;
    bundle.parent = parent(path);
    bundle.dockerfile = dockerfile::find(path, overlay);
    bundle.submission = if with_submission { submission::find_repository(path, overlay) } else { None };
    Ok(bundle)
}

/// Returns the parent of a directory as the user would name it; `None` for a link, whose `..` is the directory of its target.
fn parent(path: &Path) -> Option<String> {
    // Without a final separator, which would follow a link.
    let path = path.components().as_path();
    path.file_name()?;
    let parent = path.parent()?;
    (!path.is_symlink()).then(|| parent.display().to_string())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::Content;

    #[test]
    fn link_out_of_a_bundle_is_unreadable_where_the_file_counts() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::create_dir_all(at("bundle/manifests")).unwrap();
        std::fs::create_dir(at("bundle/shared")).unwrap();
        std::fs::write(at("secret.yaml"), "secret: 1\n").unwrap();
        std::fs::write(at("bundle/shared/a.yaml"), "kind: A\n").unwrap();
        symlink("../shared/a.yaml", at("bundle/manifests/a.yaml")).unwrap();
        symlink("../../secret.yaml", at("bundle/manifests/b.yaml")).unwrap();
        symlink("../secret.yaml", at("bundle/README.md")).unwrap();
        symlink("../secret.yaml", at("bundle.Dockerfile")).unwrap();
        symlink("../secret.yaml", at("bundle/Dockerfile")).unwrap();
        let bundle = super::bundle(&at("bundle"), &Overlay::default(), true).unwrap();
        assert!(matches!(bundle.dockerfile.as_ref().unwrap().content, Content::Unreadable(_)));
        let file = |name: &str| bundle.files.iter().find(|file| file.path == name).unwrap();
        assert_eq!(file("manifests/a.yaml").bytes, b"kind: A\n");
        assert!(matches!(file("README.md").content, Content::Other));
        assert!(file("manifests/b.yaml").bytes.is_empty());
        assert!(matches!(
            &file("manifests/b.yaml").content,
            Content::Unreadable(reason) if reason == "the symbolic link points outside the directory"
        ));
    }

    #[test]
    fn files_beside_a_bundle_are_in_its_parent() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("a/bundle/manifests")).unwrap();
        symlink("a/bundle", dir.path().join("link")).unwrap();
        let parent = |path: &Path| super::bundle(path, &Overlay::default(), false).unwrap().parent;
        let shown = dir.path().join("a").display().to_string();
        assert_eq!(parent(&dir.path().join("a/bundle/")), Some(shown));
        assert_eq!(parent(&dir.path().join("link")), None);
        assert_eq!(parent(&dir.path().join("link/")), None);
        assert_eq!(parent(&dir.path().join("a/bundle/manifests/..")), None);
    }
}
