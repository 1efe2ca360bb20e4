//! An OCI layout that has been opened, be it a folder or an archive: its index, and where its blobs lie.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use oci_spec::image::{Descriptor, Digest, ImageIndex, MediaType};

use super::{Blob, Error, Image, Platform};

/// The annotation of a layout's index that names an image (OCI image specification, annotations).
pub(crate) const REF_NAME: &str = "org.opencontainers.image.ref.name";

/// An OCI layout: images by name, read without unpacking anything.
#[derive(Debug)]
pub struct OciLayout {
    path: PathBuf,
    index: ImageIndex,
    places: Places,
}

/// Where the blobs of a layout lie.
#[derive(Debug)]
pub(crate) enum Places {
    /// In a folder `blobs/ALGORITHM/HEX`.
    Folder,
    /// In an archive: offset and size by path.
    Archive(BTreeMap<String, (u64, u64)>),
}

impl OciLayout {
    pub(crate) fn new(path: &Path, index: &[u8], places: Places) -> Result<Self, Error> {
        let index = serde_json::from_slice(index).map_err(|error| {
            Error::malformed(format!("index.json in {}", path.display()), "OCI image index", &error)
        })?;
        Ok(Self { path: path.to_owned(), index, places })
    }

    /// The names of the images, as far as they have any.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.index.manifests().iter().filter_map(name)
    }

    /// The image called `wanted` (its whole name, its tag or its digest), or the only one.
    ///
    /// Of an image for several platforms, the one for `platform` is taken; where there is none, the first.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] where there is no such image or a choice is needed, what reading says otherwise.
    pub fn image(&self, wanted: Option<&str>, platform: &Platform) -> Result<Image, Error> {
        let fits = |descriptor: &&Descriptor| match wanted {
            None => true,
            Some(wanted) => {
                descriptor.digest().as_ref() == wanted
                    || name(descriptor).is_some_and(|name| {
                        name == wanted || name.rsplit_once(':').is_some_and(|(_, tag)| tag == wanted)
                    })
            }
        };
        let mut found = self.index.manifests().iter().filter(fits);
        let descriptor = match (found.next(), found.next()) {
            (Some(descriptor), None) => descriptor,
            (first, _) => {
                let names: Vec<_> = self.names().collect();
                let there = if names.is_empty() { "no names".to_owned() } else { names.join(", ") };
                let reason = match (first, wanted) {
                    (None, None) => "holds no image".to_owned(),
                    (None, Some(wanted)) => format!("holds no image {wanted:?}; there is: {there}"),
                    (Some(_), _) => format!("holds several images; name one of: {there}"),
                };
                return Err(Error::NotFound { path: self.path.clone(), reason });
            }
        };
        let mut manifest = self.blob(descriptor.clone());
        // An index may name another index, but not without end.
        for _ in 0..4 {
            if !is_index(manifest.descriptor()) {
                return Image::read(manifest, |descriptor| self.blob(descriptor));
            }
            let index: ImageIndex = serde_json::from_slice(&manifest.document()?)
                .map_err(|error| Error::malformed(manifest.digest().to_string(), "image index", &error))?;
            let chosen = choose(&index, platform).ok_or_else(|| Error::NotFound {
                path: self.path.clone(),
                reason: format!("holds no manifest in the index {}", manifest.digest()),
            })?;
            manifest = self.blob(chosen.clone());
        }
        Err(Error::malformed(self.path.display().to_string(), "image", "indexes are nested too deep"))
    }

    fn blob(&self, descriptor: Descriptor) -> Blob {
        let place = blob_path(descriptor.digest());
        match &self.places {
            Places::Folder => Blob::from_part(descriptor, self.path.join(place), 0),
            Places::Archive(members) => match members.get(&place) {
                // A member of another size is another blob: the check at its end would read into the next one.
                Some((offset, size)) if *size == descriptor.size() => {
                    Blob::from_part(descriptor, self.path.clone(), *offset)
                }
                _ => Blob::absent(descriptor),
            },
        }
    }
}

/// The name of an image in a layout's index.
pub(crate) fn name(descriptor: &Descriptor) -> Option<&str> {
    descriptor.annotations().as_ref()?.get(REF_NAME).map(String::as_str)
}

/// Where a blob lies in a layout.
pub(crate) fn blob_path(digest: &Digest) -> String {
    format!("blobs/{}/{}", digest.algorithm(), digest.digest())
}

/// True for an image index and for Docker's manifest list.
pub(crate) fn is_index(descriptor: &Descriptor) -> bool {
    matches!(descriptor.media_type(), MediaType::ImageIndex)
        || descriptor.media_type().as_ref() == "application/vnd.docker.distribution.manifest.list.v2+json"
}

/// The manifest for `platform`; where none is, the first that is for some platform.
pub(crate) fn choose<'a>(index: &'a ImageIndex, platform: &Platform) -> Option<&'a Descriptor> {
    let fits = |descriptor: &&Descriptor| {
        descriptor.platform().as_ref().is_some_and(|found| {
            found.os().to_string() == platform.os && found.architecture().to_string() == platform.architecture
        })
    };
    // Attestations are kept in the same list, under the platform unknown/unknown.
    let real = |descriptor: &&Descriptor| {
        descriptor.platform().as_ref().is_none_or(|platform| platform.os().to_string() != "unknown")
    };
    let manifests = index.manifests();
    manifests.iter().find(fits).or_else(|| manifests.iter().find(real))
}
