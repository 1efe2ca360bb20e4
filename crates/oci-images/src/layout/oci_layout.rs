//! An open OCI layout, be it a directory or an archive: its index, and where its blobs are stored.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use oci_spec::image::{Descriptor, Digest, ImageIndex};
use serde::Deserialize;

use super::artifact::{Artifact, Document, MAX_INDEX_DEPTH, Wanted, check_count, check_depth, is_index};
use super::blob::Blob;
use super::error::{Error, Quoted};
use super::image::Image;
use super::search::{Found, Search};
use crate::json::json_error;
use crate::platform::Platform;

/// The annotation of a layout's index that names an image (OCI image specification, annotations).
pub(crate) const REF_NAME: &str = "org.opencontainers.image.ref.name";

/// The maximum number of image names in a message.
const MAX_NAMES_IN_MESSAGE: usize = 10;

/// An OCI layout: images by name, read without unpacking.
#[derive(Debug)]
pub struct OciLayout {
    path: PathBuf,
    index: ImageIndex,
    storage: Storage,
}

/// Where the blobs of a layout are stored.
#[derive(Debug)]
pub(crate) enum Storage {
    /// Files `blobs/ALGORITHM/HEX` in a directory.
    Directory,
    /// Members of an archive: offset and size by path.
    Archive(BTreeMap<String, (u64, u64)>),
}

impl OciLayout {
    /// Creates a layout from its `index.json` and its `oci-layout`, which older writers omit.
    pub(crate) fn new(
        path: &Path,
        index: &[u8],
        marker: Option<&[u8]>,
        storage: Storage,
    ) -> Result<Self, Error> {
        if let Some(marker) = marker {
            require_version(path, marker)?;
        }
        let index = serde_json::from_slice(index).map_err(|error| {
            Error::malformed_json(format!("index.json in {}", path.display()), "OCI image index", &error)
        })?;
        Ok(Self { path: path.to_owned(), index, storage })
    }

