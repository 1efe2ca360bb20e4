//! Manifests and indexes as they are, byte for byte, with everything that they refer to: what is copied.

use std::collections::{BTreeMap, HashMap};

use oci_spec::image::{
    Arch, Descriptor, Digest, ImageIndexBuilder, MediaType, Os, PlatformBuilder, SCHEMA_VERSION,
};
use serde::Deserialize;

use super::blob::Blob;
use super::error::Error;
use super::image::{Image, document};
use crate::platform::Platform;

/// The maximum depth of indexes that name indexes.
pub(crate) const MAX_INDEX_DEPTH: usize = 4;

/// The maximum number of manifests below an index, at all depths together.
pub(crate) const MAX_MANIFESTS: usize = 1000;

/// The maximum number of blobs that one manifest names.
const MAX_BLOBS: usize = 1000;

/// Docker's form of an index.
const DOCKER_LIST: &str = "application/vnd.docker.distribution.manifest.list.v2+json";

/// A manifest or an index, and what it refers to: the blobs of a manifest, the manifests of an index.
///
/// In contrast to an [`Image`], nothing is interpreted: an artifact may be a signature, a chart or an image of Docker,
/// and is written with the bytes and the digest that it was read with.
#[derive(Debug, Clone)]
pub struct Artifact {
    manifest: Blob,
    blobs: Vec<Blob>,
    children: Vec<Artifact>,
}

impl Artifact {
    pub(crate) fn new(manifest: Blob, blobs: Vec<Blob>, children: Vec<Artifact>) -> Self {
        Self { manifest, blobs, children }
    }

    /// Builds an index of `images`, in their order, with `annotations` of its own.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`] if there is no image.
    pub fn index(
        images: Vec<(Platform, Artifact)>,
        annotations: BTreeMap<String, String>,
    ) -> Result<Self, Error> {
        let malformed =
            |reason: &dyn ToString| Error::malformed("the new image", "image index", &reason.to_string());
        if images.is_empty() {
            return Err(malformed(&"it contains no image"));
        }
        let mut descriptors = Vec::new();
        let mut children = Vec::new();
        for (platform, mut child) in images {
            let mut builder = PlatformBuilder::default()
                .os(Os::from(platform.os.as_str()))
                .architecture(Arch::from(platform.architecture.as_str()));
            if let Some(variant) = platform.variant {
                builder = builder.variant(variant);
            }
            let platform = builder.build().map_err(|error| malformed(&error))?;
            child.manifest = child.manifest.with_platform(platform);
            descriptors.push(child.manifest.descriptor().clone());
            children.push(child);
        }
        let mut index = ImageIndexBuilder::default()
            .schema_version(SCHEMA_VERSION)
            .media_type(MediaType::ImageIndex)
            .manifests(descriptors);
        if !annotations.is_empty() {
            index = index.annotations(annotations.into_iter().collect::<HashMap<_, _>>());
        }
        let index = index.build().map_err(|error| malformed(&error))?;
        Ok(Self::new(Blob::from_bytes(MediaType::ImageIndex, document(&index)?), Vec::new(), children))
    }

    /// Returns a manifest or an index of which only the descriptor is known.
    pub(crate) fn unread(descriptor: Descriptor) -> Self {
        Self::new(Blob::absent(descriptor), Vec::new(), Vec::new())
    }

    /// Reads `manifest` and those of `wanted` that it refers to; `locate` finds the bytes of a descriptor.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`] for documents of another form, [`Error::TooMany`] beyond 1,000 manifests, 1,000 blobs of one
    /// manifest or four levels of indexes, errors of [`Blob::document`] otherwise.
    pub(crate) fn read(
        manifest: Blob,
        wanted: &Wanted,
        locate: &dyn Fn(Descriptor) -> Blob,
    ) -> Result<Self, Error> {
        Self::read_below(manifest, wanted, locate, 0, &mut 0)
    }

    fn read_below(
        manifest: Blob,
        wanted: &Wanted,
        locate: &dyn Fn(Descriptor) -> Blob,
        depth: usize,
        count: &mut usize,
    ) -> Result<Self, Error> {
        *count += 1;
        check_count(*count)?;
        let document = Document::parse(&manifest.document()?, manifest.digest().as_ref())?;
        check_depth(depth, &document)?;
        let children = document.manifests.into_iter().map(|child| {
            if !wanted.includes(&child) {
                return Ok(Self::unread(child));
            }
            match Self::read_below(locate(child.clone()), wanted, locate, depth + 1, count) {
                Ok(read) => Ok(read.named_by(&child)),
                Err(Error::Read { .. } | Error::Absent { .. }) if wanted.may_be_missing() => {
                    Ok(Self::unread(child))
                }
                Err(error) => Err(error),
            }
        });
        let children = children.collect::<Result<_, Error>>()?;
        let blobs = document.blobs.into_iter().map(locate).collect();
        Ok(Self::new(manifest.with_media_type(document.media_type), blobs, children))
    }

