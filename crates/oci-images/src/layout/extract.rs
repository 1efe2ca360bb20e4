//! Unpacking layers, with suspicion: an image comes from somebody else.
//!
//! Nothing is written to a disk. Layers are applied in order into a map of files, as a container runtime would apply
//! them (OCI image specification, layer filesystem changeset), and what a runtime would follow out of the image is
//! refused.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::io::{self, BufReader, Read};
use std::rc::Rc;

use flate2::read::MultiGzDecoder;
use tar::EntryType;

use super::files::image_path;
use super::{Blob, Error};

/// How much is read out of an image before it is called hostile.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Bytes of one file.
    pub file: u64,
    /// Bytes of all files together.
    pub files: u64,
    /// Files, links and folders in all layers.
    pub entries: u64,
    /// Bytes of all layers after decompression, wanted or not.
    pub unpacked: u64,
}

impl Default for Limits {
    /// Room for the largest public catalogues (some hundred megabytes), not for a bomb.
    fn default() -> Self {
        Self { file: 512 << 20, files: 1 << 30, entries: 1_000_000, unpacked: 16 << 30 }
    }
}

/// Headers of one entry (long names, extended attributes) may not be larger than this.
const HEADER_LIMIT: u64 = 1 << 20;

/// The marker that removes what a lower layer had.
const WHITEOUT: &str = ".wh.";
/// The marker that removes everything a lower layer had in its folder.
const OPAQUE: &str = ".wh..wh..opq";

/// The files at or below the `wanted` paths, after all `layers` are applied, lowest first.
///
/// # Errors
///
/// [`Error::UnsafePath`] for absolute paths, `..`, links that lead out of what is read, and devices;
/// [`Error::TooLarge`] beyond `limits`; [`Error::Malformed`] for what is no layer; [`Error::Mismatch`] for bytes that
/// are not what the manifest promises.
pub fn extract(
    layers: &[Blob],
    wanted: &[String],
    limits: Limits,
) -> Result<BTreeMap<String, Vec<u8>>, Error> {
    let mut unpacked = Unpacked {
        wanted: wanted.iter().map(|path| image_path(path)).collect::<Result<_, _>>()?,
        limits,
        files: BTreeMap::new(),
        links: BTreeMap::new(),
        total: 0,
        entries: 0,
    };
    let budget = Rc::new(Cell::new(0));
    let mut left = limits.unpacked;
    for layer in layers {
        left = unpacked.apply(layer, &budget, left)?;
    }
    unpacked.finish()
}

struct Unpacked {
    wanted: Vec<String>,
    limits: Limits,
    files: BTreeMap<String, Vec<u8>>,
    /// Symbolic links by path, with their targets seen from the image's root.
    links: BTreeMap<String, String>,
    total: u64,
    entries: u64,
}

