//! Layers: files as a compressed archive with the same bytes wherever it is built.

use std::collections::BTreeSet;
use std::io::{self, Read};

use oci_spec::image::{Descriptor, Digest, MediaType};
use tar::{EntryType, Header};

use super::blob::Blob;
use super::digest::Hashing;
use super::error::Error;
use super::files::{FileMap, Source};
use super::gzip::Gzip;
use super::regular::open_regular;

/// A layer of an image.
#[derive(Debug, Clone)]
pub struct Layer {
    /// The compressed archive.
    pub blob: Blob,
    /// The digest of the uncompressed archive, which image configurations list.
    pub diff_id: Digest,
}

/// Builds a layer from `files`.
///
/// The archive is a temporary file, so that a layer is never held in memory. Entries are sorted, and directories precede
/// their content. Owner and group are 0, modes are 0755 for directories and executables and 0644 otherwise, and all
/// times are `modified` (seconds since 1970).
///
/// # Errors
///
/// [`Error::Read`] if a file cannot be read or becomes shorter meanwhile, [`Error::NotRegular`] if it is no longer a
/// regular file, [`Error::Temporary`] if the directory for temporary files is full.
pub fn layer(files: &FileMap, modified: u64) -> Result<Layer, Error> {
    let file = tempfile::tempfile().map_err(Error::temporary)?;
    let compressed = Hashing::new(io::BufWriter::new(file));
    let encoder = Gzip::new(compressed).map_err(Error::temporary)?;
    let mut archive = tar::Builder::new(Hashing::new(encoder));
    let mut directories = BTreeSet::new();
    for (name, file) in files.iter() {
        for (end, _) in name.match_indices('/') {
            if directories.insert(&name[..end]) {
                let mut header = header(EntryType::Directory, 0, 0o755, modified);
                archive
                    .append_data(&mut header, format!("{}/", &name[..end]), io::empty())
                    .map_err(Error::temporary)?;
            }
        }
        let mode = if file.executable { 0o755 } else { 0o644 };
        match &file.source {
            Source::Bytes(bytes) => {
                let mut header = header(EntryType::Regular, bytes.len() as u64, mode, modified);
                archive.append_data(&mut header, name, bytes.as_slice()).map_err(Error::temporary)?;
            }
            Source::Link(target) => {
                let mut header = header(EntryType::Symlink, 0, 0o777, modified);
                archive.append_link(&mut header, name, target).map_err(Error::temporary)?;
            }
            Source::Disk(path) => {
                let (disk, size) = open_regular(path)?;
                let mut header = header(EntryType::Regular, size, mode, modified);
                let mut reader = Exact { reader: disk, left: size, failed: None };
                let appended = archive.append_data(&mut header, name, &mut reader);
                if let Some(error) = reader.failed {
                    return Err(Error::read(path)(error));
                }
                appended.map_err(Error::temporary)?;
            }
        }
    }
    for directory in files.scratch_directories() {
        let mut header = header(EntryType::Directory, 0, 0o1777, modified);
        archive.append_data(&mut header, format!("{directory}/"), io::empty()).map_err(Error::temporary)?;
    }
    let (diff_id, _, encoder) = archive.into_inner().map_err(Error::temporary)?.finish();
    let (digest, size, file) = encoder.finish().map_err(Error::temporary)?.finish();
    let file = file.into_inner().map_err(|error| Error::temporary(error.into_error()))?;
    let descriptor = Descriptor::new(MediaType::ImageLayerGzip, size, digest);
    Ok(Layer { blob: Blob::from_temporary(descriptor, file), diff_id })
}

fn header(kind: EntryType, size: u64, mode: u32, modified: u64) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_size(size);
    header.set_mode(mode);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(modified);
    header
}

/// A reader of exactly the number of bytes in an archive's header. It keeps its error, which `tar` does not distinguish
/// from the writer's.
struct Exact<R> {
    reader: R,
    left: u64,
    failed: Option<io::Error>,
}

impl<R: Read> Read for Exact<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let want = usize::try_from(self.left).map_or(buffer.len(), |left| left.min(buffer.len()));
        if want == 0 {
            return Ok(0);
        }
        let result = match self.reader.read(&mut buffer[..want]) {
            Ok(0) => {
                Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it was truncated while it was being read"))
            }
            other => other,
        };
        match result {
            Ok(count) => {
                self.left -= count as u64;
                Ok(count)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(error),
            Err(error) => {
                let kind = error.kind();
                self.failed = Some(error);
                Err(kind.into())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::files::File;
    use super::*;

    fn sample() -> FileMap {
        let mut files = FileMap::new();
        let long = format!("deep/{}/x", "n".repeat(150));
        for (path, executable) in
            [("manifests/b.yaml", false), ("manifests/a.yaml", false), ("manager", true), (&long, false)]
        {
            files.add(path, File { source: Source::Bytes(path.into()), executable }).unwrap();
        }
        files
    }

    #[test]
    fn links_are_links() {
        let mut files = FileMap::new();
        let link = File { source: Source::Link("program".to_owned()), executable: false };
        files.add("bin/opm", link).unwrap();
        let mut archive = Vec::new();
        let layer = layer(&files, 0).unwrap();
        flate2::read::GzDecoder::new(layer.blob.open().unwrap()).read_to_end(&mut archive).unwrap();
        let mut archive = tar::Archive::new(archive.as_slice());
        let entries: Vec<_> = archive.entries().unwrap().map(Result::unwrap).collect();
        let target = entries[1].link_name().unwrap().unwrap();
        assert_eq!(
            (entries[1].path().unwrap().to_str(), target.to_str()),
            (Some("bin/opm"), Some("program"))
        );
    }

    #[test]
    fn layer_is_reproducible() {
        let layer = layer(&sample(), 0).unwrap();
        // Pinned: with another digest, everybody's images change with the next release.
        assert_eq!(
            layer.diff_id.as_ref(),
            "sha256:4e876ab7953d373cab3b021bbf6f63618cfd8546ec985c77ecb738ec73500a5d"
        );
        assert_eq!(
            layer.blob.digest().as_ref(),
            "sha256:333baaec12fbc53536db15233c0ff64bac723be1bc4f9507c1cf88f6a60237ea"
        );
        let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(layer.blob.open().unwrap()));
        let mut found = Vec::new();
        for entry in archive.entries().unwrap() {
            let entry = entry.unwrap();
            let header = entry.header();
            assert_eq!((header.uid().unwrap(), header.gid().unwrap(), header.mtime().unwrap()), (0, 0, 0));
            let path = String::from_utf8(entry.path_bytes().into_owned()).unwrap();
            found.push((path.replace(&"n".repeat(150), "N"), header.mode().unwrap()));
        }
        let found: Vec<_> = found.iter().map(|(path, mode)| (path.as_str(), *mode)).collect();
        assert_eq!(
            found,
            [
                ("deep/", 0o755),
                ("deep/N/", 0o755),
                ("deep/N/x", 0o644),
                ("manager", 0o755),
                ("manifests/", 0o755),
                ("manifests/a.yaml", 0o644),
                ("manifests/b.yaml", 0o644),
            ]
        );
    }

    #[test]
    fn file_that_shrinks_is_an_error_about_that_file() {
        let mut reader = Exact { reader: &b"abc"[..], left: 5, failed: None };
        assert!(reader.read_to_end(&mut Vec::new()).is_err());
        assert_eq!(reader.failed.unwrap().kind(), io::ErrorKind::UnexpectedEof);
    }
}
