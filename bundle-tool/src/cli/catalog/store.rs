//! A catalog directory that a command changes: its documents, and the files with the changed ones in place.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use atomic_files::{DirectoryLock, Tree};
use serde_json::Value as Json;

use super::validate::{Next, check};
use crate::catalog::edit;
use crate::catalog::validate::{Blob, Place, Problem};
use crate::decode::decode;
use crate::model::catalog::Bundle;
use crate::model::yaml::{Path as FieldPath, decode_ignoring_case};
use crate::model::{json, yaml};
use crate::read::catalog::{self as reader, Content, Limits, Source};
use crate::read::{file, yaml as parser};

/// The maximum size in bytes of a file that is changed.
pub(super) const MAX_FILE_SIZE: u64 = 1 << 30;

/// Checks that a copy of the catalog at `catalog` can be written to `to`.
///
/// # Errors
/// `to` is not empty, is not a directory, or is inside the catalog, which would then contain its copy.
pub(super) fn check_target(catalog: &Path, to: &Path) -> Result<()> {
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
pub(super) struct Store {
    root: PathBuf,
    /// One for each of `slots`.
    pub(super) blobs: Vec<Blob>,
    /// What is wrong with the documents, regardless of other documents.
    pub(super) problems: Vec<Problem>,
    slots: Vec<Slot>,
    /// The document that begins behind this number of lines of a file; nothing where several do.
    lines: BTreeMap<(Arc<str>, u32), Option<usize>>,
    /// The files whose bytes are not those on disk.
    changed: Changed,
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
pub(super) enum Change {
    /// It is removed.
    Remove,
    /// It has other values: bytes that do not change are kept where that is possible.
    To(Json),
    /// It has another text.
    Text(String),
}

/// The files of a catalog that change: their new bytes, nothing for those that are removed.
pub(super) type Changed = BTreeMap<String, Option<Vec<u8>>>;

impl Store {
    /// Reads a catalog, which may be invalid as long as every document can be read.
    pub(super) fn read(root: &Path) -> Result<Self> {
        Self::with(root, Changed::new())
    }

    /// Reads a catalog as it would be with changed files.
    pub(super) fn with(root: &Path, changed: Changed) -> Result<Self> {
        let documents = reader::documents(sources(root, &changed)?, Limits::default(), |document| {
            let slot = document.content.as_ref().ok().map(|parsed| Slot {
                file: document.file.clone(),
                line: parsed.line,
                offset: parsed.offset,
                length: parsed.length,
                is_json: parsed.is_json,
            });
            (slot, decode(&document))
        })?;
        let mut store = Self {
            root: root.to_owned(),
            blobs: Vec::new(),
            problems: Vec::new(),
            slots: Vec::new(),
            lines: BTreeMap::new(),
            changed,
            is_json: BTreeMap::new(),
            last: RefCell::default(),
        };
        for (slot, decoded) in documents {
            if matches!(decoded.blob, Blob::Invalid)
                && let Some(problem) = decoded.problems.first()
            {
                bail!("{}: {}", problem.place, problem.message);
            }
            let Some(slot) = slot else { continue };
            *store.is_json.entry(slot.file.clone()).or_insert(true) &= slot.is_json;
            let begins = store.lines.entry((slot.file.clone(), slot.line));
            begins.and_modify(|index| *index = None).or_insert(Some(store.slots.len()));
            store.slots.push(slot);
            store.blobs.push(decoded.blob);
            store.problems.extend(decoded.problems);
        }
        Ok(store)
    }

    /// Returns the file of a document.
    pub(super) fn file(&self, index: usize) -> Option<Arc<str>> {
        self.slots.get(index).map(|slot| slot.file.clone())
    }

    /// Returns the document at a place; nothing if it does not begin on a line of its own.
    pub(super) fn at(&self, place: &Place) -> Result<Option<usize>> {
        let key = (place.file.clone(), place.line);
        let Some(((file, _), Some(index))) = self.lines.range(..key).next_back() else { return Ok(None) };
        let Some(slot) = self.slots.get(*index).filter(|_| *file == place.file) else { return Ok(None) };
        let bytes = self.cached(&slot.file)?;
        let before = bytes.get(..slot.range().start).unwrap_or_default();
        let line = before.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
        Ok(line.iter().all(u8::is_ascii_whitespace).then_some(*index))
    }

    /// Returns the text of a document.
    pub(super) fn text(&self, index: usize) -> Result<String> {
        let Some(slot) = self.slots.get(index) else { return Ok(String::new()) };
        let bytes = self.cached(&slot.file)?;
        String::from_utf8(slot.text(&bytes)?.to_vec())
            .with_context(|| format!("failed to read {}", slot.file))
    }

    /// Returns a document as JSON.
    pub(super) fn json(&self, index: usize) -> Result<Json> {
        let Some(slot) = self.slots.get(index) else { return Ok(Json::Null) };
        let bytes = self.cached(&slot.file)?;
        let text = slot.text(&bytes)?;
        Ok(parser::parse(text).documents.first().map_or(Json::Null, |tree| tree.root().to_json()))
    }

    /// Returns a document as the blob of a bundle.
    pub(super) fn bundle(&self, index: usize) -> Result<Bundle> {
        let Some(slot) = self.slots.get(index) else { return Ok(Bundle::default()) };
        let bytes = self.cached(&slot.file)?;
        let parsed = parser::parse(slot.text(&bytes)?);
        let Some(tree) = parsed.documents.first() else { return Ok(Bundle::default()) };
        let decoded = decode_ignoring_case::<Bundle>(tree.root(), &FieldPath::ROOT);
        Ok(decoded.with_context(|| format!("failed to read {}", slot.file))?.object)
    }

    /// Returns the size of all documents, in bytes.
    pub(super) fn size(&self) -> usize {
        self.slots.iter().map(|slot| slot.length).sum()
    }

    /// Returns the document of a bundle with the properties of `bundle`. Fields that are not known here stay.
    pub(super) fn with_properties(&self, index: usize, bundle: Bundle) -> Result<Json> {
        let mut json = self.json(index)?;
        if let (Some(json), Json::Object(new)) = (json.as_object_mut(), serde_json::to_value(bundle)?) {
            json.retain(|key, _| !yaml::is_same_name(key, "properties"));
            json.extend(new.into_iter().filter(|(key, _)| key == "properties"));
        }
        Ok(json)
    }

    /// Returns whether a file has documents of the catalog.
    pub(super) fn has(&self, name: &str) -> bool {
        self.is_json.contains_key(name)
    }

    fn bytes(&self, name: &str) -> Result<Vec<u8>> {
        if let Some(Some(bytes)) = self.changed.get(name) {
            return Ok(bytes.clone());
        }
        let path = self.root.join(name);
        file::read(&path, MAX_FILE_SIZE).with_context(|| format!("failed to read {}", path.display()))
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
    pub(super) fn changed(
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
                files.insert(name.to_string(), None);
                continue;
            }
            let mut bytes = self.bytes(name)?;
            // From the end of the file, so that the offsets before it stay valid.
            for index in indexes.iter().rev() {
                if let Some(change) = changes.get(index) {
                    self.slots[*index].apply(&mut bytes, change)?;
                }
            }
            files.insert(name.to_string(), Some(bytes));
        }
        for (name, blob) in new {
            let is_json = self.is_json.get(name).copied().unwrap_or_else(|| name.ends_with(".json"));
            if !files.contains_key(&**name)
                && (self.is_json.contains_key(name) || self.root.join(&**name).exists())
            {
                files.insert(name.to_string(), Some(self.bytes(name)?));
            }
            let bytes = files.entry(name.to_string()).or_default().get_or_insert_default();
            if !bytes.is_empty() && !bytes.ends_with(b"\n") {
                bytes.push(b'\n');
            }
            let text = if is_json { json::pretty(blob) + "\n" } else { format!("---\n{}", yaml::emit(blob)) };
            bytes.extend_from_slice(text.as_bytes());
        }
        Ok(files)
    }

    /// Checks the catalog with the changed files, unless `no_validate` is set, and writes them. Returns whether they are
    /// written.
    pub(super) fn write(
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
    pub(super) fn sources(&self, changed: &Changed) -> Result<Vec<Source>> {
        sources(&self.root, changed)
    }
}

/// Writes the changed files of a catalog, all or none.
pub(super) fn write(lock: &mut DirectoryLock, changed: Changed) -> Result<()> {
    let mut tree = Tree::new();
    for (path, bytes) in changed {
        match bytes {
            Some(bytes) => tree.file(path, bytes),
            None => tree.remove(path),
        };
    }
    lock.write(&tree)?;
    Ok(())
}

/// Returns the files of a catalog as they are with changed ones.
fn sources(root: &Path, changed: &Changed) -> Result<Vec<Source>> {
    let mut sources: BTreeMap<Arc<str>, Source> =
        reader::sources(root)?.into_iter().map(|source| (source.name.clone(), source)).collect();
    for (name, bytes) in changed {
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
    fn range(&self) -> std::ops::Range<usize> {
        let start = usize::try_from(self.offset).unwrap_or(usize::MAX);
        start..start.saturating_add(self.length)
    }

    fn text<'b>(&self, bytes: &'b [u8]) -> Result<&'b [u8]> {
        let Some(text) = bytes.get(self.range()) else {
            bail!("{} was changed while it was being read", self.file)
        };
        Ok(text)
    }

    /// Changes the document in the bytes of its file.
    fn apply(&self, bytes: &mut Vec<u8>, change: &Change) -> Result<()> {
        let old = self.text(bytes)?;
        let mut range = self.range();
        let text = match change {
            Change::Text(text) => text.clone(),
            Change::To(new) if self.is_json => json::pretty(new),
            Change::To(new) => rewritten(old, new),
            Change::Remove => {
                range = edit::removal(bytes, range, self.is_json);
                String::new()
            }
        };
        bytes.splice(range, text.into_bytes());
        Ok(())
    }
}

/// The text of a changed YAML document: changed where it differs or, where that is not possible, rewritten with the
/// separator and the comments before its first key.
fn rewritten(old: &[u8], blob: &Json) -> String {
    if let (Ok(text), Some(map), [tree]) =
        (std::str::from_utf8(old), blob.as_object(), parser::parse(old).documents.as_slice())
        && let Some(new) = edit::rewrite(text, tree.root(), map)
        && let [tree] = parser::parse(new.as_bytes()).documents.as_slice()
        && tree.root().to_json() == *blob
    {
        return new;
    }
    let mut text = String::new();
    for line in old.split_inclusive(|&byte| byte == b'\n') {
        let is_kept = line.starts_with(b"---") || line.starts_with(b"#") || line.trim_ascii().is_empty();
        if !is_kept {
            break;
        }
        text.push_str(&String::from_utf8_lossy(line));
    }
    if text.starts_with("---") && !text.ends_with('\n') {
        text.push('\n');
    }
    text + &yaml::emit(blob)
}
