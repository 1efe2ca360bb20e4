//! OCI layouts as archives: one tar file that holds what a layout's folder would.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, BufReader, Read};
use std::path::Path;

use tar::{Builder, EntryType, Header};

use super::blob::DOCUMENT_LIMIT;
use super::folder::{MARKER, index_with};
use super::oci_layout::{OciLayout, Places, blob_path};
use super::{Blob, Error, Image};
use atomic_files::Pending;

/// More members than any layout has; an archive beyond it is an attack on whoever lists it.
const MEMBER_LIMIT: usize = 100_000;

/// Opens the OCI archive `path`. Its blobs are read where they lie, nothing is unpacked.
///
/// # Errors
///
/// [`Error::Read`] where it cannot be read, [`Error::Malformed`] where it is no OCI archive, [`Error::UnsafePath`] and
/// [`Error::TooLarge`] where it is hostile.
pub fn open_archive(path: &Path) -> Result<OciLayout, Error> {
    let what = || path.display().to_string();
    let file = fs::File::open(path).map_err(Error::read(path))?;
    let mut archive = tar::Archive::new(BufReader::new(file));
    let mut members = BTreeMap::new();
    let mut index = None;
    // Raw, so that every header is looked at as it lies there: members of a layout have short names.
    for entry in archive.entries().map_err(Error::read(path))?.raw(true) {
        let mut entry = entry.map_err(|error| match error.kind() {
            io::ErrorKind::Other => Error::malformed(what(), "OCI archive", &not_plain(&error)),
            _ => Error::read(path)(error),
        })?;
        if members.len() >= MEMBER_LIMIT {
            return Err(Error::TooLarge {
                what: format!("the list of members of {}", what()),
                limit: 100_000,
            });
        }
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        if !matches!(entry.header().entry_type(), EntryType::Regular | EntryType::Continuous) {
            continue;
        }
        if name.starts_with('/') || name.split('/').any(|part| part == "..") {
            return Err(Error::UnsafePath { path: name, reason: "it leads out of the archive" });
        }
        let name = name.trim_start_matches("./").to_owned();
        let size = entry.header().entry_size().map_err(Error::read(path))?;
        if name == "index.json" {
            if size > DOCUMENT_LIMIT {
                return Err(Error::TooLarge {
                    what: format!("index.json in {}", what()),
                    limit: DOCUMENT_LIMIT,
                });
            }
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).map_err(Error::read(path))?;
            index = Some(bytes);
        }
        members.insert(name, (entry.raw_file_position(), size));
    }
    let index = index.ok_or_else(|| Error::malformed(what(), "OCI archive", "it holds no index.json"))?;
    OciLayout::new(path, &index, Places::Archive(members))
}

fn not_plain(error: &io::Error) -> String {
    format!("{error} (it must be a tar file that is not compressed)")
}

/// Writes `image` into a new OCI archive `path` under `image_name`. The same image gives the same bytes.
///
/// # Errors
///
/// [`Error::Write`] where the file cannot be written; there is then no file. [`Error::Mismatch`] where a blob is not
/// what it should be.
pub fn write_archive(path: &Path, image: &Image, image_name: &str) -> Result<(), Error> {
    let mut archive = Builder::new(Pending::new(path)?);
    let blobs: BTreeMap<_, _> =
        image.blobs().chain([image.manifest()]).map(|blob| (blob_path(blob.digest()), blob)).collect();
    for folder in ["blobs/", "blobs/sha256/"] {
        append(&mut archive, folder, EntryType::Directory, 0, io::empty())?;
    }
    for (name, blob) in blobs {
        append_blob(&mut archive, &name, blob)?;
    }
    for (name, bytes) in
        [("index.json", index_with(None, image, image_name)?), ("oci-layout", MARKER.to_vec())]
    {
        append(&mut archive, name, EntryType::Regular, bytes.len() as u64, bytes.as_slice())?;
    }
    let failed = |error| atomic_files::Error::new("write", path, error);
    archive.into_inner().map_err(failed)?.commit()?;
    Ok(())
}

fn append_blob(archive: &mut Builder<Pending>, name: &str, blob: &Blob) -> Result<(), Error> {
    let mut reader = Watched { reader: blob.open()?, failed: None };
    let appended = append(archive, name, EntryType::Regular, blob.size(), &mut reader);
    match reader.failed {
        Some(error) => Err(blob.error(error)),
        None => appended,
    }
}

