//! OCI layouts as archives: one tar file with the content of a layout's directory.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Read, Seek as _, SeekFrom};
use std::path::Path;

use tar::{Builder, EntryType, Header};

use super::artifact::{Artifact, Wanted};
use super::blob::{Blob, DOCUMENT_LIMIT, INDEX_LIMIT};
use super::directory::open_directory;
use super::error::Error;
use super::image::document;
use super::oci_layout::{OciLayout, Storage, blob_path};
use super::regular::open_regular;
use super::writer::{MARKER, MARKER_NAME, index_of, index_with};
use crate::compressed::is_compressed;
use atomic_files::Pending;

/// The document that lists the images of a Docker archive.
pub(crate) const DOCKER_LIST: &str = "manifest.json";

/// The maximum number of entries in an archive, of any type.
pub(crate) const MAX_MEMBERS: usize = 100_000;

/// Opens the OCI archive `path`. Its blobs are read from the archive; nothing is unpacked.
///
/// The archive must be a regular file with at most 100,000 entries; its `index.json` may have 32 MiB. Entries that are
/// not regular files are ignored.
///
/// # Errors
///
/// [`Error::Read`] and [`Error::NotRegular`] if it cannot be read, [`Error::Malformed`] if it is not an OCI archive,
/// [`Error::UnsafePath`] for absolute paths, `..`, names that are not UTF-8 and duplicates, [`Error::TooMany`] and
/// [`Error::TooLarge`] beyond the limits.
pub fn open_archive(path: &Path) -> Result<OciLayout, Error> {
    let Scan { members, document, .. } = scan(path, "OCI archive", "index.json", MAX_MEMBERS)?;
    let index = document.ok_or_else(|| {
        Error::malformed(path.display().to_string(), "OCI archive", "index.json is missing")
    })?;
    let marker = match members.get(MARKER_NAME) {
        Some((offset, size)) if *size <= DOCUMENT_LIMIT => {
            let (mut file, _) = open_regular(path)?;
            let mut bytes = Vec::new();
            file.seek(SeekFrom::Start(*offset)).map_err(Error::read(path))?;
            file.take(*size).read_to_end(&mut bytes).map_err(Error::read(path))?;
            Some(bytes)
        }
        Some(_) => {
            let what = format!("{MARKER_NAME} in {}", path.display());
            return Err(Error::TooLarge { what, limit: DOCUMENT_LIMIT });
        }
        None => None,
    };
    OciLayout::new(path, &index, marker.as_deref(), Storage::Archive(members))
}

/// Offset and size of the members of an archive by path.
pub(crate) type Members = BTreeMap<String, (u64, u64)>;

/// What an archive contains.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    /// The regular files.
    pub(crate) members: Members,
    /// The targets of symbolic and hard links by path, as the archive writes them; `true` for hard links.
    pub(crate) links: BTreeMap<String, (String, bool)>,
    /// The document that was asked for.
    pub(crate) document: Option<Vec<u8>>,
}