    /// Returns the names of the images that have one.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.index.manifests().iter().filter_map(name)
    }

    /// Returns the image with the name, tag or digest `wanted`; without one, the only image.
    ///
    /// Of an image for several platforms, the one for `platform` is returned; if there is none, the first. Indexes may
    /// be nested four levels deep.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] if there is no such image, or several and `wanted` does not choose; errors of reading
    /// otherwise.
    pub fn image(&self, wanted: Option<&str>, platform: &Platform) -> Result<Image, Error> {
        let mut manifest = self.blob(self.find(wanted)?.clone());
        for _ in 0..MAX_INDEX_DEPTH {
            if !is_index(manifest.descriptor().media_type()) {
                return Image::read(manifest, |descriptor| self.blob(descriptor));
            }
            let index: ImageIndex = serde_json::from_slice(&manifest.document()?).map_err(|error| {
                Error::malformed_json(manifest.digest().to_string(), "image index", &error)
            })?;
            let chosen = choose(&index, platform).ok_or_else(|| {
                self.not_found(format!("the index {} does not contain a manifest", manifest.digest()))
            })?;
            manifest = self.blob(chosen.clone());
        }
        let what = "the depth of nested indexes".to_owned();
        Err(Error::TooMany { what, limit: MAX_INDEX_DEPTH as u64 })
    }

    /// Returns the digest of the image or index with the name, tag or digest `wanted`, and its image for each of `platforms`.
    ///
    /// # Errors
    ///
    /// As [`OciLayout::image`], and [`Error::TooMany`] beyond 1,000 manifests.
    pub(crate) fn images_for(
        &self,
        wanted: Option<&str>,
        platforms: &[Platform],
    ) -> Result<(Digest, Vec<Found>), Error> {
        let root = self.find(wanted)?;
        let found = platforms.iter().map(|platform| self.image_for(root, platform));
        Ok((root.digest().clone(), found.collect::<Result<_, _>>()?))
    }

    fn image_for(&self, root: &Descriptor, platform: &Platform) -> Result<Found, Error> {
        let mut search = Search::new(platform, root.clone());
        while let Some(candidate) = search.next()? {
            let manifest = self.blob(candidate.descriptor.clone());
            let document = Document::parse(&manifest.document()?, manifest.digest().as_ref())?;
            if is_index(&document.media_type) {
                search.index(&candidate, document)?;
                continue;
            }
            let image = Image::read(manifest, |descriptor| self.blob(descriptor))?;
            if let Some(image) = search.image(&candidate, image)? {
                return Ok(Found::Image(image.into()));
            }
        }
        Ok(search.not_found())
    }

    /// Returns what has the name, tag or digest `name`, an image or an index, byte for byte; without one, the only
    /// image or index. Of an index, the `wanted` images are read.
    ///
    /// # Errors
    ///
    /// As [`OciLayout::image`], and [`Error::TooMany`] beyond 1,000 manifests or four levels of indexes.
    pub fn artifact(&self, name: Option<&str>, wanted: &Wanted) -> Result<Artifact, Error> {
        Artifact::read(self.blob(self.find(name)?.clone()), wanted, &|descriptor| self.blob(descriptor))
    }

    /// Returns what the layout lacks of the image or index with the name, tag or digest `wanted`, for each platform: manifests, and
    /// blobs that manifests name. `digest` is what the name must lead to.
    ///
    /// # Errors
    ///
    /// As [`OciLayout::artifact`], except that a manifest or blob cannot be opened.
    pub(crate) fn missing(&self, wanted: Option<&str>, digest: Option<&str>) -> Result<Vec<String>, Error> {
        let root = self.find(wanted)?;
        if digest.is_some_and(|digest| digest != root.digest().as_ref()) {
            return Ok(vec![format!("the image (its name leads to {})", root.digest())]);
        }
        let mut missing = Vec::new();
        let mut pending = vec![(root.clone(), String::new(), 0)];
        let mut count = 0;
        while let Some((descriptor, platform, depth)) = pending.pop() {
            count += 1;
            check_count(count)?;
            let manifest = self.blob(descriptor);
            if manifest.open().is_err() {
                missing.push(format!("the image{platform}"));
                continue;
            }
            let document = Document::parse(&manifest.document()?, manifest.digest().as_ref())?;
            check_depth(depth, &document)?;
            pending.extend(document.manifests.into_iter().map(|child| {
                let platform = child.platform().as_ref().map(Platform::from);
                let platform = platform.map_or_else(String::new, |platform| format!(" for {platform}"));
                (child, platform, depth + 1)
            }));
            let blobs = document.blobs.into_iter().map(|blob| self.blob(blob));
            let absent = blobs.filter(|blob| blob.open().is_err());
            missing.extend(absent.map(|blob| format!("the blob {}{platform}", blob.digest())));
        }
        Ok(missing)
    }

    /// Returns the name of the image that `wanted` chooses, if it has one.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] as [`OciLayout::image`].
    pub fn name_of(&self, wanted: Option<&str>) -> Result<Option<&str>, Error> {
        Ok(name(self.find(wanted)?))
    }

    /// Returns the descriptors of images with these names.
    pub(crate) fn named(&self, names: &BTreeSet<String>) -> Vec<Descriptor> {
        let manifests = self.index.manifests().iter();
        manifests
            .filter(|descriptor| name(descriptor).is_some_and(|name| names.contains(name)))
            .cloned()
            .collect()
    }

    /// Returns what refers to other images of the layout: for each digest, names or digests of signatures, SBOMs and the like.
    /// Manifests that cannot be read refer to nothing.
    pub(crate) fn referrers(&self) -> BTreeMap<String, Vec<String>> {
        let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for descriptor in self.index.manifests() {
            let named = name(descriptor).map_or_else(|| descriptor.digest().to_string(), str::to_owned);
            if let Some(subject) = subject_of_tag(&named) {
                found.entry(subject).or_default().push(named);
                continue;
            }
            if is_index(descriptor.media_type()) {
                continue;
            }
            let manifest = self.blob(descriptor.clone()).document();
            let document = manifest.and_then(|bytes| Document::parse(&bytes, descriptor.digest().as_ref()));
            if let Ok(Document { subject: Some(subject), .. }) = document {
                found.entry(subject.to_string()).or_default().push(named);
            }
        }
        found
    }

    fn find(&self, wanted: Option<&str>) -> Result<&Descriptor, Error> {
        let matches = |descriptor: &&Descriptor| match wanted {
            None => true,
            Some(wanted) => {
                descriptor.digest().as_ref() == wanted
                    || name(descriptor).is_some_and(|name| {
                        name == wanted || name.rsplit_once(':').is_some_and(|(_, tag)| tag == wanted)
                    })
            }
        };
        let mut found = self.index.manifests().iter().filter(matches);
        let first = found.next();
        // What was asked for is one image, even if it has several names.
        let is_same = |other: &Descriptor| first.is_some_and(|first| first.digest() == other.digest());
        let mut found = found.filter(|other| wanted.is_none() || !is_same(other));
        match (first, found.next(), wanted) {
            (Some(descriptor), None, _) => Ok(descriptor),
            (Some(_), Some(_), _) => {
                Err(self
                    .not_found(format!("found several images; choose one of: {}", self.names_for_message())))
            }
            (None, _, None) => Err(self.not_found("the layout does not contain an image".to_owned())),
            (None, _, Some(wanted)) => {
                let wanted = Quoted(wanted);
                Err(self.not_found(format!("found no image {wanted}; found: {}", self.names_for_message())))
            }
        }
    }

    fn not_found(&self, reason: String) -> Error {
        Error::NotFound { path: self.path.clone(), reason }
    }

    fn names_for_message(&self) -> String {
        let mut names: Vec<_> =
            self.names().take(MAX_NAMES_IN_MESSAGE).map(|name| Quoted(name).to_string()).collect();
        if names.is_empty() {
            return "no names".to_owned();
        }
        let more = self.names().skip(MAX_NAMES_IN_MESSAGE).count();
        if more > 0 {
            names.push(format!("and {more} more"));
        }
        names.join(", ")
    }

    fn blob(&self, descriptor: Descriptor) -> Blob {
        let path = blob_path(descriptor.digest());
        match &self.storage {
            Storage::Directory => Blob::from_file(descriptor, self.path.clone(), path),
            Storage::Archive(members) => match members.get(&path) {
                // With another size it would be read into the next member.
                Some((offset, size)) if *size == descriptor.size() => {
                    Blob::from_member(descriptor, self.path.clone(), *offset)
                }
                _ => Blob::absent(descriptor),
            },
        }
    }
}

