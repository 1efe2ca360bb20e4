//! OCI layouts as directories.

use std::io;
use std::path::Path;

use super::artifact::Artifact;
use super::blob::{DOCUMENT_LIMIT, INDEX_LIMIT};
use super::error::Error;
use super::oci_layout::{OciLayout, Storage};
use super::regular::read_beneath;
use super::writer::{DirectoryWriter, MARKER_NAME};

/// Opens the OCI layout in the directory `path`.
///
/// Only regular files beneath the directory are opened, here and for blobs; `index.json` may have 32 MiB.
///
/// # Errors
///
/// [`Error::Read`] and [`Error::NotRegular`] if `index.json` cannot be read, [`Error::Outside`] if it is a link out of the
/// directory, [`Error::TooLarge`] and [`Error::Malformed`] if it is missing or not an index, or the layout has another version than 1.
pub fn open_directory(path: &Path) -> Result<OciLayout, Error> {
    let index = match read_beneath(path, "index.json", INDEX_LIMIT) {
        Err(Error::Read { source, .. }) if source.kind() == io::ErrorKind::NotFound && path.is_dir() => {
            let shown = path.display().to_string();
            return Err(Error::malformed(shown, "OCI layout", "index.json is missing"));
        }
        index => index?,
    };
    let marker = match read_beneath(path, MARKER_NAME, DOCUMENT_LIMIT) {
        Err(Error::Read { source, .. }) if source.kind() == io::ErrorKind::NotFound => None,
        marker => Some(marker?),
    };
    OciLayout::new(path, &index, marker.as_deref(), Storage::Directory)
}

