//! The registry's directory.
//!
//! `blobs/sha256/HEX` has content once, whatever uses it. `repositories/NAME/` has what belongs to a repository:
//! `_blobs/HEX` (empty), `_manifests/HEX` (the media type), `_tags/TAG` (the digest) and `_referrers/SUBJECT/HEX`
//! (empty). Names of repositories never begin with `_`. `uploads/` has files that are being written; they get their
//! names when they are complete, and what a killed process left behind is removed by the next one.
//!
//! `registry-layout` marks the directory as a registry, so that no other one is ever changed, and carries the lock.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use oci_spec::image::Digest;
use tempfile::TempPath;

use super::error::{Error, directory_error};
use crate::layout::{DOCUMENT_LIMIT, sha256};

/// The file that marks a registry's directory.
pub(crate) const MARKER: &str = "registry-layout";

/// The content of the marker.
const VERSION: &[u8] = b"{\"registryLayoutVersion\":\"1.0.0\"}\n";

#[derive(Debug)]
pub(crate) struct Store {
    directory: PathBuf,
    /// The marker, locked as long as the store is open.
    lock: File,
}

impl Store {
    /// Opens the registry in `directory`, or creates one if it does not exist or is empty.
    ///
    /// A registry that is opened for reading must exist; it may be opened several times at once.
    pub(crate) fn open(directory: &Path, read_only: bool) -> Result<Self, Error> {
        let fail = directory_error(directory);
        let marker = directory.join(MARKER);
        let exists = fs::symlink_metadata(&marker).is_ok();
        if !exists {
            match fs::read_dir(directory).map(|mut entries| entries.next().is_none()) {
                Ok(true) if !read_only => {}
                Err(error) if !read_only && error.kind() == io::ErrorKind::NotFound => {
                    fs::create_dir_all(directory).map_err(&fail)?;
                }
                Ok(_) => return Err(Error::NotARegistry { directory: directory.to_owned() }),
                Err(error) => return Err(fail(error)),
            }
        }
        if fs::symlink_metadata(&marker).is_ok_and(|metadata| !metadata.is_file()) {
            return Err(Error::NotARegistry { directory: directory.to_owned() });
        }
        let lock = OpenOptions::new()
            .read(true)
            .write(!read_only)
            .create(!read_only && !exists)
            .truncate(false)
            .open(&marker)
            .map_err(&fail)?;
        match if read_only { lock.try_lock_shared() } else { lock.try_lock() } {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(Error::InUse { directory: directory.to_owned() }),
            Err(TryLockError::Error(error)) => return Err(fail(error)),
        }
        let mut version = Vec::new();
        (&lock).take(VERSION.len() as u64 + 1).read_to_end(&mut version).map_err(&fail)?;
        let store = Self { directory: directory.to_owned(), lock };
        if version != VERSION {
            // An empty marker is a new one, or that of a process that was killed before it wrote anything else.
            let is_new = !read_only && version.is_empty() && names(directory).map_err(&fail)?.len() == 1;
            if !is_new {
                return Err(Error::NotARegistry { directory: directory.to_owned() });
            }
            (&store.lock).write_all(VERSION).and_then(|()| store.lock.sync_all()).map_err(&fail)?;
        }
        if !read_only {
            for part in ["blobs/sha256", "repositories", "uploads"] {
                fs::create_dir_all(directory.join(part)).map_err(&fail)?;
            }
            for name in names(&store.uploads()).map_err(&fail)? {
                fs::remove_file(store.uploads().join(name)).map_err(&fail)?;
            }
        }
        Ok(store)
    }

    /// Returns the directory of files that are being written.
    pub(crate) fn uploads(&self) -> PathBuf {
        self.directory.join("uploads")
    }

    /// Creates a file that is being written; its name has 24 letters and digits.
    pub(crate) fn temporary(&self) -> io::Result<TempPath> {
        let file = tempfile::Builder::new().prefix("").rand_bytes(24).tempfile_in(self.uploads())?;
        Ok(file.into_temp_path())
    }

