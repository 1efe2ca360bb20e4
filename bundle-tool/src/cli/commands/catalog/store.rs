//! A catalog directory that a command changes: its documents, and the files with the changed ones in place.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use atomic_files::{DirectoryLock, Expected, Fingerprint, Tree};
use rayon::prelude::*;
use serde_json::Value as Json;

use super::load;
use super::validate::{Next, check};
use kube_yaml::edit::{document_removal, with_ranges};
use kube_yaml::go_json;
use kube_yaml::{Path as FieldPath, decode_ignoring_case};
use olm_catalog::edit;
use olm_catalog::validate::Blob;
use olm_catalog::validate::decode;
use olm_model::catalog::Bundle;
use olm_model::disk;
use olm_model::disk::file;
use olm_model::read::catalog as reader;
use olm_model::read::catalog::{Content, Limits, Source};
use olm_model::report::Finding;
use olm_rules::IgnoreComment;

/// The maximum size in bytes of a file that is changed.
pub(crate) const MAX_FILE_SIZE: u64 = 1 << 30;

/// Checks that a copy of the catalog at `catalog` can be written to `to`.
///
/// # Errors
/// `to` is not empty, is not a directory, or is inside the catalog, which would then contain its copy.
pub(crate) fn check_target(catalog: &Path, to: &Path) -> Result<()> {
    if to.exists()
        && std::fs::read_dir(to).with_context(|| format!("failed to list {}", to.display()))?.next().is_some()
    {
        bail!("{} is not empty; choose a new directory", to.display());
    }
    // What does not exist yet is where its nearest parent is.
    let target = std::path::absolute(to).with_context(|| format!("failed to resolve {}", to.display()))?;
    let target = target.ancestors().find_map(|path| path.canonicalize().ok());
    if let (Ok(catalog), Some(target)) = (catalog.canonicalize(), target)
        && target.starts_with(catalog)
    {
        bail!("{} is inside the catalog; choose a directory outside it", to.display());
    }
    Ok(())
}

/// The documents of a catalog, and where they are.
pub(crate) struct Store {
    root: PathBuf,
    /// One for each of `slots`.
    pub(crate) blobs: Vec<Blob>,
    /// What is wrong with the documents, regardless of other documents.
    pub(crate) findings: Vec<Finding>,
    /// The comments in them that ignore findings.
    pub(crate) comments: Vec<IgnoreComment>,
    slots: Vec<Slot>,
    /// The document that begins after this number of lines of a file; `None` if several do.
    lines: BTreeMap<(Arc<str>, u32), Option<usize>>,
    /// The files whose bytes are not those on disk.
    changed: Changed,
    /// What the other files held before they were parsed.
    read: BTreeMap<Arc<str>, Fingerprint>,
    /// Whether all documents of a file are JSON.
    is_json: BTreeMap<Arc<str>, bool>,
    /// The file that was read last.
    last: RefCell<Option<Cached>>,
}

/// A file and its bytes.
type Cached = (Arc<str>, Arc<Vec<u8>>);

/// Where a document is.
struct Slot {
    file: Arc<str>,
    line: u32,
    offset: u64,
    length: usize,
    is_json: bool,
}

/// What becomes of a document.
pub(crate) enum Change {
    /// It is removed.
    Remove,
    /// It has other values: bytes that do not change are kept where that is possible.
    To(Json),
    /// It has another text.
    Text(String),
}

/// The files of a catalog that change.
pub(crate) type Changed = BTreeMap<String, ChangedFile>;

/// A file of a catalog that changes.
#[derive(Debug, Clone)]
pub(crate) struct ChangedFile {
    /// What was read from the disk.
    pub(crate) read: Expected,
    /// The new bytes; `None` if the file is removed.
    pub(crate) bytes: Option<Vec<u8>>,
}

impl Store {
    /// Reads a catalog, which may be invalid as long as every document can be read.
    pub(crate) fn read(root: &Path) -> Result<Self> {
        Self::with(root, Changed::new())
    }

