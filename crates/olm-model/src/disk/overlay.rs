//! Texts that stand for files, such as the documents that are open in an editor: what is listed and read through an
//! [`Overlay`] is what would be on the disk if all of them were saved.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use super::directory::Directory;
use super::error::WalkError;
use super::walk::{Entry, Kind, Options};
use crate::read::Unreadable;

/// Texts by the paths of the files that they stand for.
#[derive(Debug, Clone, Default)]
pub struct Overlay(BTreeMap<PathBuf, Arc<str>>);

impl Overlay {
    /// Returns an overlay with these texts.
    #[must_use]
    pub fn new(texts: impl IntoIterator<Item = (PathBuf, Arc<str>)>) -> Self {
        Self(texts.into_iter().collect())
    }

    /// Returns the text that stands for a file.
    #[must_use]
    pub fn get(&self, path: &Path) -> Option<&Arc<str>> {
        self.0.get(path)
    }

    /// Lists a directory as [`Directory::walk`] does, with the files that exist in memory only.
    ///
    /// # Errors
    /// As for [`Directory::walk`].
    pub fn walk(&self, directory: &Directory, options: Options) -> Result<Vec<Entry>, WalkError> {
        let mut entries = directory.walk(options)?;
        let directory = directory.path();
        let below = self.0.range(directory.to_owned()..);
        let mut added = BTreeMap::new();
        for (path, text) in below.take_while(|(path, _)| path.starts_with(directory)) {
            let Some(parts) = parts_below(directory, path, options) else { continue };
            let name = parts.join("/");
            let size = text.len() as u64;
            if let Ok(at) = entries.binary_search_by(|entry| entry.name.as_str().cmp(&name)) {
                entries[at].kind = Kind::File(size);
                continue;
            }
            for count in 1..parts.len() {
                let name = parts[..count].join("/");
                if entries.binary_search_by(|entry| entry.name.as_str().cmp(&name)).is_err() {
                    added.insert(name, Kind::Directory);
                }
            }
            added.insert(name, Kind::File(size));
        }
        let added = added.into_iter();
        entries.extend(added.map(|(name, kind)| Entry { below: PathBuf::from(&name), name, kind }));
        entries.sort_by(|a, b| a.name.cmp(&b.name).then_with(|| a.below.cmp(&b.below)));
        Ok(entries)
    }

    /// Reads a file of a directory as [`Directory::read`] does, or the text that stands for it.
    ///
    /// # Errors
    /// As for [`Directory::read`].
    pub fn read(
        &self,
        directory: &Directory,
        name: impl AsRef<Path>,
        limit: u64,
    ) -> Result<Vec<u8>, Unreadable> {
        match self.0.get(&directory.path().join(&name)) {
            Some(text) if text.len() as u64 > limit => Err(Unreadable::TooLarge(limit)),
            Some(text) => Ok(text.as_bytes().to_vec()),
            None => directory.read(name, limit),
        }
    }
}

/// Returns the parts of a path below a directory; nothing where the walker would not list it.
fn parts_below<'p>(directory: &Path, path: &'p Path, options: Options) -> Option<Vec<&'p str>> {
    let mut parts = Vec::new();
    for component in path.strip_prefix(directory).ok()?.components() {
        let Component::Normal(part) = component else { return None };
        parts.push(part.to_str()?);
    }
    let (name, directories) = parts.split_last()?;
    let is_hidden = options.skip_hidden_directories && directories.iter().any(|part| part.starts_with('.'));
    let is_temporary = atomic_files::is_temporary(std::ffi::OsStr::new(name));
    (!is_hidden && !is_temporary && parts.len() <= options.max_depth).then_some(parts)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn texts_stand_for_files_on_the_disk_and_for_new_ones() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("a")).unwrap();
        fs::write(dir.path().join("a/x"), "old").unwrap();
        fs::write(dir.path().join("b"), "unchanged").unwrap();
        let text = |path: &str, text: &str| (dir.path().join(path), Arc::from(text));
        let overlay = Overlay::new([
            text("a/x", "newer"),
            text("a/y", "1"),
            text("c/d/z", "22"),
            text("a/../e", "3"),
            text(".git/f", "4"),
            text("../outside", "5"),
        ]);
        let directory = Directory::open(dir.path()).unwrap();
        let options = Options { skip_hidden_directories: true, ..Options::default() };
        let described = |entry: Entry| match entry.kind {
            Kind::File(size) => format!("{}: {size}", entry.name),
            Kind::Directory => format!("{}/", entry.name),
            Kind::Unreadable(error) => format!("{}: {error}", entry.name),
        };
        let listed: Vec<_> = overlay.walk(&directory, options).unwrap().into_iter().map(described).collect();
        assert_eq!(listed, ["a/", "a/x: 5", "a/y: 1", "b: 9", "c/", "c/d/", "c/d/z: 2"]);
        assert_eq!(overlay.read(&directory, "a/x", 5).unwrap(), b"newer");
        assert!(matches!(overlay.read(&directory, "a/x", 4), Err(Unreadable::TooLarge(4))));
        assert_eq!(overlay.read(&directory, "b", 9).unwrap(), b"unchanged");
    }
}