/// Writes an image or an index as `image_name` to the OCI layout in the directory `path`, which is created if it does not
/// exist. All blobs must be present.
///
/// # Errors
///
/// Those of [`DirectoryWriter`].
pub fn write_directory(path: &Path, artifact: impl Into<Artifact>, image_name: &str) -> Result<(), Error> {
    let artifact = artifact.into();
    let writer = DirectoryWriter::open(path)?;
    for blob in artifact.all_blobs().into_values() {
        writer.add(blob)?;
    }
    writer.finish(&artifact, image_name)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Read;
    use std::os::unix::fs::symlink;

    use super::super::oci_layout::blob_path;
    use super::super::{Blob, File, FileMap, Image, ImageBuilder, Platform, Source, layer};
    use super::*;

    fn image(content: &str) -> Image {
        let mut files = FileMap::new();
        files.add("file", File { source: Source::Bytes(content.into()), executable: false }).unwrap();
        ImageBuilder { layers: vec![layer(&files, 0).unwrap()], ..ImageBuilder::default() }.build().unwrap()
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
    fn layout_contains_several_images() {
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
    fn directory_with_other_content_is_unchanged() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("notes"), "mine").unwrap();
        assert!(write_directory(dir.path(), image("x"), "x:v1").is_err());
        assert_eq!(names(dir.path()), ["notes"]);
    }

    #[test]
    fn dangling_link_survives_an_error() {
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
    fn layout_of_killed_writer_is_completed() {
        let dir = tempfile::tempdir().unwrap();
        let (layout, blobs) = (dir.path().join("layout"), dir.path().join("layout/blobs/sha256"));
        fs::create_dir_all(&blobs).unwrap();
        fs::write(blobs.join(".atomic-files-1-a-0"), "half").unwrap();
        fs::write(layout.join("oci-layout"), super::super::writer::MARKER).unwrap();
        write_directory(&layout, image("x"), "x:v1").unwrap();
        assert_eq!(names(&layout), ["blobs", "index.json", "oci-layout"]);
        assert_eq!(names(&blobs).len(), 3);
        fs::remove_file(layout.join("index.json")).unwrap();
        fs::write(layout.join("other"), "").unwrap();
        assert!(write_directory(&layout, image("x"), "x:v1").is_err());
    }

    #[test]
    fn error_leaves_what_was_there_and_nothing_else() {
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

        write_directory(&empty, image("x"), "x:v1").unwrap();
        let before = names(&empty.join("blobs/sha256"));
        assert!(write_directory(&empty, &broken, "y:v1").is_err());
        assert_eq!(names(&empty.join("blobs/sha256")), before);
    }

    #[test]
    fn writer_follows_no_links_inside_a_layout() {
        let dir = tempfile::tempdir().unwrap();
        let (layout, victim) = (dir.path().join("layout"), dir.path().join("victim"));
        write_directory(&layout, image("x"), "x:v1").unwrap();
        fs::create_dir(&victim).unwrap();
        fs::rename(layout.join("blobs"), dir.path().join("blobs")).unwrap();
        symlink(&victim, layout.join("blobs")).unwrap();
        assert!(write_directory(&layout, image("y"), "y:v1").is_err());
        assert!(names(&victim).is_empty());

        fs::remove_file(layout.join("blobs")).unwrap();
        fs::rename(dir.path().join("blobs"), layout.join("blobs")).unwrap();
        fs::rename(layout.join("index.json"), victim.join("index.json")).unwrap();
        symlink(victim.join("index.json"), layout.join("index.json")).unwrap();
        let before = fs::read(victim.join("index.json")).unwrap();
        assert!(write_directory(&layout, image("y"), "y:v1").is_err());
        assert_eq!(fs::read(victim.join("index.json")).unwrap(), before);
    }

    #[test]
    fn links_out_of_a_layout_are_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let (layout, away) = (dir.path().join("layout"), dir.path().join("away"));
        let image = image("x");
        write_directory(&layout, &image, "x:v1").unwrap();
        fs::create_dir(&away).unwrap();
        let blob = blob_path(image.layers()[0].digest());
        let document = || {
            let image = open_directory(&layout)?.image(None, &Platform::default())?;
            image.layers()[0].document()
        };
        for part in ["index.json", "blobs", "blobs/sha256", blob.as_str()] {
            let (path, target) = (layout.join(part), away.join("moved"));
            fs::rename(&path, &target).unwrap();
            symlink(&target, &path).unwrap();
            assert!(matches!(document(), Err(Error::Outside { .. })), "{part}");
            // One that stays is.
            fs::rename(&target, layout.join("moved")).unwrap();
            fs::remove_file(&path).unwrap();
            symlink(layout.join("moved"), &path).unwrap();
            document().unwrap();
            fs::remove_file(&path).unwrap();
            fs::rename(layout.join("moved"), &path).unwrap();
        }
    }

    #[test]
    fn layouts_of_another_version_are_rejected() {
        let dir = tempfile::tempdir().unwrap();
        write_directory(dir.path(), image("x"), "x:v1").unwrap();
        let write = |marker: &str| fs::write(dir.path().join("oci-layout"), marker).unwrap();
        write("{\"imageLayoutVersion\": \"2.0.0\"}");
        let error = open_directory(dir.path()).unwrap_err().to_string();
        assert!(error.contains("unsupported imageLayoutVersion `2.0.0`"), "{error}");
        write("{\"imageLayoutVersion\": \"1.1.0\"}");
        open_directory(dir.path()).unwrap();
        fs::remove_file(dir.path().join("oci-layout")).unwrap();
        open_directory(dir.path()).unwrap();
    }

    #[test]
    fn corrupted_blob_is_replaced() {
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
                    write_directory(path, image(&number.to_string()), &format!("x:{number}")).unwrap();
                });
            }
        });
        assert_eq!(open_directory(&path).unwrap().names().count(), 8);
    }

    #[test]
    fn index_that_is_not_a_regular_file_or_too_large_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let index = dir.path().join("index.json");
        assert!(std::process::Command::new("mkfifo").arg(&index).status().unwrap().success());
        assert!(matches!(open_directory(dir.path()), Err(Error::NotRegular { .. })));
        fs::remove_file(&index).unwrap();
        symlink("/dev/zero", &index).unwrap();
        assert!(matches!(open_directory(dir.path()), Err(Error::Outside { .. })));
        fs::remove_file(&index).unwrap();
        fs::File::create(&index).unwrap().set_len(INDEX_LIMIT + 1).unwrap();
        assert!(matches!(open_directory(dir.path()), Err(Error::TooLarge { .. })));
    }
}