impl Unpacked {
    /// Applies one layer and returns how many bytes of the allowance are left.
    fn apply(&mut self, layer: &Blob, budget: &Rc<Cell<u64>>, allowance: u64) -> Result<u64, Error> {
        let what = format!("the layer {}", layer.digest());
        let failed =
            |error: io::Error| match error.get_ref().and_then(|inner| inner.downcast_ref::<Overdrawn>()) {
                Some(Overdrawn) => {
                    Error::TooLarge { what: format!("an entry's header in {what}"), limit: HEADER_LIMIT }
                }
                None if error.kind() == io::ErrorKind::InvalidData && error.get_ref().is_some() => {
                    layer.error(error)
                }
                None => Error::malformed(what.as_str(), "layer", &error),
            };
        let reader = BufReader::new(decompressed(layer, &what)?);
        let mut archive = tar::Archive::new(Metered { reader, left: Rc::clone(budget) });
        // Paths of this layer: a whiteout hides what lower layers had, never what its own layer has.
        let mut own = std::collections::BTreeSet::new();
        let mut left = allowance;
        budget.set(HEADER_LIMIT);
        for entry in archive.entries().map_err(failed)? {
            let mut entry = entry.map_err(failed)?;
            let size = entry.size();
            self.entries += 1;
            if self.entries > self.limits.entries {
                return Err(Error::TooLarge { what: "the list of files".into(), limit: self.limits.entries });
            }
            left = left.checked_sub(size).ok_or_else(|| Error::TooLarge {
                what: "the image after decompression".into(),
                limit: self.limits.unpacked,
            })?;
            // What is not read here is skipped on the way to the next header.
            budget.set(size.saturating_add(HEADER_LIMIT + 1024));
            let path = safe(&entry.path_bytes())?;
            let (folder, base) = path.rsplit_once('/').unwrap_or(("", &path));
            if base == OPAQUE {
                self.remove_below(folder, &own);
                continue;
            }
            if let Some(hidden) = base.strip_prefix(WHITEOUT) {
                if matches!(hidden, "" | "." | "..") {
                    return Err(refuse(&path, "it is a whiteout of nothing"));
                }
                let hidden = if folder.is_empty() { hidden.to_owned() } else { format!("{folder}/{hidden}") };
                self.remove(&hidden, &own);
                continue;
            }
            let kind = entry.header().entry_type();
            if kind.is_dir() {
                self.links.remove(&path);
                self.files.remove(&path);
                continue;
            }
            if !self.is_wanted(&path) {
                continue;
            }
            if path.match_indices('/').any(|(end, _)| self.links.contains_key(&path[..end])) {
                return Err(refuse(&path, "it would be written through a link"));
            }
            let target = entry.link_name_bytes().map(|target| String::from_utf8_lossy(&target).into_owned());
            match kind {
                EntryType::Regular | EntryType::Continuous => {
                    let bytes = self.read(&mut entry, &path, size).map_err(|error| match error {
                        ReadError::Refused(error) => error,
                        ReadError::Io(error) => failed(error),
                    })?;
                    self.replace(&path);
                    self.files.insert(path.clone(), bytes);
                }
                EntryType::Link => {
                    let target = safe(target.unwrap_or_default().as_bytes())?;
                    let bytes = self.files.get(&target).cloned().ok_or_else(|| {
                        refuse(&path, "it is a hard link to something that is not there or not read")
                    })?;
                    self.count(bytes.len() as u64, &path)?;
                    self.replace(&path);
                    self.files.insert(path.clone(), bytes);
                }
                EntryType::Symlink => {
                    let target = resolve(folder, &target.unwrap_or_default())
                        .ok_or_else(|| refuse(&path, "it is a link that leads out of the image"))?;
                    self.replace(&path);
                    self.links.insert(path.clone(), target);
                }
                EntryType::XGlobalHeader => continue,
                _ => return Err(refuse(&path, "it is a device, a pipe or something else that is no file")),
            }
            own.insert(path);
        }
        Ok(left)
    }