    /// Returns the same artifact with the platform that an index names for it.
    pub(crate) fn named_by(mut self, descriptor: &Descriptor) -> Self {
        if let Some(platform) = descriptor.platform() {
            self.manifest = self.manifest.with_platform(platform.clone());
        }
        self
    }

    /// Returns whether the manifest was read. An index may list images that were not asked for, or that are missing.
    #[must_use]
    pub fn is_read(&self) -> bool {
        self.manifest.is_present()
    }

    /// Returns the manifest or index itself.
    #[must_use]
    pub fn manifest(&self) -> &Blob {
        &self.manifest
    }

    /// Returns the digest of the manifest or index.
    #[must_use]
    pub fn digest(&self) -> &Digest {
        self.manifest.digest()
    }

    /// Returns what an index lists; empty for a manifest.
    #[must_use]
    pub fn children(&self) -> &[Artifact] {
        &self.children
    }

    /// Returns the layers and the configuration; empty for an index.
    #[must_use]
    pub fn blobs(&self) -> &[Blob] {
        &self.blobs
    }

    /// Returns whether this is an index.
    #[must_use]
    pub fn is_index(&self) -> bool {
        is_index(self.manifest.descriptor().media_type())
    }

    /// Returns the platform that the index names for this manifest.
    #[must_use]
    pub fn platform(&self) -> Option<Platform> {
        self.manifest.descriptor().platform().as_ref().map(Platform::from)
    }

    /// Returns every manifest and index, each after what it refers to.
    #[must_use]
    pub fn all_manifests(&self) -> Vec<&Blob> {
        let mut found = Vec::new();
        self.collect_manifests(&mut found);
        found
    }

    fn collect_manifests<'a>(&'a self, found: &mut Vec<&'a Blob>) {
        for child in &self.children {
            child.collect_manifests(found);
        }
        found.push(&self.manifest);
    }

    /// Returns every configuration and layer, once, by digest.
    #[must_use]
    pub fn all_blobs(&self) -> BTreeMap<&str, &Blob> {
        let mut found = BTreeMap::new();
        self.collect_blobs(&mut found);
        found
    }

    fn collect_blobs<'a>(&'a self, found: &mut BTreeMap<&'a str, &'a Blob>) {
        found.extend(self.blobs.iter().map(|blob| (blob.digest().as_ref(), blob)));
        for child in &self.children {
            child.collect_blobs(found);
        }
    }

    /// Returns the manifest for `platform`, at any depth; a manifest that is not in an index is for every platform.
    #[must_use]
    pub fn for_platform(&self, platform: &Platform) -> Option<&Artifact> {
        if !self.is_index() {
            return Some(self);
        }
        self.children.iter().find_map(|child| match child.platform() {
            Some(found) => child.for_platform(platform).filter(|_| found.satisfies(platform)),
            None if child.is_index() => child.for_platform(platform),
            None => None,
        })
    }

    /// Returns the platforms of an index, in its order, without those of attestations.
    #[must_use]
    pub fn platforms(&self) -> Vec<Platform> {
        let own =
            self.children.iter().filter_map(Artifact::platform).filter(|platform| platform.os != "unknown");
        let mut platforms: Vec<Platform> = own.collect();
        platforms.extend(self.children.iter().flat_map(Artifact::platforms));
        platforms
    }

    /// Returns the artifact with absent blobs replaced by those of `fetched`, by digest.
    #[must_use]
    pub fn with_blobs(mut self, fetched: &BTreeMap<String, Blob>) -> Self {
        for blob in &mut self.blobs {
            if let Some(found) = fetched.get(blob.digest().as_ref()) {
                *blob = found.clone();
            }
        }
        self.children = self.children.into_iter().map(|child| child.with_blobs(fetched)).collect();
        self
    }
}

/// Which images of an index are read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    /// All; one that is missing is an error.
    All,
    /// All that are there.
    Available,
    /// Those for a platform; one that is missing is an error.
    Platform(Platform),
}

impl Wanted {
    /// Returns whether what an index lists is read: it is wanted itself, or may be an index of what is wanted.
    pub(crate) fn includes(&self, descriptor: &Descriptor) -> bool {
        let Self::Platform(wanted) = self else { return true };
        match descriptor.platform() {
            Some(found) => Platform::from(found).satisfies(wanted),
            None => is_index(descriptor.media_type()),
        }
    }

    /// Returns whether something that cannot be found is no error.
    pub(crate) fn may_be_missing(&self) -> bool {
        matches!(self, Self::Available)
    }
}

