//! Garbage collection: removing what nothing refers to, while no server uses the directory.
//!
//! A manifest keeps its blobs, an index its manifests. Without `untagged`, every manifest stays; with it, those stay that
//! a tag, an index that stays, or (as a signature's subject) a manifest that stays leads to.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use super::error::{Error, directory_error};
use super::manifests::Manifest;
use super::store::{MARKER, Store};

/// What garbage collection removes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Garbage {
    /// The number of manifests that are removed from repositories.
    pub manifests: usize,
    /// The number of contents (blobs and manifests) that no repository has afterwards.
    pub contents: usize,
    /// Their size in bytes.
    pub bytes: u64,
}

/// Removes what nothing refers to from the registry in `directory`, and also manifests without a tag if `untagged`. With
/// `dry_run`, nothing is removed.
///
/// # Errors
///
/// [`Error::InUse`] if a server uses the directory, [`Error::NoRegistry`] if it is none, [`Error::Directory`] if it
/// cannot be read or written.
pub fn collect_garbage(directory: &Path, untagged: bool, dry_run: bool) -> Result<Garbage, Error> {
    // An empty directory would become a registry.
    if !directory.join(MARKER).try_exists().map_err(directory_error(directory))? {
        return Err(Error::NoRegistry { directory: directory.to_owned() });
    }
    let store = Store::open(directory, false)?;
    Collector { store: &store, untagged, dry_run, garbage: Garbage::default() }
        .collect()
        .map_err(directory_error(directory))
}

struct Collector<'a> {
    store: &'a Store,
    untagged: bool,
    dry_run: bool,
    garbage: Garbage,
}

/// The references of one manifest, as digests without `sha256:`.
#[derive(Default)]
struct References {
    blobs: Vec<String>,
    manifests: Vec<String>,
    subject: Option<String>,
}

impl Collector<'_> {
    fn collect(mut self) -> io::Result<Garbage> {
        let mut live = BTreeSet::new();
        for name in self.store.repositories()? {
            self.repository(&name, &mut live)?;
        }
        for hex in self.store.contents()? {
            if !live.contains(&hex) {
                self.garbage.contents += 1;
                self.garbage.bytes += self.store.remove_content(&hex, self.dry_run)?;
            }
        }
        Ok(self.garbage)
    }

    /// Removes what a repository does not need, and adds what it needs to `live`.
    fn repository(&mut self, name: &str, live: &mut BTreeSet<String>) -> io::Result<()> {
        let mut manifests = BTreeMap::new();
        for digest in self.store.manifests(name)? {
            let references = match self.store.content_bytes(&digest) {
                Ok(bytes) => references(&bytes),
                // Content that is missing refers to nothing. What cannot be read may refer to anything.
                Err(error) if error.kind() == io::ErrorKind::NotFound => References::default(),
                Err(error) => return Err(error),
            };
            manifests.insert(digest, references);
        }
        let kept = if self.untagged {
            self.reachable(name, &manifests)?
        } else {
            manifests.keys().cloned().collect()
        };
        let mut blobs = BTreeSet::new();
        for (digest, references) in &manifests {
            if kept.contains(digest) {
                live.insert(digest.clone());
                blobs.extend(references.blobs.iter().cloned());
            } else {
                self.garbage.manifests += 1;
                if !self.dry_run {
                    self.store.remove_manifest_link(name, digest)?;
                }
            }
        }
        if !self.dry_run {
            self.store.retain_blob_links(name, &blobs)?;
            self.store.retain_referrer_links(name, &kept)?;
        }
        live.extend(blobs);
        Ok(())
    }

    /// Returns the manifests that tags lead to.
    fn reachable(
        &self,
        name: &str,
        manifests: &BTreeMap<String, References>,
    ) -> io::Result<BTreeSet<String>> {
        let mut pending = Vec::new();
        for tag in self.store.tags(name)? {
            pending.extend(self.store.tagged(name, &tag)?.map(|digest| digest.digest().to_owned()));
        }
        let mut by_subject: BTreeMap<&str, Vec<&String>> = BTreeMap::new();
        for (digest, references) in manifests {
            if let Some(subject) = &references.subject {
                by_subject.entry(subject).or_default().push(digest);
            }
        }
        let mut kept = BTreeSet::new();
        while let Some(digest) = pending.pop() {
            let Some(references) = manifests.get(&digest) else { continue };
            if kept.insert(digest.clone()) {
                pending.extend(references.manifests.iter().cloned());
                pending.extend(
                    by_subject.get(digest.as_str()).into_iter().flatten().map(|found| (*found).clone()),
                );
            }
        }
        Ok(kept)
    }
}

fn references(bytes: &[u8]) -> References {
    let Ok(manifest) = serde_json::from_slice::<Manifest>(bytes) else { return References::default() };
    let hex = |descriptor: &super::manifests::Descriptor| {
        descriptor.digest().ok().map(|digest| digest.digest().to_owned())
    };
    References {
        blobs: manifest.layers.iter().flatten().chain(&manifest.config).filter_map(hex).collect(),
        manifests: manifest.manifests.iter().flatten().filter_map(hex).collect(),
        subject: manifest.subject.as_ref().and_then(hex),
    }
}
