//! Archives of `docker save` and `podman save`, which `docker load` reads.
//!
//! They have no OCI manifest: `manifest.json` names a configuration and uncompressed layers for each image. Reading one
//! compresses its layers as this crate does for its own, so that the same archive gives the same digest everywhere.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use atomic_files::Pending;
use flate2::read::MultiGzDecoder;
use oci_spec::image::{
    Descriptor, Digest, ImageConfiguration, ImageManifestBuilder, MediaType, SCHEMA_VERSION,
};
use serde::{Deserialize, Serialize};
use tar::{Builder, EntryType};

use super::archive::{
    DOCKER_LIST, MAX_MEMBERS, Members, Scan, append, append_blob, commit, require_archive, scan,
};
use super::artifact::Artifact;
use super::blob::{Blob, DOCUMENT_LIMIT};
use super::digest::Hashing;
use super::error::{Error, Quoted};
use super::gzip::Gzip;
use super::image::{Image, document};
use super::regular::open_regular;

/// The maximum number of layers of an image.
const MAX_LAYERS: usize = 1000;

/// The maximum size of one uncompressed layer in bytes.
const MAX_LAYER: u64 = 64 << 30;

/// One image in [`DOCKER_LIST`].
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Entry {
    config: String,
    #[serde(default)]
    repo_tags: Option<Vec<String>>,
    layers: Vec<String>,
}

/// Reads the image with the name or tag `wanted` from the archive `path`; without one, the only image.
///
/// Layers are compressed into temporary files. The archive may have 100,000 entries, its documents 4 MiB each, an image
/// 1,000 layers, and a layer 64 GiB. A layer may be a link to another one, as `docker save` writes a layer that an image
/// has twice.
///
/// # Errors
///
/// As [`open_archive`](super::open_archive); [`Error::NotFound`] if there is no such image, or several and `wanted` does
/// not choose; [`Error::Mismatch`] if a layer is not the one that the configuration lists.
pub fn open_docker_archive(path: &Path, wanted: Option<&str>) -> Result<Image, Error> {
    let what = path.display().to_string();
    let Scan { mut members, links, document: list } = scan(path, "Docker archive", DOCKER_LIST, MAX_MEMBERS)?;
    add_links(&mut members, links);
    let list = list.ok_or_else(|| Error::malformed(&what, "Docker archive", "manifest.json is missing"))?;
    let entries: Vec<Entry> = serde_json::from_slice(&list).map_err(|error| {
        Error::malformed_json(format!("{DOCKER_LIST} in {what}"), "Docker archive", &error)
    })?;
    let entry = choose(path, &entries, wanted)?;
    let archive = Archive { path: path.to_owned(), members };
    let config = archive.document(&entry.config)?;
    let parsed: ImageConfiguration = serde_json::from_slice(&config).map_err(|error| {
        Error::malformed_json(Quoted(&entry.config).to_string(), "image configuration", &error)
    })?;
    if entry.layers.len() > MAX_LAYERS {
        let what = format!("the number of layers in {}", Quoted(&entry.config));
        return Err(Error::TooMany { what, limit: MAX_LAYERS as u64 });
    }
    let diff_ids = parsed.rootfs().diff_ids();
    if diff_ids.len() != entry.layers.len() {
        let reason =
            format!("it lists {} layers, but the archive contains {}", diff_ids.len(), entry.layers.len());
        return Err(Error::malformed(Quoted(&entry.config).to_string(), "image configuration", &reason));
    }
    // The same layer may be there many times, under one name or several.
    let mut read: BTreeMap<(u64, &str), Blob> = BTreeMap::new();
    let mut layers: Vec<Blob> = Vec::new();
    for (name, diff_id) in entry.layers.iter().zip(diff_ids) {
        let (offset, _) = archive.member(name)?;
        let layer = match read.get(&(offset, diff_id.as_str())) {
            Some(layer) => layer.clone(),
            None => archive.layer(name, diff_id)?,
        };
        read.insert((offset, diff_id), layer.clone());
        layers.push(layer);
    }
    let config = Blob::from_bytes(MediaType::ImageConfig, config);
    let manifest = ImageManifestBuilder::default()
        .schema_version(SCHEMA_VERSION)
        .media_type(MediaType::ImageManifest)
        .config(config.descriptor().clone())
        .layers(layers.iter().map(|layer| layer.descriptor().clone()).collect::<Vec<_>>())
        .build()
        .map_err(|error| Error::malformed(&what, "Docker archive", &error))?;
    let manifest = Blob::from_bytes(MediaType::ImageManifest, document(&manifest)?);
    Image::read(manifest, |descriptor| {
        let mut blobs = layers.iter().chain([&config]);
        let found = blobs.find(|blob| blob.digest() == descriptor.digest()).cloned();
        found.unwrap_or_else(|| Blob::absent(descriptor))
    })
}

