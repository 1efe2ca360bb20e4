//! OCI layouts as directories.

use std::collections::HashMap;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use oci_spec::image::{Descriptor, ImageIndex, ImageIndexBuilder, MediaType, SCHEMA_VERSION};

use super::blob::DOCUMENT_LIMIT;
use super::image::document;
use super::oci_layout::{OciLayout, REF_NAME, Storage, blob_path, name};
use super::regular::{open_regular, type_name};
use super::{Blob, Error, Image};
use atomic_files::{DirectoryLock, Pending};

/// The content of `oci-layout` (OCI image specification, image layout).
pub(crate) const MARKER: &[u8] = br#"{"imageLayoutVersion":"1.0.0"}"#;

/// How long a writer waits for another one.
const LOCK_TIMEOUT: Duration = Duration::from_secs(30);

/// Opens the OCI layout in the directory `path`.
///
/// Only regular files are opened, here and for blobs; `index.json` may have 4 MiB.
///
/// # Errors
///
/// [`Error::Read`] and [`Error::NotRegular`] if `index.json` cannot be read, [`Error::TooLarge`] and
/// [`Error::Malformed`] if it is not an index.
pub fn open_directory(path: &Path) -> Result<OciLayout, Error> {
    OciLayout::new(path, &read_document(&path.join("index.json"))?, Storage::Directory)
}

/// Writes `image` as `image_name` to the OCI layout in the directory `path`, which is created if it does not exist.
///
/// Other images in the layout stay; one with the same name is replaced. Blobs are written first and the index last, so
/// that the layout never names a blob that it lacks. After an error, files and directories that this call created are
/// removed, and nothing else. Concurrent writers wait for each other.
///
/// # Errors
///
/// [`Error::NotFound`] if `path` is a directory with other content, or a layout that leads elsewhere through links;
/// [`Error::Write`] if it cannot be written, is a dangling link, or another process writes to it for longer than 30
/// seconds; [`Error::Mismatch`] if a blob does not match its descriptor.
pub fn write_directory(path: &Path, image: &Image, image_name: &str) -> Result<(), Error> {
    let _lock = DirectoryLock::acquire(path, LOCK_TIMEOUT, |_| {})?;
    let mut created = Created::default();
    let index =
        if fs::symlink_metadata(path.join("oci-layout")).is_ok() {
            let index_path = path.join("index.json");
            let bytes = read_document(&index_path)?;
            Some(serde_json::from_slice::<ImageIndex>(&bytes).map_err(|error| {
                Error::malformed(index_path.display().to_string(), "OCI image index", &error)
            })?)
        } else {
            require_empty(path)?;
            None
        };
    for file in ["oci-layout", "index.json"] {
        reject_link(&path.join(file))?;
    }
    for directory in ["blobs", "blobs/sha256"] {
        created.directory(&path.join(directory))?;
        reject_link(&path.join(directory))?;
    }
    for blob in image.blobs().chain([image.manifest()]) {
        write_blob(path, blob, &mut created)?;
    }
    let index = index_with(index, image, image_name)?;
    created.file(&path.join("oci-layout"), MARKER)?;
    created.file(&path.join("index.json"), &index)?;
    created.keep();
    Ok(())
}

/// Returns the bytes of an index that contains `image` as `image_name` in addition to the images of `index`.
pub(crate) fn index_with(
    index: Option<ImageIndex>,
    image: &Image,
    image_name: &str,
) -> Result<Vec<u8>, Error> {
    let mut descriptor: Descriptor = image.manifest().descriptor().clone();
    descriptor.set_annotations(Some(HashMap::from([(REF_NAME.to_owned(), image_name.to_owned())])));
    let mut manifests = index.map(|index| index.manifests().clone()).unwrap_or_default();
    manifests.retain(|other| name(other) != Some(image_name));
    manifests.push(descriptor);
    manifests.sort_by(|a, b| (name(a), a.digest().as_ref()).cmp(&(name(b), b.digest().as_ref())));
    let index = ImageIndexBuilder::default()
        .schema_version(SCHEMA_VERSION)
        .media_type(MediaType::ImageIndex)
        .manifests(manifests)
        .build()
        .map_err(|error| Error::malformed("the new layout", "image index", &error))?;
    document(&index)
}

/// What a call created on disk: removed on drop, unless it is kept.
#[derive(Debug, Default)]
struct Created {
    /// Files and directories (`true`) in the order of their creation.
    paths: Vec<(PathBuf, bool)>,
}