    fn is_wanted(&self, path: &str) -> bool {
        self.wanted.iter().any(|wanted| {
            wanted.is_empty()
                || path
                    .strip_prefix(wanted.as_str())
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    }

    fn read(&mut self, entry: &mut impl Read, path: &str, size: u64) -> Result<Vec<u8>, ReadError> {
        if size > self.limits.file {
            return Err(ReadError::Refused(Error::TooLarge {
                what: path.to_owned(),
                limit: self.limits.file,
            }));
        }
        self.count(size, path).map_err(ReadError::Refused)?;
        // The size is the archive's word: memory is taken as bytes arrive.
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).map_err(ReadError::Io)?;
        if bytes.len() as u64 != size {
            return Err(ReadError::Io(io::ErrorKind::UnexpectedEof.into()));
        }
        Ok(bytes)
    }

    fn count(&mut self, size: u64, path: &str) -> Result<(), Error> {
        self.total = self.total.saturating_add(size);
        if self.total > self.limits.files {
            let what = format!("what is read up to {path}");
            return Err(Error::TooLarge { what, limit: self.limits.files });
        }
        Ok(())
    }

    /// Makes room for a file or a link at `path`.
    fn replace(&mut self, path: &str) {
        self.remove(path, &std::collections::BTreeSet::new());
    }

    fn remove(&mut self, path: &str, keep: &std::collections::BTreeSet<String>) {
        if !keep.contains(path) {
            self.files.remove(path);
            self.links.remove(path);
        }
        self.remove_below(path, keep);
    }

    fn remove_below(&mut self, folder: &str, keep: &std::collections::BTreeSet<String>) {
        let below = |path: &str| {
            !keep.contains(path)
                && (folder.is_empty() || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/')))
        };
        self.files.retain(|path, _| !below(path));
        self.links.retain(|path, _| !below(path));
    }

    /// Puts the files that links lead to in the links' places.
    fn finish(mut self) -> Result<BTreeMap<String, Vec<u8>>, Error> {
        let mut linked = Vec::new();
        for (path, target) in &self.links {
            let mut target = target.clone();
            // A chain of links may be as long as Linux allows.
            for _ in 0..40 {
                match self.links.get(&target) {
                    Some(next) => target.clone_from(next),
                    None => break,
                }
            }
            let below = format!("{target}/");
            let before = linked.len();
            for (file, bytes) in &self.files {
                if *file == target {
                    linked.push((path.clone(), bytes.clone()));
                } else if let Some(rest) = file.strip_prefix(&below) {
                    linked.push((format!("{path}/{rest}"), bytes.clone()));
                }
            }
            if linked.len() == before {
                return Err(refuse(path, "it is a link to something that is not there or not read"));
            }
        }
        for (path, bytes) in linked {
            self.count(bytes.len() as u64, &path)?;
            self.files.insert(path, bytes);
        }
        Ok(self.files)
    }
}

enum ReadError {
    Refused(Error),
    Io(io::Error),
}

fn refuse(path: &str, reason: &'static str) -> Error {
    Error::UnsafePath { path: path.to_owned(), reason }
}

/// A path of an archive that stays in the image.
fn safe(path: &[u8]) -> Result<String, Error> {
    let path = str::from_utf8(path).map_err(|_| refuse(&String::from_utf8_lossy(path), "it is not UTF-8"))?;
    if path.starts_with('/') {
        return Err(refuse(path, "it is absolute"));
    }
    image_path(path)
}

/// Where a link in `folder` leads, from the image's root; `None` where that is out of the image.
fn resolve(folder: &str, target: &str) -> Option<String> {
    let mut parts: Vec<&str> = if target.starts_with('/') {
        Vec::new()
    } else {
        folder.split('/').filter(|part| !part.is_empty()).collect()
    };
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

fn decompressed(layer: &Blob, what: &str) -> Result<Box<dyn Read>, Error> {
    let mut reader = BufReader::new(layer.open()?);
    // By what it is, not by what it is called: archives in the wild carry the wrong media type.
    let start = io::BufRead::fill_buf(&mut reader).map_err(|error| layer.error(error))?;
    match start {
        [0x1f, 0x8b, ..] => Ok(Box::new(MultiGzDecoder::new(reader))),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Err(Error::malformed(
            what,
            "layer",
            "it is compressed with zstd, which is not read here (push it with gzip)",
        )),
        _ => Ok(Box::new(reader)),
    }
}

/// More was read for one entry than it may take.
#[derive(Debug, thiserror::Error)]
#[error("too much")]
struct Overdrawn;

/// A reader with an allowance that is set anew for every entry: `tar` keeps long names and attributes in memory.
struct Metered<R> {
    reader: R,
    left: Rc<Cell<u64>>,
}

impl<R: Read> Read for Metered<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        match self.left.get().checked_sub(count as u64) {
            Some(left) => self.left.set(left),
            None => return Err(io::Error::other(Overdrawn)),
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use oci_spec::image::MediaType;
    use tar::{Builder, Header};

    use super::*;

    /// An entry written as it is said, however wrong: kind, path, link target, bytes.
    type Raw<'a> = (EntryType, &'a str, &'a str, &'a [u8]);

    fn file<'a>(path: &'a str, text: &'a str) -> Raw<'a> {
        (EntryType::Regular, path, "", text.as_bytes())
    }

    fn blob(entries: &[Raw<'_>]) -> Blob {
        let mut builder = Builder::new(Vec::new());
        for (kind, path, target, bytes) in entries {
            let mut header = Header::new_gnu();
            header.set_entry_type(*kind);
            header.set_size(bytes.len() as u64);
            let gnu = header.as_gnu_mut().unwrap();
            gnu.name[..path.len()].copy_from_slice(path.as_bytes());
            gnu.linkname[..target.len()].copy_from_slice(target.as_bytes());
            header.set_cksum();
            builder.append(&header, *bytes).unwrap();
        }
        Blob::from_bytes(MediaType::ImageLayer, builder.into_inner().unwrap())
    }

    fn files(layers: &[Blob]) -> Result<Vec<(String, String)>, Error> {
        let found = extract(layers, &["/manifests/".into(), "metadata".into()], Limits::default())?;
        Ok(found.into_iter().map(|(path, bytes)| (path, String::from_utf8(bytes).unwrap())).collect())
    }

    fn paths(layers: &[Blob]) -> Vec<String> {
        files(layers).unwrap().into_iter().map(|(path, _)| path).collect()
    }

    #[test]
    fn only_what_is_wanted_is_read() {
        let layer = blob(&[
            file("./manifests/a", "1"),
            file("manifests-not/b", "2"),
            (EntryType::Char, "dev/null", "", b""),
            file("metadata/deep/c", "3"),
        ]);
        assert_eq!(paths(&[layer]), ["manifests/a", "metadata/deep/c"]);
    }

    #[test]
    fn layers_replace_and_hide() {
        let lower = blob(&[file("manifests/a", "1"), file("manifests/b", "1"), file("metadata/x/c", "1")]);
        let upper = blob(&[
            file("manifests/b", "2"),
            file("manifests/.wh.a", ""),
            file("metadata/x/new", "2"),
            file("metadata/x/.wh..wh..opq", ""),
        ]);
        let found = files(&[lower, upper]).unwrap();
        let found: Vec<_> = found.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        assert_eq!(found, [("manifests/b", "2"), ("metadata/x/new", "2")]);
    }

    #[test]
    fn links_inside_are_followed() {
        let layer = blob(&[
            file("manifests/a", "1"),
            (EntryType::Symlink, "manifests/b", "./a", b""),
            (EntryType::Symlink, "metadata/c", "/manifests/b", b""),
            (EntryType::Link, "metadata/d", "manifests/a", b""),
            (EntryType::Symlink, "metadata/all", "../manifests", b""),
        ]);
        assert_eq!(
            paths(&[layer]),
            ["manifests/a", "manifests/b", "metadata/all/a", "metadata/c", "metadata/d"]
        );
    }

    #[test]
    fn hostile_entries_are_refused() {
        let hostile: &[&[Raw<'_>]] = &[
            &[file("/manifests/a", "x")],
            &[file("manifests/../../etc/passwd", "x")],
            &[file("../manifests/a", "x")],
            &[(EntryType::Symlink, "manifests/a", "../../etc/passwd", b"")],
            &[(EntryType::Symlink, "manifests/a", "/etc/passwd", b"")],
            &[(EntryType::Symlink, "manifests/a", "a", b"")],
            &[(EntryType::Symlink, "manifests/a", "b", b""), (EntryType::Symlink, "manifests/b", "a", b"")],
            &[(EntryType::Link, "manifests/a", "/etc/passwd", b"")],
            &[(EntryType::Link, "manifests/a", "../etc/passwd", b"")],
            &[(EntryType::Symlink, "manifests/d", "/tmp", b""), file("manifests/d/a", "x")],
            &[(EntryType::Char, "manifests/null", "", b"")],
            &[(EntryType::Block, "manifests/disk", "", b"")],
            &[(EntryType::Fifo, "manifests/pipe", "", b"")],
            &[file("manifests/.wh...", "")],
            &[file("manifests/.wh.", "")],
        ];
        for entries in hostile {
            let error = files(&[blob(entries)]).unwrap_err();
            assert!(matches!(error, Error::UnsafePath { .. }), "{:?}: {error}", entries[0].1);
        }
    }

    #[test]
    fn bombs_are_refused() {
        let limits = Limits { file: 10, files: 25, entries: 5, unpacked: 100 };
        let wanted = ["manifests".to_owned()];
        let too_large = |entries: &[Raw<'_>]| {
            let result = extract(&[blob(entries)], &wanted, limits);
            assert!(matches!(result, Err(Error::TooLarge { .. })), "{result:?}");
        };
        too_large(&[file("manifests/a", "eleven byte")]);
        too_large(&[
            file("manifests/a", "ten bytes."),
            file("manifests/b", "ten bytes."),
            file("manifests/c", "ten bytes."),
        ]);
        too_large(&[file("other", &"x".repeat(101))]);
        too_large(&[("a"), "b", "c", "d", "e", "f"].map(|path| file(path, "")));
        let name = vec![b'n'; 2 << 20];
        let entries =
            [(EntryType::GNULongName, "././@LongLink", "", name.as_slice()), file("manifests/a", "x")];
        let result = extract(&[blob(&entries)], &wanted, Limits::default());
        assert!(matches!(result, Err(Error::TooLarge { .. })), "{result:?}");
    }

    #[test]
    fn a_header_that_promises_too_much_takes_no_memory() {
        let mut header = Header::new_gnu();
        header.set_path("manifests/a").unwrap();
        header.set_size(300 << 20);
        header.set_cksum();
        let mut bytes = header.as_bytes().to_vec();
        bytes.extend_from_slice(b"short");
        let layer = Blob::from_bytes(MediaType::ImageLayer, bytes);
        let error = files(&[layer]).unwrap_err();
        assert!(matches!(error, Error::Malformed { .. }), "{error}");
    }

    #[test]
    fn other_formats_are_named() {
        let zstd = Blob::from_bytes(MediaType::ImageLayerZstd, vec![0x28, 0xb5, 0x2f, 0xfd, 0, 0]);
        let error = files(&[zstd]).unwrap_err().to_string();
        assert!(error.contains("zstd"), "{error}");
        let noise = Blob::from_bytes(MediaType::ImageLayer, vec![9; 1024]);
        assert!(matches!(files(&[noise]).unwrap_err(), Error::Malformed { .. }));
    }
}