/// Returns the digest that the tag of cosign's signatures or attestations names: `sha256-HEX.sig`.
fn subject_of_tag(image_name: &str) -> Option<String> {
    let (_, tag) = image_name.rsplit_once(':')?;
    let (hex, kind) = tag.strip_prefix("sha256-")?.split_once('.')?;
    let is_digest = hex.len() == 64 && hex.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    (is_digest && !kind.is_empty()).then(|| format!("sha256:{hex}"))
}

/// The marker of a layout.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Marker {
    image_layout_version: String,
}

/// Rejects a layout of another version than 1 (OCI image specification, image layout).
fn require_version(path: &Path, marker: &[u8]) -> Result<(), Error> {
    let malformed = |reason: &str| {
        let what = format!("oci-layout in {}", path.display());
        Error::malformed(what, "marker of an OCI layout", reason)
    };
    let marker: Marker = serde_json::from_slice(marker).map_err(|error| malformed(&json_error(&error)))?;
    let version = &marker.image_layout_version;
    if version.split('.').next() != Some("1") {
        let found = Quoted(version);
        return Err(malformed(&format!("unsupported imageLayoutVersion {found}: expected `1.0.0`")));
    }
    Ok(())
}

/// Returns the name of an image in a layout's index.
pub(crate) fn name(descriptor: &Descriptor) -> Option<&str> {
    descriptor.annotations().as_ref()?.get(REF_NAME).map(String::as_str)
}

/// Returns the path of a blob in a layout. Digests have no `/` and no `.` by their grammar.
pub(crate) fn blob_path(digest: &Digest) -> String {
    format!("blobs/{}/{}", digest.algorithm(), digest.digest())
}

/// Returns the manifest for `platform`; if there is none, the first that is for some platform.
pub(crate) fn choose<'a>(index: &'a ImageIndex, platform: &Platform) -> Option<&'a Descriptor> {
    let matches = |descriptor: &&Descriptor| {
        descriptor.platform().as_ref().is_some_and(|found| {
            found.os().to_string() == platform.os && found.architecture().to_string() == platform.architecture
        })
    };
    // Attestations are stored in the same list, with the platform unknown/unknown.
    let is_image = |descriptor: &&Descriptor| {
        descriptor.platform().as_ref().is_none_or(|platform| platform.os().to_string() != "unknown")
    };
    let manifests = index.manifests();
    manifests.iter().find(matches).or_else(|| manifests.iter().find(is_image))
}

#[cfg(test)]
mod tests {
    use oci_spec::image::MediaType;

    use super::*;

    /// A layout directory with a chain of `depth` indexes around a manifest that does not exist.
    fn nested(dir: &Path, depth: usize) -> OciLayout {
        let mut descriptor = Blob::from_bytes(MediaType::ImageManifest, *b"{}").descriptor().clone();
        let index = |descriptor: &Descriptor| {
            serde_json::json!({ "schemaVersion": 2, "manifests": [descriptor] }).to_string().into_bytes()
        };
        std::fs::create_dir_all(dir.join("blobs/sha256")).unwrap();
        for _ in 0..depth {
            let bytes = index(&descriptor);
            let blob = Blob::from_bytes(MediaType::ImageIndex, bytes.clone());
            std::fs::write(dir.join(blob_path(blob.digest())), bytes).unwrap();
            descriptor = blob.descriptor().clone();
        }
        OciLayout::new(dir, &index(&descriptor), None, Storage::Directory).unwrap()
    }

    #[test]
    fn nested_indexes_have_a_maximum_depth() {
        let dir = tempfile::tempdir().unwrap();
        let read = |depth| nested(dir.path(), depth).image(None, &Platform::default()).unwrap_err();
        assert!(matches!(read(MAX_INDEX_DEPTH - 1), Error::Read { .. }), "the manifest is missing");
        assert!(matches!(read(MAX_INDEX_DEPTH), Error::TooMany { .. }));
    }

    #[test]
    fn message_names_a_limited_number_of_images() {
        let manifests: Vec<_> = (0..100)
            .map(|number| {
                let mut descriptor = Blob::from_bytes(MediaType::ImageManifest, *b"{}").descriptor().clone();
                let annotation = (REF_NAME.to_owned(), format!("image{number}\n"));
                descriptor.set_annotations(Some([annotation].into()));
                descriptor
            })
            .collect();
        let index = serde_json::json!({ "schemaVersion": 2, "manifests": manifests }).to_string();
        let layout = OciLayout::new(Path::new("x"), index.as_bytes(), None, Storage::Directory).unwrap();
        let error = layout.image(None, &Platform::default()).unwrap_err().to_string();
        assert!(error.ends_with("`image9\\n`, and 90 more"), "{error}");
    }
}