impl From<Image> for Artifact {
    fn from(image: Image) -> Self {
        Self::from(&image)
    }
}

impl From<&Image> for Artifact {
    fn from(image: &Image) -> Self {
        Self::new(image.manifest().clone(), image.blobs().cloned().collect(), Vec::new())
    }
}

impl From<&Artifact> for Artifact {
    fn from(artifact: &Artifact) -> Self {
        artifact.clone()
    }
}

/// Returns whether a configuration of this media type is that of an image, and not of a signature or a chart.
#[must_use]
pub fn is_image_config(media_type: &MediaType) -> bool {
    matches!(
        media_type.as_ref(),
        "application/vnd.oci.image.config.v1+json" | "application/vnd.docker.container.image.v1+json"
    )
}

/// Returns whether a media type is that of an index or of Docker's manifest list.
pub(crate) fn is_index(media_type: &MediaType) -> bool {
    matches!(media_type, MediaType::ImageIndex) || media_type.as_ref() == DOCKER_LIST
}

/// Rejects more manifests than [`MAX_MANIFESTS`].
pub(crate) fn check_count(count: usize) -> Result<(), Error> {
    if count <= MAX_MANIFESTS {
        return Ok(());
    }
    let what = "the number of manifests in the index".to_owned();
    Err(Error::TooMany { what, limit: MAX_MANIFESTS as u64 })
}

/// Rejects an index below `depth` others if that is deeper than [`MAX_INDEX_DEPTH`].
pub(crate) fn check_depth(depth: usize, document: &Document) -> Result<(), Error> {
    if depth < MAX_INDEX_DEPTH || document.manifests.is_empty() {
        return Ok(());
    }
    let what = "the depth of nested indexes".to_owned();
    Err(Error::TooMany { what, limit: MAX_INDEX_DEPTH as u64 })
}

/// What a manifest or an index says about what it refers to.
#[derive(Debug)]
pub(crate) struct Document {
    /// The media type: its own, or the one of its form.
    pub(crate) media_type: MediaType,
    /// Layers and configuration, without layers that are stored elsewhere.
    pub(crate) blobs: Vec<Descriptor>,
    /// The manifests of an index.
    pub(crate) manifests: Vec<Descriptor>,
    /// What a signature, an SBOM or the like is about.
    pub(crate) subject: Option<Digest>,
}

impl Document {
    /// Parses the bytes of a manifest or an index; `what` names it in errors.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`] for other documents, [`Error::TooMany`] beyond 1,000 blobs.
    pub(crate) fn parse(bytes: &[u8], what: &str) -> Result<Self, Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Fields {
            #[serde(default)]
            schema_version: Option<u64>,
            #[serde(default)]
            media_type: Option<MediaType>,
            #[serde(default)]
            config: Option<Descriptor>,
            #[serde(default)]
            layers: Option<Vec<Descriptor>>,
            #[serde(default)]
            manifests: Option<Vec<Descriptor>>,
            #[serde(default)]
            subject: Option<Subject>,
        }
        #[derive(Deserialize)]
        struct Subject {
            digest: Digest,
        }
        let fields: Fields = serde_json::from_slice(bytes)
            .map_err(|error| Error::malformed_json(what, "image manifest", &error))?;
        let Fields { schema_version, media_type, config, layers, manifests, subject } = fields;
        if schema_version == Some(1) {
            let reason = "Docker image manifest schema 1 is not supported; convert the image, for example with \
                `skopeo copy --format v2s2`";
            return Err(Error::malformed(what, "image manifest", reason));
        }
        let (form, blobs, manifests) = match (manifests, config) {
            (Some(manifests), _) => (MediaType::ImageIndex, Vec::new(), manifests),
            (None, Some(config)) => {
                let mut blobs = layers.unwrap_or_default();
                blobs.retain(|layer| !is_stored_elsewhere(layer.media_type().as_ref()));
                blobs.push(config);
                (MediaType::ImageManifest, blobs, Vec::new())
            }
            (None, None) => {
                let reason = "expected `config` and `layers`, or `manifests`";
                return Err(Error::malformed(what, "image manifest", reason));
            }
        };
        if blobs.len() > MAX_BLOBS {
            let what = format!("the number of layers in {what}");
            return Err(Error::TooMany { what, limit: MAX_BLOBS as u64 });
        }
        let media_type = media_type.unwrap_or_else(|| form.clone());
        if is_index(&media_type) != is_index(&form) {
            return Err(Error::malformed(
                what,
                "image manifest",
                "its media type is not that of its content",
            ));
        }
        Ok(Self { media_type, blobs, manifests, subject: subject.map(|subject| subject.digest) })
    }
}

/// Returns whether layers of a media type are not distributed by registries.
fn is_stored_elsewhere(media_type: &str) -> bool {
    media_type.contains("nondistributable") || media_type.contains("rootfs.foreign")
}