/// Lists the regular files and the links in the archive `path`, an `expected` one, and reads the file called `document`.
pub(crate) fn scan(
    path: &Path,
    expected: &'static str,
    document: &str,
    max_members: usize,
) -> Result<Scan, Error> {
    let what = || path.display().to_string();
    let (file, _) = open_regular(path)?;
    let mut file = BufReader::new(file);
    let start = file.fill_buf().map_err(Error::read(path))?;
    if is_compressed(start) {
        return Err(Error::malformed(what(), expected, "the file is compressed; decompress it first"));
    }
    let mut archive = tar::Archive::new(file);
    let mut found = Scan::default();
    let not_tar = |error: io::Error| match error.kind() {
        io::ErrorKind::Other | io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidInput => {
            // Never the parser's own words: it reads whatever it is given as headers.
            Error::malformed(what(), expected, "expected an uncompressed tar archive")
        }
        _ => Error::read(path)(error),
    };
    // Raw, so that an extended header cannot rename a member: members of a layout have short names.
    for (number, entry) in archive.entries_with_seek().map_err(not_tar)?.raw(true).enumerate() {
        let mut entry = entry.map_err(not_tar)?;
        if number >= max_members {
            let what = format!("the number of entries in {}", what());
            return Err(Error::TooMany { what, limit: max_members as u64 });
        }
        let kind = entry.header().entry_type();
        let is_link = matches!(kind, EntryType::Symlink | EntryType::Link);
        if !is_link && !matches!(kind, EntryType::Regular | EntryType::Continuous) {
            continue;
        }
        let name = entry.path_bytes();
        let name = str::from_utf8(&name)
            .map_err(|_| Error::unsafe_path(&String::from_utf8_lossy(&name), "it is not UTF-8"))?
            .to_owned();
        if name.starts_with('/') || name.split('/').any(|part| part == "..") {
            return Err(Error::unsafe_path(&name, "it points outside the archive"));
        }
        let name = name.trim_start_matches("./").to_owned();
        if is_link {
            // A target that is not UTF-8 leads nowhere: members have other names.
            let target =
                entry.link_name_bytes().and_then(|target| Some(str::from_utf8(&target).ok()?.to_owned()));
            found.links.insert(name, (target.unwrap_or_default(), kind == EntryType::Link));
            continue;
        }
        let size = entry.header().entry_size().map_err(not_tar)?;
        if name == document {
            if size > INDEX_LIMIT {
                let what = format!("{document} in {}", what());
                return Err(Error::TooLarge { what, limit: INDEX_LIMIT });
            }
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).map_err(not_tar)?;
            found.document = Some(bytes);
        }
        if found.members.insert(name.clone(), (entry.raw_file_position(), size)).is_some() {
            return Err(Error::unsafe_path(&name, "the archive contains it twice"));
        }
    }
    Ok(found)
}

/// Writes an image or an index as `image_name` to a new OCI archive `path`. All blobs must be present. The same image
/// produces the same bytes.
///
/// # Errors
///
/// [`Error::Write`] if the file cannot be written, in which case there is no file; [`Error::Mismatch`] if a blob does
/// not match its descriptor.
pub fn write_archive(path: &Path, artifact: impl Into<Artifact>, image_name: &str) -> Result<(), Error> {
    let artifact = artifact.into();
    require_archive(path)?;
    let mut archive = Builder::new(Pending::new(path)?);
    let blobs: BTreeMap<_, _> = artifact
        .all_blobs()
        .into_values()
        .chain(artifact.all_manifests())
        .map(|blob| (blob_path(blob.digest()), blob))
        .collect();
    for directory in ["blobs/", "blobs/sha256/"] {
        append(&mut archive, directory, EntryType::Directory, 0, io::empty())?;
    }
    for (name, blob) in blobs {
        append_blob(&mut archive, &name, blob)?;
    }
    for (name, bytes) in
        [("index.json", document(&index_with(None, &artifact, image_name)?)?), (MARKER_NAME, MARKER.to_vec())]
    {
        append(&mut archive, name, EntryType::Regular, bytes.len() as u64, bytes.as_slice())?;
    }
    commit(archive, path)
}

/// Writes the images `names` of the layout in `directory` to a new OCI archive `path`. Blobs that the layout lacks are omitted.
///
/// # Errors
///
/// As [`write_archive`], and [`Error::TooMany`] beyond 100,000 entries.
pub(crate) fn pack(directory: &Path, names: &BTreeSet<String>, path: &Path) -> Result<(), Error> {
    require_archive(path)?;
    let layout = open_directory(directory)?;
    let mut blobs: BTreeMap<String, Blob> = BTreeMap::new();
    for name in names {
        let artifact = layout.artifact(Some(name), &Wanted::Available)?;
        let all = artifact.all_blobs().into_values().chain(artifact.all_manifests());
        let present =
            all.filter(|blob| blob.is_present() && directory.join(blob_path(blob.digest())).is_file());
        blobs.extend(present.map(|blob| (blob_path(blob.digest()), blob.clone())));
    }
    if blobs.len() + 4 > MAX_MEMBERS {
        let what = format!("the number of blobs for {}", path.display());
        return Err(Error::TooMany { what, limit: MAX_MEMBERS as u64 });
    }
    let mut archive = Builder::new(Pending::new(path)?);
    for directory in ["blobs/", "blobs/sha256/"] {
        append(&mut archive, directory, EntryType::Directory, 0, io::empty())?;
    }
    for (name, blob) in &blobs {
        append_blob(&mut archive, name, blob)?;
    }
    let index = document(&index_of(layout.named(names))?)?;
    for (name, bytes) in [("index.json", index), (MARKER_NAME, MARKER.to_vec())] {
        append(&mut archive, name, EntryType::Regular, bytes.len() as u64, bytes.as_slice())?;
    }
    commit(archive, path)
}