fn append(
    archive: &mut Builder<Pending>,
    name: &str,
    kind: EntryType,
    size: u64,
    reader: impl Read,
) -> Result<(), Error> {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(if kind == EntryType::Directory { 0o755 } else { 0o644 });
    header.set_size(size);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    let appended = archive.append_data(&mut header, name, reader);
    appended.map_err(|error| Error::Write(archive.get_ref().error(error)))
}

/// A reader that keeps its error, which `tar` would make look like the writer's.
struct Watched<R> {
    reader: R,
    failed: Option<io::Error>,
}

impl<R: Read> Read for Watched<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.reader.read(buffer).map_err(|error| {
            let kind = error.kind();
            self.failed = Some(error);
            kind.into()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{File, FileMap, Platform, Recipe, Source, layer, open_folder, write_folder};
    use super::*;

    fn image(text: &str) -> Image {
        let mut files = FileMap::new();
        files.add("file", File { source: Source::Bytes(text.into()), executable: false }).unwrap();
        Recipe { layers: vec![layer(&files, 0).unwrap()], ..Recipe::default() }.build().unwrap()
    }

    fn read_layer(image: &Image) -> Vec<u8> {
        let mut bytes = Vec::new();
        image.layers()[0].open().unwrap().read_to_end(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn a_folder_keeps_several_images() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("layout");
        let (one, two) = (image("one"), image("two"));
        write_folder(&path, &one, "example.com/a:v1").unwrap();
        write_folder(&path, &one, "example.com/b:v1").unwrap();
        write_folder(&path, &two, "example.com/a:v1").unwrap();
        let layout = open_folder(&path).unwrap();
        assert_eq!(layout.names().collect::<Vec<_>>(), ["example.com/a:v1", "example.com/b:v1"]);
        let platform = Platform::default();
        let read = layout.image(Some("example.com/a:v1"), &platform).unwrap();
        assert_eq!(read.digest(), two.digest());
        assert_eq!(read_layer(&read), read_layer(&two));
        let error = layout.image(None, &platform).unwrap_err().to_string();
        assert!(error.contains("example.com/b:v1"), "{error}");
        let error = layout.image(Some("v2"), &platform).unwrap_err().to_string();
        assert!(error.contains("no image \"v2\""), "{error}");
    }

    #[test]
    fn a_folder_with_other_things_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("notes"), "mine").unwrap();
        assert!(write_folder(dir.path(), &image("x"), "x:v1").is_err());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn an_archive_is_the_same_every_time_and_can_be_read() {
        let dir = tempfile::tempdir().unwrap();
        let (a, b) = (dir.path().join("a.tar"), dir.path().join("b.tar"));
        let image = image("text");
        write_archive(&a, &image, "example.com/a:v1").unwrap();
        write_archive(&b, &image, "example.com/a:v1").unwrap();
        assert_eq!(fs::read(&a).unwrap(), fs::read(&b).unwrap());
        let read = open_archive(&a).unwrap().image(Some("v1"), &Platform::default()).unwrap();
        assert_eq!(read.digest(), image.digest());
        assert_eq!(read_layer(&read), read_layer(&image));
    }

    #[test]
    fn a_damaged_blob_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let image = image("text");
        write_folder(dir.path(), &image, "a:v1").unwrap();
        let path = dir.path().join(blob_path(image.layers()[0].digest()));
        let mut bytes = fs::read(&path).unwrap();
        bytes[20] ^= 1;
        fs::write(&path, bytes).unwrap();
        let read = open_folder(dir.path()).unwrap().image(None, &Platform::default()).unwrap();
        let error = write_archive(&dir.path().join("copy.tar"), &read, "a:v1").unwrap_err();
        assert!(matches!(error, Error::Mismatch { .. }), "{error}");
        assert!(!dir.path().join("copy.tar").exists());
    }

    #[test]
    fn what_is_no_archive_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.tar");
        fs::write(&path, vec![7; 2048]).unwrap();
        let error = open_archive(&path).unwrap_err().to_string();
        assert!(error.contains("x.tar"), "{error}");
        let mut builder = Builder::new(Pending::new(&path).unwrap());
        let mut header = Header::new_old();
        header.as_old_mut().name[..12].copy_from_slice(b"../escape.ex");
        header.set_size(0);
        header.set_cksum();
        builder.append(&header, io::empty()).unwrap();
        builder.into_inner().unwrap().commit().unwrap();
        assert!(matches!(open_archive(&path).unwrap_err(), Error::UnsafePath { .. }));
    }
}