impl Created {
    /// Creates the directory `path` if it does not exist.
    fn directory(&mut self, path: &Path) -> Result<(), Error> {
        match fs::create_dir(path) {
            Ok(()) => self.paths.push((path.to_owned(), true)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(atomic_files::Error::new("create", path, error).into()),
        }
        Ok(())
    }

    /// Writes a file, whole or not at all.
    fn file(&mut self, path: &Path, bytes: &[u8]) -> Result<(), Error> {
        let exists = fs::symlink_metadata(path).is_ok();
        atomic_files::file(path, bytes)?;
        if !exists {
            self.paths.push((path.to_owned(), false));
        }
        Ok(())
    }

    fn keep(mut self) {
        self.paths.clear();
    }
}

impl Drop for Created {
    fn drop(&mut self) {
        for (path, is_directory) in self.paths.drain(..).rev() {
            // The error that led here matters more than one of these. A directory that others put something into stays.
            let _ = if is_directory { fs::remove_dir(&path) } else { fs::remove_file(&path) };
        }
    }
}

fn write_blob(directory: &Path, blob: &Blob, created: &mut Created) -> Result<(), Error> {
    let path = directory.join(blob_path(blob.digest()));
    let exists = match fs::symlink_metadata(&path) {
        Ok(metadata) if metadata.is_file() => {
            let present = Blob::from_file(blob.descriptor().clone(), path.clone());
            if present.open().is_ok_and(|mut reader| io::copy(&mut reader, &mut io::sink()).is_ok()) {
                return Ok(());
            }
            true
        }
        Ok(metadata) => return Err(Error::NotRegular { path, found: type_name(metadata.file_type()) }),
        Err(_) => false,
    };
    let mut reader = blob.open()?;
    let mut pending = Pending::new(&path)?;
    copy(&mut reader, &mut pending, blob)?;
    pending.commit()?;
    if !exists {
        created.paths.push((path, false));
    }
    Ok(())
}

/// Copies a blob to a file and reports which of the two failed.
fn copy(reader: &mut dyn Read, pending: &mut Pending, blob: &Blob) -> Result<(), Error> {
    let mut buffer = vec![0; 64 << 10];
    loop {
        match reader.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => pending.append(&buffer[..count])?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(blob.error(error)),
        }
    }
}

fn require_empty(path: &Path) -> Result<(), Error> {
    if fs::read_dir(path).map_err(Error::read(path))?.next().is_none() {
        return Ok(());
    }
    let reason = "the directory is neither empty nor an OCI layout; name a new directory".to_owned();
    Err(Error::NotFound { path: path.to_owned(), reason })
}

/// Rejects a symbolic link inside a layout, through which files elsewhere would be written.
fn reject_link(path: &Path) -> Result<(), Error> {
    if fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink()) {
        let reason = "the layout contains a symbolic link; nothing is written through it".to_owned();
        return Err(Error::NotFound { path: path.to_owned(), reason });
    }
    Ok(())
}