fn choose<'a>(path: &Path, entries: &'a [Entry], wanted: Option<&str>) -> Result<&'a Entry, Error> {
    let matches = |entry: &&Entry| {
        wanted.is_none_or(|wanted| {
            let mut names = entry.repo_tags.iter().flatten();
            names.any(|name| name == wanted || name.rsplit_once(':').is_some_and(|(_, tag)| tag == wanted))
        })
    };
    let mut found = entries.iter().filter(matches);
    let reason = match (found.next(), found.next(), wanted) {
        (Some(entry), None, _) => return Ok(entry),
        (Some(_), Some(_), _) => {
            "found several images; add the name of one after the file, as in FILE:NAME".to_owned()
        }
        (None, _, Some(wanted)) => format!("found no image {}", Quoted(wanted)),
        (None, _, None) => "the archive does not contain an image".to_owned(),
    };
    Err(Error::NotFound { path: path.to_owned(), reason })
}

/// Adds links to members under their own names. As in containers/image, a link to a link leads nowhere.
fn add_links(members: &mut Members, links: BTreeMap<String, (String, bool)>) {
    for (name, (target, is_hard)) in links {
        // The target of a symbolic link is relative to its directory, that of a hard link to the archive.
        let mut path: Vec<&str> = if is_hard { Vec::new() } else { name.split('/').collect() };
        path.pop();
        let is_inside = target.split('/').all(|part| match part {
            "" => false,
            "." => true,
            ".." => path.pop().is_some(),
            part => {
                path.push(part);
                true
            }
        });
        if is_inside && let Some(member) = members.get(&path.join("/")).copied() {
            members.entry(name).or_insert(member);
        }
    }
}

struct Archive {
    path: PathBuf,
    members: Members,
}

impl Archive {
    /// Returns offset and size of the member `name`.
    fn member(&self, name: &str) -> Result<(u64, u64), Error> {
        self.members.get(name).copied().ok_or_else(|| {
            let reason = format!("it contains no file {}", Quoted(name));
            Error::malformed(self.path.display().to_string(), "Docker archive", &reason)
        })
    }

    /// Opens the member `name` and returns it with its size.
    fn open(&self, name: &str) -> Result<(io::Take<File>, u64), Error> {
        let (offset, size) = self.member(name)?;
        let (mut file, _) = open_regular(&self.path)?;
        file.seek(SeekFrom::Start(offset)).map_err(Error::read(&self.path))?;
        Ok((file.take(size), size))
    }

