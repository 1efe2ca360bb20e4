//! The registry's folder.
//!
//! `blobs/sha256/HEX` holds content once, whoever uses it. `repositories/NAME/` says what belongs to a repository:
//! `_blobs/HEX` (empty), `_manifests/HEX` (the media type) and `_tags/TAG` (the digest). Names never begin with `_`.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use oci_spec::image::Digest;

use super::answer::Failure;
use crate::layout::sha256;

#[derive(Debug)]
pub(super) struct Store {
    folder: PathBuf,
}

impl Store {
    pub(super) fn open(folder: &Path) -> io::Result<Self> {
        fs::create_dir_all(folder.join("blobs/sha256"))?;
        fs::create_dir_all(folder.join("repositories"))?;
        Ok(Self { folder: folder.to_owned() })
    }

    /// Where the content of a digest lies.
    pub(super) fn content(&self, digest: &Digest) -> PathBuf {
        self.folder.join("blobs/sha256").join(digest.digest())
    }

    fn repository(&self, name: &str) -> PathBuf {
        self.folder.join("repositories").join(name)
    }

    fn blob_link(&self, name: &str, digest: &Digest) -> PathBuf {
        self.repository(name).join("_blobs").join(digest.digest())
    }

    fn manifest_link(&self, name: &str, digest: &Digest) -> PathBuf {
        self.repository(name).join("_manifests").join(digest.digest())
    }

    fn tag(&self, name: &str, tag: &str) -> PathBuf {
        self.repository(name).join("_tags").join(tag)
    }

    /// True where something was pushed to the repository.
    pub(super) fn has_repository(&self, name: &str) -> bool {
        ["_blobs", "_manifests", "_tags"].iter().any(|part| self.repository(name).join(part).is_dir())
    }

    pub(super) fn has_blob(&self, name: &str, digest: &Digest) -> bool {
        self.blob_link(name, digest).is_file() && self.content(digest).is_file()
    }

    /// Makes content that is stored already belong to a repository.
    pub(super) fn link_blob(&self, name: &str, digest: &Digest) -> Result<(), Failure> {
        atomic_files::file(&self.blob_link(name, digest), b"")?;
        Ok(())
    }

    /// Takes a blob from a repository. The content stays: other repositories may use it.
    pub(super) fn unlink_blob(&self, name: &str, digest: &Digest) -> Result<bool, Failure> {
        remove(&self.blob_link(name, digest))
    }

    /// The media type of a manifest, where the repository has it.
    pub(super) fn manifest_type(&self, name: &str, digest: &Digest) -> Result<Option<String>, Failure> {
        read_text(&self.manifest_link(name, digest))
    }

    /// The bytes of a manifest.
    pub(super) fn manifest(&self, digest: &Digest) -> Result<Vec<u8>, Failure> {
        Ok(fs::read(self.content(digest))?)
    }

    /// Stores a manifest, and names it by a tag.
    pub(super) fn put_manifest(
        &self,
        name: &str,
        tag: Option<&str>,
        media_type: &str,
        bytes: &[u8],
    ) -> Result<Digest, Failure> {
        let digest = sha256(bytes);
        atomic_files::file(&self.content(&digest), bytes)?;
        atomic_files::file(&self.manifest_link(name, &digest), media_type.as_bytes())?;
        if let Some(tag) = tag {
            atomic_files::file(&self.tag(name, tag), digest.as_ref().as_bytes())?;
        }
        Ok(digest)
    }

    /// Takes a manifest and the tags that name it from a repository.
    pub(super) fn remove_manifest(&self, name: &str, digest: &Digest) -> Result<bool, Failure> {
        for tag in self.tags(name)? {
            if self.tagged(name, &tag)?.as_ref() == Some(digest) {
                remove(&self.tag(name, &tag))?;
            }
        }
        remove(&self.manifest_link(name, digest))
    }

    pub(super) fn remove_tag(&self, name: &str, tag: &str) -> Result<bool, Failure> {
        remove(&self.tag(name, tag))
    }

    /// What a tag names.
    pub(super) fn tagged(&self, name: &str, tag: &str) -> Result<Option<Digest>, Failure> {
        Ok(read_text(&self.tag(name, tag))?.and_then(|text| super::route::digest(&text).ok()))
    }

    /// The tags of a repository, sorted.
    pub(super) fn tags(&self, name: &str) -> Result<BTreeSet<String>, Failure> {
        names(&self.repository(name).join("_tags"))
    }

    /// The manifests of a repository, sorted.
    pub(super) fn manifests(&self, name: &str) -> Result<Vec<Digest>, Failure> {
        let names = names(&self.repository(name).join("_manifests"))?;
        Ok(names.iter().filter_map(|hex| super::route::digest(&format!("sha256:{hex}")).ok()).collect())
    }

    /// The names of all repositories, sorted.
    pub(super) fn repositories(&self) -> Result<BTreeSet<String>, Failure> {
        let root = self.folder.join("repositories");
        let mut found = BTreeSet::new();
        let mut folders = vec![String::new()];
        while let Some(name) = folders.pop() {
            for part in names(&root.join(&name))? {
                if part.starts_with('_') {
                    found.insert(name.clone());
                } else {
                    folders.push(if name.is_empty() { part } else { format!("{name}/{part}") });
                }
            }
        }
        Ok(found)
    }
}

/// The names in a folder that is there or not, without temporary files.
fn names(folder: &Path) -> Result<BTreeSet<String>, Failure> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeSet::new()),
        Err(error) => return Err(error.into()),
    };
    let mut found = BTreeSet::new();
    for entry in entries {
        if let Ok(name) = entry?.file_name().into_string()
            && !name.starts_with('.')
        {
            found.insert(name);
        }
    }
    Ok(found)
}

fn read_text(path: &Path) -> Result<Option<String>, Failure> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn remove(path: &Path) -> Result<bool, Failure> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error.into()),
    }
}