/// Rejects a file that would be replaced and is not an archive of images. An empty one, as `mktemp` creates, is accepted.
pub(crate) fn require_archive(path: &Path) -> Result<(), Error> {
    // A device is written, not replaced.
    if !fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.len() > 0) {
        return Ok(());
    }
    let is_archive = |file: File| {
        let mut archive = tar::Archive::new(file);
        let mut entries = archive.entries_with_seek()?.raw(true).take(MAX_MEMBERS);
        let names = ["index.json", MARKER_NAME, DOCKER_LIST];
        Ok::<_, io::Error>(entries.any(|entry| {
            entry.is_ok_and(|entry| {
                let name = entry.path_bytes();
                names.iter().any(|wanted| name.strip_prefix(b"./").unwrap_or(&name) == wanted.as_bytes())
            })
        }))
    };
    if open_regular(path).is_ok_and(|(file, _)| is_archive(file).unwrap_or(false)) {
        return Ok(());
    }
    Err(Error::NotAnArchive { path: path.to_owned() })
}

/// Ends an archive and gives it its name.
pub(crate) fn commit(archive: Builder<Pending>, path: &Path) -> Result<(), Error> {
    let failed = |error| atomic_files::Error::new("write", path, error);
    archive.into_inner().map_err(failed)?.commit()?;
    Ok(())
}

pub(crate) fn append_blob(archive: &mut Builder<Pending>, name: &str, blob: &Blob) -> Result<(), Error> {
    let mut reader = KeepError { reader: blob.open()?, failed: None };
    let appended = append(archive, name, EntryType::Regular, blob.size(), &mut reader);
    match reader.failed {
        Some(error) => Err(blob.error(error)),
        None => appended,
    }
}