    /// Returns the bytes of a small member.
    fn document(&self, name: &str) -> Result<Vec<u8>, Error> {
        let (mut reader, size) = self.open(name)?;
        if size > DOCUMENT_LIMIT {
            return Err(Error::TooLarge { what: Quoted(name).to_string(), limit: DOCUMENT_LIMIT });
        }
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes).map_err(Error::read(&self.path))?;
        Ok(bytes)
    }

    /// Returns a layer, compressed; `diff_id` is the digest of its uncompressed bytes.
    fn layer(&self, name: &str, diff_id: &str) -> Result<Blob, Error> {
        let (reader, size) = self.open(name)?;
        if size > MAX_LAYER {
            return Err(Error::TooLarge { what: format!("layer {}", Quoted(name)), limit: MAX_LAYER });
        }
        let mut reader = BufReader::new(reader);
        let start = reader.fill_buf().map_err(Error::read(&self.path))?;
        if start.starts_with(&[0x1f, 0x8b]) {
            let mut decoder = MultiGzDecoder::new(Hashing::new(reader));
            let mut uncompressed = Hashing::new(io::sink());
            let copied = io::copy(&mut (&mut decoder).take(MAX_LAYER + 1), &mut uncompressed);
            copied.map_err(|error| Error::malformed(Quoted(name).to_string(), "layer", &error))?;
            if uncompressed.size() > MAX_LAYER {
                return Err(Error::TooLarge { what: format!("layer {}", Quoted(name)), limit: MAX_LAYER });
            }
            check_layer(name, diff_id, &uncompressed.digest())?;
            let (digest, size, _) = decoder.into_inner().finish();
            let (offset, _) = self.member(name)?;
            let descriptor = Descriptor::new(MediaType::ImageLayerGzip, size, digest);
            return Ok(Blob::from_member(descriptor, self.path.clone(), offset));
        }
        let file = tempfile::tempfile().map_err(Error::temporary)?;
        let compressed = Hashing::new(io::BufWriter::new(file));
        let mut encoder = Gzip::new(compressed).map_err(Error::temporary)?;
        let mut uncompressed = Hashing::new(());
        let mut buffer = vec![0; 64 << 10];
        loop {
            let count = reader.read(&mut buffer).map_err(Error::read(&self.path))?;
            if count == 0 {
                break;
            }
            uncompressed.count(&buffer[..count]);
            encoder.write_all(&buffer[..count]).map_err(Error::temporary)?;
        }
        check_layer(name, diff_id, &uncompressed.digest())?;
        let (digest, size, file) = encoder.finish().map_err(Error::temporary)?.finish();
        let file = file.into_inner().map_err(|error| Error::temporary(error.into_error()))?;
        Ok(Blob::from_temporary(Descriptor::new(MediaType::ImageLayerGzip, size, digest), file))
    }
}

/// Compares the digest of a layer's uncompressed bytes with that in the configuration.
fn check_layer(name: &str, diff_id: &str, found: &Digest) -> Result<(), Error> {
    if found.as_ref() == diff_id {
        return Ok(());
    }
    Err(Error::Mismatch {
        what: format!("layer {}", Quoted(name)),
        expected: Quoted(diff_id).to_string(),
        found: found.to_string(),
    })
}

/// Writes an image as `image_name` to a new archive `path` for `docker load` and `podman load`. All blobs must be present.
/// Layers stay compressed.
///
/// # Errors
///
/// [`Error::Malformed`] for an index, or for a manifest of something else than an image; otherwise as
/// [`write_archive`](super::write_archive).
pub fn write_docker_archive(
    path: &Path,
    artifact: impl Into<Artifact>,
    image_name: &str,
) -> Result<(), Error> {
    let artifact = artifact.into();
    require_image(&artifact, image_name)?;
    let blobs = artifact.blobs().iter().cloned();
    let image = Image::read(artifact.manifest().clone(), |descriptor| {
        let found = blobs.clone().find(|blob| blob.digest() == descriptor.digest());
        found.unwrap_or_else(|| Blob::absent(descriptor))
    })?;
    require_archive(path)?;
    let mut archive = Builder::new(Pending::new(path)?);
    let config = format!("{}.json", image.config().digest().digest());
    append_blob(&mut archive, &config, image.config())?;
    let mut layers: Vec<String> = Vec::new();
    for layer in image.layers() {
        let name = format!("{}.tar.gz", layer.digest().digest());
        if !layers.contains(&name) {
            append_blob(&mut archive, &name, layer)?;
        }
        layers.push(name);
    }
    // An image that has only a digest has no name in this format.
    let repo_tags = (!image_name.contains('@')).then(|| vec![image_name.to_owned()]);
    let list = document(&[Entry { config, repo_tags, layers }])?;
    append(&mut archive, DOCKER_LIST, EntryType::Regular, list.len() as u64, list.as_slice())?;
    commit(archive, path)
}

