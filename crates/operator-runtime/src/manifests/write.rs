//! Writes a generated tree to disk: each file whole or not at all, and only if it changed.

use super::error::Error;
use super::tree::Tree;
use std::path::Path;

/// Writes every file of the tree below `directory`, and returns how many changed. Other files are unchanged.
///
/// # Errors
/// When a directory cannot be created or a file cannot be written; that file is then unchanged.
pub fn write(directory: &Path, tree: &Tree) -> Result<usize, Error> {
    let mut changed = 0;
    for (path, text) in tree {
        if atomic_files::file(&directory.join(path), text.as_bytes())? != atomic_files::Change::Unchanged {
            changed += 1;
        }
    }
    Ok(changed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::PathBuf;

    #[test]
    fn files_that_did_not_change_and_those_of_others_are_kept() {
        let directory = tempfile::tempdir().unwrap();
        let mut tree: Tree = [("crd/a.yaml", "a: 1\n"), ("rbac/b.yaml", "b: 1\n")]
            .map(|(p, t)| (PathBuf::from(p), t.to_owned()))
            .into();
        assert_eq!(write(directory.path(), &tree).unwrap(), 2);
        fs::write(directory.path().join("crd/overrides.yaml"), "kept").unwrap();
        assert_eq!(write(directory.path(), &tree).unwrap(), 0);
        tree.insert(PathBuf::from("crd/a.yaml"), "a: 2\n".to_owned());
        assert_eq!(write(directory.path(), &tree).unwrap(), 1);
        let mut names: Vec<_> = fs::read_dir(directory.path().join("crd"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(names, ["a.yaml", "overrides.yaml"]);
    }

    #[test]
    fn directory_in_the_way_is_named() {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir_all(directory.path().join("crd/a.yaml")).unwrap();
        let tree = Tree::from([(PathBuf::from("crd/a.yaml"), String::new())]);
        let error = write(directory.path(), &tree).unwrap_err().to_string();
        assert!(error.starts_with("failed to write ") && error.contains("crd/a.yaml"), "{error}");
    }
}