    /// Reads a catalog as it would be with changed files.
    pub(crate) fn with(root: &Path, changed: Changed) -> Result<Self> {
        let sources = sources(root, &changed)?;
        let read = fingerprints(&sources);
        let documents = reader::documents(sources, Limits::default(), |document| {
            let slot = document.content.as_ref().ok().map(|parsed| Slot {
                file: document.file.clone(),
                line: parsed.line,
                offset: parsed.offset,
                length: parsed.text.len(),
                is_json: parsed.is_json,
            });
            (slot, decode(&document))
        })?;
        let mut store = Self {
            root: root.to_owned(),
            blobs: Vec::new(),
            findings: Vec::new(),
            comments: Vec::new(),
            slots: Vec::new(),
            lines: BTreeMap::new(),
            changed,
            read,
            is_json: BTreeMap::new(),
            last: RefCell::default(),
        };
        for (slot, decoded) in documents {
            load::check_readable(&decoded)?;
            let Some(slot) = slot else { continue };
            *store.is_json.entry(slot.file.clone()).or_insert(true) &= slot.is_json;
            let begins = store.lines.entry((slot.file.clone(), slot.line));
            begins.and_modify(|index| *index = None).or_insert(Some(store.slots.len()));
            store.slots.push(slot);
            store.blobs.push(decoded.blob);
            store.findings.extend(decoded.findings);
            store.comments.extend(decoded.comments);
        }
        Ok(store)
    }

    /// Returns the file of a document.
    pub(crate) fn file(&self, index: usize) -> Option<Arc<str>> {
        self.slots.get(index).map(|slot| slot.file.clone())
    }

    /// Returns the document at a line of a file; `None` if it does not begin on a line of its own.
    pub(crate) fn at(&self, file: &str, line: u32) -> Result<Option<usize>> {
        let key = (file.into(), line);
        let Some(((name, _), Some(index))) = self.lines.range(..key).next_back() else { return Ok(None) };
        let Some(slot) = self.slots.get(*index).filter(|_| **name == *file) else { return Ok(None) };
        let bytes = self.cached(&slot.file)?;
        let before = bytes.get(..slot.range().start).unwrap_or_default();
        let line = before.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
        Ok(line.iter().all(u8::is_ascii_whitespace).then_some(*index))
    }

    /// Returns whether a document is JSON.
    pub(crate) fn is_json(&self, index: usize) -> bool {
        self.slots.get(index).is_some_and(|slot| slot.is_json)
    }

    /// Returns the text of a document.
    pub(crate) fn document_text(&self, index: usize) -> Result<String> {
        let Some(slot) = self.slots.get(index) else { return Ok(String::new()) };
        let bytes = self.cached(&slot.file)?;
        String::from_utf8(slot.slice(&bytes)?.to_vec())
            .with_context(|| format!("failed to read {}", slot.file))
    }

    /// Returns a document as JSON.
    pub(crate) fn json(&self, index: usize) -> Result<Json> {
        let Some(slot) = self.slots.get(index) else { return Ok(Json::Null) };
        let bytes = self.cached(&slot.file)?;
        let text = slot.slice(&bytes)?;
        Ok(kube_yaml::parse(text).documents.first().map_or(Json::Null, |tree| tree.root().to_json()))
    }

    /// Returns a document as the blob of a bundle.
    pub(crate) fn bundle(&self, index: usize) -> Result<Bundle> {
        let Some(slot) = self.slots.get(index) else { return Ok(Bundle::default()) };
        let bytes = self.cached(&slot.file)?;
        let parsed = kube_yaml::parse(slot.slice(&bytes)?);
        let Some(tree) = parsed.documents.first() else { return Ok(Bundle::default()) };
        let decoded = decode_ignoring_case::<Bundle>(tree.root(), &FieldPath::ROOT);
        Ok(decoded.with_context(|| format!("failed to read {}", slot.file))?.object)
    }

    /// Returns the size of all documents, in bytes.
    pub(crate) fn size(&self) -> usize {
        self.slots.iter().map(|slot| slot.length).sum()
    }

    /// Returns the document of a bundle with the properties of `bundle`. Fields that are not known here stay.
    pub(crate) fn with_properties(&self, index: usize, bundle: Bundle) -> Result<Json> {
        Ok(edit::with_properties(self.json(index)?, bundle)?)
    }