/// Rejects an index, which the format cannot contain.
pub(crate) fn require_image(artifact: &Artifact, image_name: &str) -> Result<(), Error> {
    if artifact.is_index() {
        return Err(Error::SeveralPlatforms { name: image_name.to_owned() });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::{FileMap, ImageBuilder, Platform, Source, layer, open_directory, write_directory};
    use super::*;

    fn image(content: &str) -> Image {
        let mut files = FileMap::new();
        let file = super::super::File { source: Source::Bytes(content.into()), executable: false };
        files.add("file", file).unwrap();
        ImageBuilder { layers: vec![layer(&files, 0).unwrap()], ..ImageBuilder::default() }.build().unwrap()
    }

    /// Writes an archive as `docker save` does: with uncompressed layers.
    fn saved(path: &Path, image: &Image, names: &[&str], change: impl FnOnce(&mut Vec<u8>)) {
        let mut layer = Vec::new();
        flate2::read::GzDecoder::new(image.layers()[0].open().unwrap()).read_to_end(&mut layer).unwrap();
        change(&mut layer);
        let config = image.config().document().unwrap();
        let list = serde_json::json!([{ "Config": "c.json", "RepoTags": names, "Layers": ["l/layer.tar"] }]);
        let list = list.to_string().into_bytes();
        let mut archive = Builder::new(Pending::new(path).unwrap());
        for (name, bytes) in [("l/layer.tar", layer), ("c.json", config), (DOCKER_LIST, list)] {
            append(&mut archive, name, EntryType::Regular, bytes.len() as u64, bytes.as_slice()).unwrap();
        }
        commit(archive, path).unwrap();
    }

    #[test]
    fn docker_archive_is_read_with_the_digest_of_the_image() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("saved.tar");
        let image = image("content");
        saved(&path, &image, &["example.com/a:v1"], |_| {});
        for wanted in [None, Some("v1"), Some("example.com/a:v1")] {
            let read = open_docker_archive(&path, wanted).unwrap();
            assert_eq!(read.digest(), image.digest(), "the layer is compressed as this crate does");
        }
        let error = open_docker_archive(&path, Some("v2")).unwrap_err();
        assert!(matches!(error, Error::NotFound { .. }), "{error}");
        let read = open_docker_archive(&path, None).unwrap();
        write_directory(&dir.path().join("layout"), &read, "a:v1").unwrap();
        let read = open_directory(&dir.path().join("layout")).unwrap().image(None, &Platform::default());
        assert_eq!(read.unwrap().digest(), image.digest());
    }

    #[test]
    fn compressed_layer_must_be_that_of_the_configuration() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("written.tar");
        let image = image("content");
        write_docker_archive(&path, image.clone(), "a:v1").unwrap();
        assert_eq!(
            open_docker_archive(&path, None).unwrap().layers()[0].digest(),
            image.layers()[0].digest()
        );

        let compress = |bytes: &[u8]| {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap()
        };
        saved(&path, &image, &[], |layer| *layer = compress(layer));
        assert!(open_docker_archive(&path, None).is_ok());
        saved(&path, &image, &[], |layer| *layer = compress(b"another layer"));
        let error = open_docker_archive(&path, None).unwrap_err();
        assert!(matches!(error, Error::Mismatch { .. }), "{error}");
        saved(&path, &image, &[], |layer| {
            *layer = compress(layer);
            layer.truncate(layer.len() - 1);
        });
        let error = open_docker_archive(&path, None).unwrap_err();
        assert!(matches!(error, Error::Malformed { .. }), "{error}");
    }

    /// Writes an archive of an image whose configuration and list have `layers`, one of `extra` entries.
    fn archive(path: &Path, layers: &[&str], extra: &[(&str, EntryType, &str)]) {
        let content = b"layer";
        let diff_ids = vec![super::super::sha256(content).to_string(); layers.len()];
        let config = serde_json::json!({
            "architecture": "amd64", "os": "linux", "rootfs": { "type": "layers", "diff_ids": diff_ids },
        });
        let config = config.to_string().into_bytes();
        let list = serde_json::json!([{ "Config": "c.json", "RepoTags": null, "Layers": layers }]);
        let list = list.to_string().into_bytes();
        let mut archive = Builder::new(Pending::new(path).unwrap());
        for (name, bytes) in [
            ("l/layer.tar", content.as_slice()),
            ("c.json", config.as_slice()),
            (DOCKER_LIST, list.as_slice()),
        ] {
            append(&mut archive, name, EntryType::Regular, bytes.len() as u64, bytes).unwrap();
        }
        for (name, kind, target) in extra {
            let mut header = tar::Header::new_gnu();
            header.set_entry_type(*kind);
            header.set_size(0);
            archive.append_link(&mut header, name, target).unwrap();
        }
        commit(archive, path).unwrap();
    }

    #[test]
    fn layer_may_be_a_link_inside_the_archive() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("saved.tar");
        let (soft, hard) = (EntryType::Symlink, EntryType::Link);
        for (kind, target, is_valid) in [
            (soft, "../l/layer.tar", true),
            (hard, "l/layer.tar", true),
            (soft, "l/layer.tar", false),
            (hard, "../l/layer.tar", false),
            (soft, "/l/layer.tar", false),
            (soft, "../../l/layer.tar", false),
            (soft, "../../../../../../etc/passwd", false),
            (soft, "layer.tar", false),
        ] {
            archive(&path, &["l/layer.tar", "m/layer.tar"], &[("m/layer.tar", kind, target)]);
            let read = open_docker_archive(&path, None);
            match read {
                Ok(image) => assert!(is_valid && image.layers().len() == 2, "{kind:?} {target}"),
                Err(error) => {
                    assert!(!is_valid && error.to_string().contains("no file `m/layer.tar`"), "{error}");
                }
            }
        }
    }

    #[test]
    fn layer_is_read_once_and_the_number_of_layers_is_limited() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("saved.tar");
        archive(&path, &["l/layer.tar"; MAX_LAYERS], &[]);
        let image = open_docker_archive(&path, None).unwrap();
        let first = &image.layers()[0];
        assert!(image.layers().iter().all(|layer| layer.shares_bytes_with(first)));
        archive(&path, &["l/layer.tar"; MAX_LAYERS + 1], &[]);
        let error = open_docker_archive(&path, None).unwrap_err();
        assert!(matches!(error, Error::TooMany { .. }), "{error}");
    }

    #[test]
    fn layer_beyond_the_limit_is_rejected_before_it_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("saved.tar");
        archive(&path, &["big.tar"], &[]);
        let mut header = tar::Header::new_gnu();
        header.set_path("big.tar").unwrap();
        header.set_size(MAX_LAYER + 1);
        header.set_cksum();
        let mut bytes = std::fs::read(&path).unwrap();
        bytes.truncate(bytes.len() - 1024);
        bytes.extend_from_slice(header.as_bytes());
        std::fs::write(&path, bytes).unwrap();
        // Sparse: the bytes are not on the disk.
        let file = File::options().write(true).open(&path).unwrap();
        file.set_len(MAX_LAYER + (1 << 20)).unwrap();
        let error = open_docker_archive(&path, None).unwrap_err();
        assert!(matches!(error, Error::TooLarge { .. }), "{error}");
    }

    #[test]
    fn compressed_archive_is_named_as_such() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("saved.tar.gz");
        std::fs::write(&path, [0x1f, 0x8b, 8, 0]).unwrap();
        let error = open_docker_archive(&path, None).unwrap_err().to_string();
        assert!(error.contains("Docker archive: the file is compressed; decompress it first"), "{error}");
    }

    #[test]
    fn layer_that_the_configuration_does_not_list_is_rejected() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("saved.tar");
        saved(&path, &image("content"), &[], |layer| layer[600] ^= 1);
        let error = open_docker_archive(&path, None).unwrap_err();
        assert!(matches!(error, Error::Mismatch { .. }), "{error}");
    }

    #[test]
    fn docker_archive_round_trips() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("image.tar");
        let image = image("content");
        write_docker_archive(&path, &image, "example.com/a:v1").unwrap();
        let read = open_docker_archive(&path, Some("example.com/a:v1")).unwrap();
        assert_eq!(read.digest(), image.digest());
        let index =
            Artifact::index(vec![(Platform::default(), Artifact::from(&image))], BTreeMap::new()).unwrap();
        let error = write_docker_archive(&path, &index, "a:v1").unwrap_err().to_string();
        assert!(error.contains("for one only"), "{error}");
    }

    #[test]
    fn archives_without_images_are_rejected() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.tar");
        for (list, expected) in [
            ("[]", "does not contain an image"),
            ("{}", "not a valid Docker archive"),
            (r#"[{"Config":"../c.json","Layers":[]}]"#, "contains no file"),
        ] {
            let mut archive = Builder::new(Pending::new(&path).unwrap());
            append(&mut archive, DOCKER_LIST, EntryType::Regular, list.len() as u64, list.as_bytes())
                .unwrap();
            commit(archive, &path).unwrap();
            let error = open_docker_archive(&path, None).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