    /// Makes the bytes of `file` permanent and moves it to `path`.
    fn persist(file: TempPath, path: &Path) -> io::Result<()> {
        File::open(&file)?.sync_all()?;
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        file.persist(path).map_err(|error| error.error)?;
        if let Some(parent) = path.parent() {
            // A rename that is lost in a power failure loses the file and never its content.
            let _ = File::open(parent).and_then(|parent| parent.sync_all());
        }
        Ok(())
    }

    /// Writes a small file, whole or not at all.
    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let file = self.temporary()?;
        fs::write(&file, bytes)?;
        Self::persist(file, path)
    }

    /// Returns the path of the content with a digest.
    pub(crate) fn content(&self, digest: &Digest) -> PathBuf {
        self.directory.join("blobs/sha256").join(digest.digest())
    }

    fn repository(&self, name: &str) -> PathBuf {
        self.directory.join("repositories").join(name)
    }

    fn blob_link(&self, name: &str, digest: &Digest) -> PathBuf {
        self.repository(name).join("_blobs").join(digest.digest())
    }

    fn manifest_link(&self, name: &str, digest: &Digest) -> PathBuf {
        self.repository(name).join("_manifests").join(digest.digest())
    }

    fn referrer_links(&self, name: &str, subject: &Digest) -> PathBuf {
        self.repository(name).join("_referrers").join(subject.digest())
    }

    fn tag(&self, name: &str, tag: &str) -> PathBuf {
        self.repository(name).join("_tags").join(tag)
    }

    /// Returns whether something was pushed to the repository.
    pub(crate) fn has_repository(&self, name: &str) -> bool {
        ["_blobs", "_manifests", "_tags"].iter().any(|part| self.repository(name).join(part).is_dir())
    }

    pub(crate) fn has_blob(&self, name: &str, digest: &Digest) -> bool {
        self.blob_link(name, digest).is_file() && self.content(digest).is_file()
    }

    /// Moves a complete upload to its place and adds it to a repository.
    pub(crate) fn put_blob(&self, name: &str, digest: &Digest, file: TempPath) -> io::Result<()> {
        Self::persist(file, &self.content(digest))?;
        self.link_blob(name, digest)
    }

    /// Adds content that is already stored to a repository.
    pub(crate) fn link_blob(&self, name: &str, digest: &Digest) -> io::Result<()> {
        self.write(&self.blob_link(name, digest), b"")
    }

    /// Removes a blob from a repository. The content stays: other repositories may use it.
    pub(crate) fn unlink_blob(&self, name: &str, digest: &Digest) -> io::Result<bool> {
        remove(&self.blob_link(name, digest))
    }

    /// Returns the media type of a manifest, if the repository has it and its content.
    pub(crate) fn manifest_type(&self, name: &str, digest: &Digest) -> io::Result<Option<String>> {
        match fs::metadata(self.content(digest)) {
            Ok(_) => read_text(&self.manifest_link(name, digest)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the bytes of a manifest.
    pub(crate) fn manifest(&self, digest: &Digest) -> io::Result<Vec<u8>> {
        fs::read(self.content(digest))
    }

    /// Stores a manifest with its tag and its subject.
    pub(crate) fn put_manifest(
        &self,
        name: &str,
        tag: Option<&str>,
        media_type: &str,
        subject: Option<&Digest>,
        bytes: &[u8],
    ) -> io::Result<()> {
        let digest = sha256(bytes);
        self.write(&self.content(&digest), bytes)?;
        self.write(&self.manifest_link(name, &digest), media_type.as_bytes())?;
        if let Some(subject) = subject {
            self.write(&self.referrer_links(name, subject).join(digest.digest()), b"")?;
        }
        if let Some(tag) = tag {
            self.write(&self.tag(name, tag), digest.as_ref().as_bytes())?;
        }
        Ok(())
    }

    /// Removes a manifest and its tags from a repository.
    pub(crate) fn remove_manifest(&self, name: &str, digest: &Digest) -> io::Result<bool> {
        for tag in self.tags(name)? {
            if self.tagged(name, &tag)?.as_ref() == Some(digest) {
                remove(&self.tag(name, &tag))?;
            }
        }
        remove(&self.manifest_link(name, digest))
    }

    pub(crate) fn remove_tag(&self, name: &str, tag: &str) -> io::Result<bool> {
        remove(&self.tag(name, tag))
    }

    /// Returns the digest of the manifest with a tag.
    pub(crate) fn tagged(&self, name: &str, tag: &str) -> io::Result<Option<Digest>> {
        Ok(read_text(&self.tag(name, tag))?.and_then(|text| super::route::digest(&text).ok()))
    }

    /// Returns the tags of a repository, sorted.
    pub(crate) fn tags(&self, name: &str) -> io::Result<BTreeSet<String>> {
        names(&self.repository(name).join("_tags"))
    }

    /// Returns the digests of the manifests with a subject, sorted. Some may be deleted.
    pub(crate) fn referrers(&self, name: &str, subject: &Digest) -> io::Result<BTreeSet<String>> {
        let names = names(&self.referrer_links(name, subject))?;
        Ok(names.iter().map(|hex| format!("sha256:{hex}")).collect())
    }

    /// Returns the manifests of a repository, as digests without `sha256:`.
    pub(crate) fn manifests(&self, name: &str) -> io::Result<BTreeSet<String>> {
        names(&self.repository(name).join("_manifests"))
    }

    /// Returns everything that is stored, as digests without `sha256:`.
    pub(crate) fn contents(&self) -> io::Result<BTreeSet<String>> {
        names(&self.directory.join("blobs/sha256"))
    }

    /// Returns the bytes of a small content by its digest without `sha256:`.
    pub(crate) fn content_bytes(&self, hex: &str) -> io::Result<Vec<u8>> {
        let file = File::open(self.directory.join("blobs/sha256").join(hex))?;
        let mut bytes = Vec::new();
        file.take(DOCUMENT_LIMIT).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Removes a content, unless `dry_run`, and returns its size.
    pub(crate) fn remove_content(&self, hex: &str, dry_run: bool) -> io::Result<u64> {
        let path = self.directory.join("blobs/sha256").join(hex);
        let size = fs::symlink_metadata(&path)?.len();
        if !dry_run {
            fs::remove_file(path)?;
        }
        Ok(size)
    }

    /// Removes a manifest without a tag from a repository, by its digest without `sha256:`.
    pub(crate) fn remove_manifest_link(&self, name: &str, hex: &str) -> io::Result<()> {
        remove(&self.repository(name).join("_manifests").join(hex))?;
        Ok(())
    }

    /// Removes the blobs of a repository that are not in `kept`.
    pub(crate) fn retain_blob_links(&self, name: &str, kept: &BTreeSet<String>) -> io::Result<()> {
        retain(&self.repository(name).join("_blobs"), kept)
    }

    /// Removes the referrers of a repository that are not in `kept`.
    pub(crate) fn retain_referrer_links(&self, name: &str, kept: &BTreeSet<String>) -> io::Result<()> {
        let directory = self.repository(name).join("_referrers");
        for subject in names(&directory)? {
            retain(&directory.join(&subject), kept)?;
        }
        Ok(())
    }

    /// Returns the names of all repositories, sorted.
    pub(crate) fn repositories(&self) -> io::Result<BTreeSet<String>> {
        let root = self.directory.join("repositories");
        let mut found = BTreeSet::new();
        let mut directories = vec![String::new()];
        while let Some(name) = directories.pop() {
            for part in names(&root.join(&name))? {
                if part.starts_with('_') {
                    found.insert(name.clone());
                } else {
                    directories.push(if name.is_empty() { part } else { format!("{name}/{part}") });
                }
            }
        }
        Ok(found)
    }
}

/// Returns the names in a directory, or none if it does not exist.
fn names(directory: &Path) -> io::Result<BTreeSet<String>> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeSet::new()),
        Err(error) => return Err(error),
    };
    let mut found = BTreeSet::new();
    for entry in entries {
        if let Ok(name) = entry?.file_name().into_string() {
            found.insert(name);
        }
    }
    Ok(found)
}

/// Removes the files of a directory whose names are not in `kept`.
fn retain(directory: &Path, kept: &BTreeSet<String>) -> io::Result<()> {
    for name in names(directory)? {
        if !kept.contains(&name) {
            remove(&directory.join(name))?;
        }
    }
    Ok(())
}

fn read_text(path: &Path) -> io::Result<Option<String>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn remove(path: &Path) -> io::Result<bool> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}