    /// Returns whether a file has documents of the catalog.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.is_json.contains_key(name)
    }

    fn bytes(&self, name: &str) -> Result<Vec<u8>> {
        if let Some(ChangedFile { bytes: Some(bytes), .. }) = self.changed.get(name) {
            return Ok(bytes.clone());
        }
        let path = self.root.join(name);
        let bytes = file::read_below(&self.root, name, MAX_FILE_SIZE)
            .with_context(|| format!("failed to read {}", path.display()))?;
        if self.read.get(name).is_some_and(|read| *read != Fingerprint::new(&bytes)) {
            bail!(atomic_files::Error::Changed { path });
        }
        Ok(bytes)
    }

    /// Returns what was read of a file: from the disk, even if it has changed in memory since then.
    fn expected(&self, name: &str) -> Expected {
        match (self.changed.get(name), self.read.get(name)) {
            (Some(changed), _) => changed.read,
            (None, Some(read)) => (*read).into(),
            (None, None) => Expected::Absent,
        }
    }

    /// Returns the bytes of a file; those of the last file are kept, because documents are read in order.
    fn cached(&self, name: &Arc<str>) -> Result<Arc<Vec<u8>>> {
        let mut last = self.last.borrow_mut();
        if let Some((_, bytes)) = last.as_ref().filter(|(last, _)| last == name) {
            return Ok(bytes.clone());
        }
        let bytes = Arc::new(self.bytes(name)?);
        *last = Some((name.clone(), bytes.clone()));
        Ok(bytes)
    }

    /// Returns the files with `changes` in place and the documents of `new` at the end of
    /// the files that they belong to.
    pub(crate) fn changed(
        &self,
        changes: &BTreeMap<usize, Change>,
        new: &[(Arc<str>, Json)],
    ) -> Result<Changed> {
        let mut by_file: BTreeMap<Arc<str>, Vec<usize>> = BTreeMap::new();
        for (index, slot) in self.slots.iter().enumerate() {
            by_file.entry(slot.file.clone()).or_default().push(index);
        }
        let mut files = Changed::new();
        for (name, indexes) in &by_file {
            if !indexes.iter().any(|index| changes.contains_key(index)) {
                continue;
            }
            if indexes.iter().all(|index| matches!(changes.get(index), Some(Change::Remove))) {
                let removed = ChangedFile { read: self.expected(name), bytes: None };
                files.insert(name.to_string(), removed);
                continue;
            }
            let old = self.bytes(name)?;
            let replacements = indexes.iter().filter_map(|index| {
                changes.get(index).map(|change| self.slots[*index].replacement(&old, change))
            });
            let bytes = with_ranges(&old, replacements.collect::<Result<Vec<_>>>()?);
            let file = ChangedFile { read: self.expected(name), bytes: Some(bytes) };
            files.insert(name.to_string(), file);
        }
        for (name, blob) in new {
            let is_json = self.is_json.get(name).copied().unwrap_or_else(|| name.ends_with(".json"));
            if !files.contains_key(&**name) {
                let mut file = ChangedFile { read: self.expected(name), bytes: None };
                if self.is_json.contains_key(name) || self.root.join(&**name).exists() {
                    let bytes = self.bytes(name)?;
                    // A file that the catalog ignores was not read before.
                    if file.read == Expected::Absent {
                        file.read = Expected::from(Some(&bytes));
                    }
                    file.bytes = Some(bytes);
                }
                files.insert(name.to_string(), file);
            }
            let Some(file) = files.get_mut(&**name) else { continue };
            let bytes = file.bytes.get_or_insert_default();
            if !bytes.is_empty() && !bytes.ends_with(b"\n") {
                bytes.push(b'\n');
            }
            let text = if is_json {
                go_json::pretty(blob) + "\n"
            } else {
                format!("---\n{}", kube_yaml::emit(blob))
            };
            bytes.extend_from_slice(text.as_bytes());
        }
        Ok(files)
    }

    /// Checks the catalog with the changed files, unless `no_validate` is set, and writes them. Returns whether they are
    /// written.
    pub(crate) fn write(
        &self,
        lock: &mut DirectoryLock,
        shown: &Path,
        changed: Changed,
        no_validate: bool,
    ) -> Result<bool> {
        if !no_validate && !check(&shown.display().to_string(), self.sources(&changed)?, Next::Write)? {
            return Ok(false);
        }
        write(lock, changed)?;
        Ok(true)
    }

    /// Returns the files as they will be.
    pub(crate) fn sources(&self, changed: &Changed) -> Result<Vec<Source>> {
        sources(&self.root, changed)
    }
}

/// Returns what files on the disk hold. One that cannot be read is reported when it is parsed.
fn fingerprints(sources: &[Source]) -> BTreeMap<Arc<str>, Fingerprint> {
    let fingerprint = |source: &Source| {
        let Content::Stream(file) = &source.content else { return None };
        Some((source.name.clone(), Fingerprint::from_reader(file.open().ok()?).ok()?))
    };
    sources.par_iter().filter_map(fingerprint).collect()
}

/// Writes the changed files of a catalog, all or none.
///
/// # Errors
/// A file was changed since it was read, or cannot be written: then nothing is written.
pub(crate) fn write(lock: &mut DirectoryLock, changed: Changed) -> Result<()> {
    let mut tree = Tree::new();
    for (path, ChangedFile { read, bytes }) in changed {
        match bytes {
            Some(bytes) => tree.file(path, read, bytes),
            None => tree.remove(path, read),
        };
    }
    lock.write(&tree)?;
    Ok(())
}