#[cfg(test)]
mod tests {
    use super::super::{File, FileMap, ImageBuilder, Source, layer};
    use super::*;

    fn image(content: &str) -> Artifact {
        let mut files = FileMap::new();
        files.add("file", File { source: Source::Bytes(content.into()), executable: false }).unwrap();
        ImageBuilder { layers: vec![layer(&files, 0).unwrap()], ..ImageBuilder::default() }
            .build()
            .unwrap()
            .into()
    }

    fn platform(text: &str) -> Platform {
        text.parse().unwrap()
    }

    #[test]
    fn index_names_its_images_by_platform() {
        let (one, two) = (image("one"), image("two"));
        let images = vec![(platform("linux/amd64"), one.clone()), (platform("linux/arm/v7"), two.clone())];
        let index = Artifact::index(images.clone(), BTreeMap::new()).unwrap();
        assert!(index.is_index());
        assert_eq!(index.platforms(), [platform("linux/amd64"), platform("linux/arm/v7")]);
        let found = |text| index.for_platform(&platform(text)).map(Artifact::digest);
        assert_eq!(found("linux/amd64"), Some(one.digest()));
        assert_eq!(found("linux/arm/v7"), Some(two.digest()));
        assert_eq!(found("linux/arm"), Some(two.digest()), "a variant satisfies its architecture");
        assert_eq!(found("linux/arm/v6"), None);
        assert_eq!(found("linux/s390x"), None);
        assert_eq!(index.all_manifests().last().map(|blob| blob.digest()), Some(index.digest()));
        assert_eq!(index.all_blobs().len(), 4);
        let again = Artifact::index(images.clone(), BTreeMap::new()).unwrap();
        assert_eq!(again.digest(), index.digest());
        let annotated = Artifact::index(images, [("a".to_owned(), "b".to_owned())].into()).unwrap();
        let text = String::from_utf8(annotated.manifest().document().unwrap()).unwrap();
        assert!(text.starts_with(r#"{"annotations":{"a":"b"},"manifests":"#), "{text}");
        assert!(Artifact::index(Vec::new(), BTreeMap::new()).is_err());
    }

    #[test]
    fn documents_have_one_form() {
        let digest = format!("sha256:{}", "a".repeat(64));
        let descriptor = format!(r#"{{"mediaType":"x/y","digest":"{digest}","size":1}}"#);
        let parse = |text: String| Document::parse(text.as_bytes(), "it").map(|document| document.media_type);
        assert_eq!(
            parse(format!(r#"{{"config":{descriptor},"layers":[]}}"#)).unwrap(),
            MediaType::ImageManifest
        );
        assert_eq!(parse(r#"{"manifests":[]}"#.into()).unwrap(), MediaType::ImageIndex);
        assert_eq!(
            parse(format!(r#"{{"mediaType":"{DOCKER_LIST}","manifests":[{descriptor}]}}"#)).unwrap().as_ref(),
            DOCKER_LIST
        );
        for wrong in [
            "{}".to_owned(),
            "[]".to_owned(),
            r#"{"schemaVersion":1,"fsLayers":[]}"#.to_owned(),
            format!(r#"{{"mediaType":"{DOCKER_LIST}","config":{descriptor}}}"#),
            r#"{"mediaType":"application/vnd.oci.image.manifest.v1+json","manifests":[]}"#.to_owned(),
        ] {
            assert!(matches!(parse(wrong.clone()), Err(Error::Malformed { .. })), "{wrong}");
        }
        let layers = vec![descriptor.clone(); MAX_BLOBS].join(",");
        let many = parse(format!(r#"{{"config":{descriptor},"layers":[{layers}]}}"#));
        assert!(matches!(many, Err(Error::TooMany { .. })));
        let foreign = descriptor.replace("x/y", "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip");
        let text = format!(r#"{{"config":{descriptor},"layers":[{foreign}]}}"#);
        assert_eq!(
            Document::parse(text.as_bytes(), "it").unwrap().blobs.len(),
            1,
            "it is not in the registry"
        );
    }

    #[test]
    fn index_that_contains_too_many_manifests_is_rejected() {
        let child = Blob::from_bytes(MediaType::ImageIndex, *br#"{"manifests":[]}"#);
        let listed = vec![child.descriptor().clone(); MAX_MANIFESTS];
        let index = serde_json::json!({ "manifests": listed }).to_string();
        let index = Blob::from_bytes(MediaType::ImageIndex, index.into_bytes());
        let error = Artifact::read(index, &Wanted::All, &|_| child.clone()).unwrap_err();
        assert!(matches!(error, Error::TooMany { limit: 1000, .. }), "{error}");
    }
}