pub(crate) fn append(
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

/// A reader that keeps its error, which `tar` does not distinguish from the writer's.
struct KeepError<R> {
    reader: R,
    failed: Option<io::Error>,
}

impl<R: Read> Read for KeepError<R> {
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
    use std::fs;

    use super::super::docker_archive;
    use super::super::{
        File, FileMap, Image, ImageBuilder, Platform, Source, layer, open_directory, write_directory,
    };
    use super::*;

    fn image(content: &str) -> Image {
        let mut files = FileMap::new();
        files.add("file", File { source: Source::Bytes(content.into()), executable: false }).unwrap();
        ImageBuilder { layers: vec![layer(&files, 0).unwrap()], ..ImageBuilder::default() }.build().unwrap()
    }

    fn read_layer(image: &Image) -> Vec<u8> {
        let mut bytes = Vec::new();
        image.layers()[0].open().unwrap().read_to_end(&mut bytes).unwrap();
        bytes
    }

    /// Writes an archive with one entry for each type and name.
    fn archive(path: &Path, entries: &[(EntryType, &[u8])]) {
        let mut builder = Builder::new(Vec::new());
        for (kind, name) in entries {
            let mut header = Header::new_old();
            header.as_old_mut().name[..name.len()].copy_from_slice(name);
            header.set_entry_type(*kind);
            header.set_size(0);
            header.set_cksum();
            builder.append(&header, io::empty()).unwrap();
        }
        fs::write(path, builder.into_inner().unwrap()).unwrap();
    }

    #[test]
    fn only_archives_of_images_are_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("mine");
        let write = |docker: bool| {
            let write = if docker { docker_archive::write_docker_archive } else { write_archive };
            write(&path, image("x"), "example.com/x:v1")
        };
        let foreign = |path: &Path| archive(path, &[(EntryType::Regular, b"notes")]);
        for docker in [false, true] {
            fs::write(&path, "my notes\n").unwrap();
            assert!(matches!(write(docker), Err(Error::NotAnArchive { .. })));
            assert_eq!(fs::read(&path).unwrap(), b"my notes\n");
            foreign(&path);
            assert!(matches!(write(docker), Err(Error::NotAnArchive { .. })));
            fs::write(&path, "").unwrap();
            write(docker).unwrap();
            write(!docker).unwrap();
        }
    }

    #[test]
    fn archive_is_reproducible_and_readable() {
        let dir = tempfile::tempdir().unwrap();
        let (a, b) = (dir.path().join("a.tar"), dir.path().join("b.tar"));
        let image = image("content");
        write_archive(&a, &image, "example.com/a:v1").unwrap();
        write_archive(&b, &image, "example.com/a:v1").unwrap();
        assert_eq!(fs::read(&a).unwrap(), fs::read(&b).unwrap());
        let read = open_archive(&a).unwrap().image(Some("v1"), &Platform::default()).unwrap();
        assert_eq!(read.digest(), image.digest());
        assert_eq!(read_layer(&read), read_layer(&image));
    }

    #[test]
    fn corrupted_blob_is_not_copied() {
        let dir = tempfile::tempdir().unwrap();
        let image = image("content");
        let layout = dir.path().join("layout");
        write_directory(&layout, &image, "a:v1").unwrap();
        let path = layout.join(blob_path(image.layers()[0].digest()));
        let mut bytes = fs::read(&path).unwrap();
        bytes[20] ^= 1;
        fs::write(&path, bytes).unwrap();
        let read = open_directory(&layout).unwrap().image(None, &Platform::default()).unwrap();
        let error = write_archive(&dir.path().join("copy.tar"), &read, "a:v1").unwrap_err();
        assert!(matches!(error, Error::Mismatch { .. }), "{error}");
        assert!(!dir.path().join("copy.tar").exists());
    }

    #[test]
    fn hostile_archives_are_rejected() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.tar");
        fs::write(&path, vec![7; 2048]).unwrap();
        let error = open_archive(&path).unwrap_err().to_string();
        assert!(error.contains("x.tar"), "{error}");
        for entries in [
            &[(EntryType::Regular, &b"../escape.ex"[..])][..],
            &[(EntryType::Regular, b"/index.json")],
            &[(EntryType::Regular, b"blobs/\xff")],
            &[(EntryType::Regular, b"index.json"), (EntryType::Regular, b"./index.json")],
        ] {
            archive(&path, entries);
            let error = open_archive(&path).unwrap_err();
            assert!(matches!(error, Error::UnsafePath { .. }), "{error}");
        }
        archive(&path, &[(EntryType::Symlink, b"index.json")]);
        assert!(matches!(open_archive(&path), Err(Error::Malformed { .. })));
    }

    #[test]
    fn entries_of_every_type_count_towards_the_limit() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.tar");
        archive(
            &path,
            &[(EntryType::Directory, b"a"), (EntryType::Directory, b"a"), (EntryType::Fifo, b"b")],
        );
        assert!(scan(&path, "OCI archive", "index.json", 3).is_ok());
        assert!(matches!(scan(&path, "OCI archive", "index.json", 2), Err(Error::TooMany { limit: 2, .. })));
    }

    #[test]
    fn member_that_ends_after_the_archive_is_truncated() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.tar");
        let image = image("content");
        write_archive(&path, &image, "a:v1").unwrap();
        let Scan { members, .. } = scan(&path, "OCI archive", "index.json", MAX_MEMBERS).unwrap();
        let layer = blob_path(image.layers()[0].digest());
        let (offset, _) = members[&layer];
        let read = open_archive(&path).unwrap().image(None, &Platform::default()).unwrap();
        fs::File::options().write(true).open(&path).unwrap().set_len(offset + 1).unwrap();
        assert!(matches!(read.layers()[0].open().map(|_| ()), Err(Error::Mismatch { .. })));
    }

    #[test]
    fn fifo_as_an_archive_does_not_block() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("fifo");
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        assert!(matches!(open_archive(&path), Err(Error::NotRegular { .. })));
    }
}