/// Returns the files of a catalog as they are with changed ones.
fn sources(root: &Path, changed: &Changed) -> Result<Vec<Source>> {
    let mut sources: BTreeMap<Arc<str>, Source> =
        disk::catalog::sources(root)?.into_iter().map(|source| (source.name.clone(), source)).collect();
    for (name, ChangedFile { bytes, .. }) in changed {
        let name: Arc<str> = name.as_str().into();
        match bytes {
            None => sources.remove(&name),
            Some(bytes) => {
                sources.insert(name.clone(), Source { name, content: Content::Bytes(bytes.clone()) })
            }
        };
    }
    Ok(sources.into_values().collect())
}

impl Slot {
    fn range(&self) -> Range<usize> {
        let start = usize::try_from(self.offset).unwrap_or(usize::MAX);
        start..start.saturating_add(self.length)
    }

    fn slice<'b>(&self, bytes: &'b [u8]) -> Result<&'b [u8]> {
        let Some(text) = bytes.get(self.range()) else {
            bail!("{} was changed while it was being read", self.file)
        };
        Ok(text)
    }

    /// Returns which bytes of its file are replaced to change the document, and by what.
    fn replacement(&self, file: &[u8], change: &Change) -> Result<(Range<usize>, String)> {
        let old = self.slice(file)?;
        let range = self.range();
        Ok(match change {
            Change::Text(text) => (range, text.clone()),
            Change::To(new) => (range, edit::document(old, new, self.is_json)),
            Change::Remove => (document_removal(file, range, self.is_json), String::new()),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const PACKAGE: &str = "schema: olm.package\nname: gizmo\ndefaultChannel: stable\n";

    fn is_changed(error: &anyhow::Error, file: &str) -> bool {
        matches!(error.downcast_ref(), Some(atomic_files::Error::Changed { path }) if path.ends_with(file))
    }

    #[test]
    fn many_documents_on_one_line_are_changed_in_time_in_proportion_to_their_number() {
        let store = |size: usize| {
            let dir = tempfile::tempdir().unwrap();
            let blobs: String = (0..size)
                .map(|index| format!(r#"{{"schema":"olm.package","name":"p{index}","defaultChannel":"a"}}"#))
                .collect();
            fs::write(dir.path().join("catalog.json"), blobs).unwrap();
            let odd = (0..size).filter(|index| index % 2 == 1);
            let changes: BTreeMap<_, _> = odd.map(|index| (index, Change::Remove)).collect();
            (Store::read(dir.path()).unwrap(), changes, dir)
        };
        let growth = test_support::growth(2000, store, |(store, changes, _dir)| {
            let changed = store.changed(&changes, &[]).unwrap();
            let bytes = changed["catalog.json"].bytes.clone().unwrap();
            assert_eq!(bytes.windows(6).filter(|text| text == b"schema").count(), store.blobs.len() / 2);
        });
        assert!(growth < test_support::LINEAR, "{growth}");
    }

    #[test]
    fn store_keeps_what_others_saved_meanwhile() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("catalog.yaml");
        fs::write(&path, PACKAGE).unwrap();
        let change = BTreeMap::from([(0, Change::Text(PACKAGE.replace("stable", "alpha")))]);

        // Saved after it was parsed, with another length.
        let store = Store::read(dir.path()).unwrap();
        fs::write(&path, format!("# edited\n{PACKAGE}")).unwrap();
        assert!(is_changed(&store.changed(&change, &[]).unwrap_err(), "catalog.yaml"));

        // Saved after the change was computed, also of a file that was changed in memory before.
        let store = Store::read(dir.path()).unwrap();
        let changed = store.changed(&change, &[]).unwrap();
        let store = Store::with(dir.path(), changed).unwrap();
        let changed = store.changed(&BTreeMap::from([(0, Change::Remove)]), &[]).unwrap();
        fs::write(&path, format!("# edited again\n{PACKAGE}")).unwrap();
        let mut lock = DirectoryLock::acquire(dir.path(), std::time::Duration::ZERO, |_| {}).unwrap();
        assert!(is_changed(&write(&mut lock, changed).unwrap_err(), "catalog.yaml"));
        assert!(fs::read_to_string(&path).unwrap().starts_with("# edited again"));

        // A file that did not exist when the catalog was read.
        let blob = serde_json::json!({"schema": "olm.package", "name": "other"});
        let store = Store::read(dir.path()).unwrap();
        let changed = store.changed(&BTreeMap::new(), &[("new.yaml".into(), blob)]).unwrap();
        fs::write(dir.path().join("new.yaml"), PACKAGE).unwrap();
        assert!(is_changed(&write(&mut lock, changed).unwrap_err(), "new.yaml"));
        assert_eq!(fs::read_to_string(dir.path().join("new.yaml")).unwrap(), PACKAGE);
    }
}