fn read_document(path: &Path) -> Result<Vec<u8>, Error> {
    let (file, size) = open_regular(path)?;
    let mut bytes = Vec::new();
    if size <= DOCUMENT_LIMIT {
        file.take(DOCUMENT_LIMIT + 1).read_to_end(&mut bytes).map_err(Error::read(path))?;
    }
    if size.max(bytes.len() as u64) > DOCUMENT_LIMIT {
        return Err(Error::TooLarge { what: path.display().to_string(), limit: DOCUMENT_LIMIT });
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::super::{File, FileMap, Platform, Recipe, Source, layer};
    use super::*;

    fn image(content: &str) -> Image {
        let mut files = FileMap::new();
        files.add("file", File { source: Source::Bytes(content.into()), executable: false }).unwrap();
        Recipe { layers: vec![layer(&files, 0).unwrap()], ..Recipe::default() }.build().unwrap()
    }

    /// An image whose layer cannot be read: writing it fails after the configuration of `image` was read.
    fn broken_image() -> Image {
        let image = image("broken");
        Image::read(image.manifest().clone(), |descriptor| {
            if descriptor.digest() == image.config().digest() {
                image.config().clone()
            } else {
                Blob::absent(descriptor)
            }
        })
        .unwrap()
    }

    fn names(path: &Path) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(path)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_layout_contains_several_images() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("layout");
        let (one, two) = (image("one"), image("two"));
        write_directory(&path, &one, "example.com/a:v1").unwrap();
        write_directory(&path, &one, "example.com/b:v1").unwrap();
        write_directory(&path, &two, "example.com/a:v1").unwrap();
        let layout = open_directory(&path).unwrap();
        assert_eq!(layout.names().collect::<Vec<_>>(), ["example.com/a:v1", "example.com/b:v1"]);
        let platform = Platform::default();
        let read = layout.image(Some("example.com/a:v1"), &platform).unwrap();
        assert_eq!(read.digest(), two.digest());
        let bytes = |image: &Image| {
            let mut bytes = Vec::new();
            image.layers()[0].open().unwrap().read_to_end(&mut bytes).unwrap();
            bytes
        };
        assert_eq!(bytes(&read), bytes(&two));
        let error = layout.image(None, &platform).unwrap_err().to_string();
        assert!(error.contains("example.com/b:v1"), "{error}");
        let error = layout.image(Some("v2"), &platform).unwrap_err().to_string();
        assert!(error.contains("found no image `v2`"), "{error}");
    }

    #[test]
    fn a_directory_with_other_content_is_unchanged() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("notes"), "mine").unwrap();
        assert!(write_directory(dir.path(), &image("x"), "x:v1").is_err());
        assert_eq!(names(dir.path()), ["notes"]);
    }

    #[test]
    fn a_dangling_link_survives_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let link = dir.path().join("link");
        symlink("nowhere", &link).unwrap();
        for image in [image("x"), broken_image()] {
            let error = write_directory(&link, &image, "x:v1").unwrap_err().to_string();
            assert!(error.contains("link"), "{error}");
            assert_eq!(names(dir.path()), ["link"]);
        }
    }

    #[test]
    fn an_error_leaves_what_was_there_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let broken = broken_image();
        assert!(write_directory(&dir.path().join("new/deep"), &broken, "x:v1").is_err());
        assert!(names(dir.path()).is_empty());

        let empty = dir.path().join("empty");
        fs::create_dir(&empty).unwrap();
        symlink("empty", dir.path().join("link")).unwrap();
        assert!(write_directory(&dir.path().join("link"), &broken, "x:v1").is_err());
        assert_eq!(names(dir.path()), ["empty", "link"]);
        assert!(names(&empty).is_empty());

        write_directory(&empty, &image("x"), "x:v1").unwrap();
        let before = names(&empty.join("blobs/sha256"));
        assert!(write_directory(&empty, &broken, "y:v1").is_err());
        assert_eq!(names(&empty.join("blobs/sha256")), before);
    }

    #[test]
    fn nothing_is_written_through_links_inside_a_layout() {
        let dir = tempfile::tempdir().unwrap();
        let (layout, victim) = (dir.path().join("layout"), dir.path().join("victim"));
        write_directory(&layout, &image("x"), "x:v1").unwrap();
        fs::create_dir(&victim).unwrap();
        fs::rename(layout.join("blobs"), dir.path().join("blobs")).unwrap();
        symlink(&victim, layout.join("blobs")).unwrap();
        assert!(write_directory(&layout, &image("y"), "y:v1").is_err());
        assert!(names(&victim).is_empty());

        fs::remove_file(layout.join("blobs")).unwrap();
        fs::rename(dir.path().join("blobs"), layout.join("blobs")).unwrap();
        fs::rename(layout.join("index.json"), victim.join("index.json")).unwrap();
        symlink(victim.join("index.json"), layout.join("index.json")).unwrap();
        let before = fs::read(victim.join("index.json")).unwrap();
        assert!(write_directory(&layout, &image("y"), "y:v1").is_err());
        assert_eq!(fs::read(victim.join("index.json")).unwrap(), before);
    }

    #[test]
    fn a_corrupted_blob_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let image = image("x");
        write_directory(dir.path(), &image, "x:v1").unwrap();
        let path = dir.path().join(blob_path(image.layers()[0].digest()));
        let right = fs::read(&path).unwrap();
        fs::write(&path, vec![0; right.len()]).unwrap();
        write_directory(dir.path(), &image, "x:v1").unwrap();
        assert_eq!(fs::read(&path).unwrap(), right);
    }

    #[test]
    fn concurrent_writers_lose_no_image() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("layout");
        std::thread::scope(|scope| {
            for number in 0..8 {
                let path = &path;
                scope.spawn(move || {
                    write_directory(path, &image(&number.to_string()), &format!("x:{number}")).unwrap();
                });
            }
        });
        assert_eq!(open_directory(&path).unwrap().names().count(), 8);
    }

    #[test]
    fn an_index_that_is_not_a_regular_file_or_too_large_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let index = dir.path().join("index.json");
        assert!(std::process::Command::new("mkfifo").arg(&index).status().unwrap().success());
        assert!(matches!(open_directory(dir.path()), Err(Error::NotRegular { .. })));
        fs::remove_file(&index).unwrap();
        symlink("/dev/zero", &index).unwrap();
        assert!(matches!(open_directory(dir.path()), Err(Error::NotRegular { .. })));
        fs::remove_file(&index).unwrap();
        fs::File::create(&index).unwrap().set_len(DOCUMENT_LIMIT + 1).unwrap();
        assert!(matches!(open_directory(dir.path()), Err(Error::TooLarge { .. })));
    }
}
