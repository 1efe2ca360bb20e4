//! Extracting files from layers, which are foreign data.
//!
//! Nothing is written to disk: layers are applied in order to a map of files in memory, as a container runtime would
//! apply them. What a runtime would follow out of the image is rejected, and so is everything that programs do not agree
//! on: duplicates, and files that are added and removed by one layer. Every layer is read to its end, so that its digest
//! and size are verified.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read};
use std::rc::Rc;

use tar::EntryType;

use super::blob::Blob;
use super::changeset::{Changes, Node, Tree};
use super::entries::{self, Budget, Failed};
use super::error::{Error, Quoted};
use super::files::image_path;

/// How much is read from an image.
///
/// Beside these, a path has at most 4096 bytes and 64 parts of at most 255 bytes each, and at most 40 symbolic links are
/// followed one after the other.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Limits {
    /// The maximum size of one file in bytes.
    pub file_bytes: u64,
    /// The maximum size of all files in bytes. A file counts for each of its hard and symbolic links, and although a
    /// later layer replaces it.
    pub total_bytes: u64,
    /// The maximum number of files, links and directories that are kept, including those that links add.
    pub files: u64,
    /// The maximum number of entries of all layers.
    pub entries: u64,
    /// The maximum size of all layers in bytes after decompression.
    pub unpacked_bytes: u64,
    /// The maximum ratio of `total_bytes` and `unpacked_bytes` to the compressed size of the layers (each counted
    /// once), which applies beyond `ratio_floor`.
    pub ratio: u64,
    /// The number of bytes up to which no ratio is checked.
    pub ratio_floor: u64,
}

impl Limits {
    /// Returns the limits for a bundle: 64 MiB in all and 32 MiB a file.
    #[must_use]
    pub fn bundle() -> Self {
        Self { file_bytes: 32 << 20, total_bytes: 64 << 20, files: 10_000, ..Self::catalog() }
    }

    /// Returns the limits for a catalog: 512 MiB in all and 256 MiB a file.
    ///
    /// The largest public catalogs have about 250 MiB, and catalogs compress 10 to 30 times.
    #[must_use]
    pub fn catalog() -> Self {
        Self {
            file_bytes: 256 << 20,
            total_bytes: 512 << 20,
            files: 50_000,
            entries: 1_000_000,
            unpacked_bytes: 16 << 30,
            ratio: 50,
            ratio_floor: 64 << 20,
        }
    }
}

/// The maximum length of a path in bytes, as in Linux.
const MAX_PATH_BYTES: usize = 4096;

/// The maximum length of a part of a path in bytes, as in Linux.
const MAX_NAME_BYTES: usize = 255;

/// The maximum number of parts of a path.
const MAX_PATH_DEPTH: usize = 64;

/// The prefix of a file that removes what lower layers have.
const WHITEOUT: &str = ".wh.";
/// What follows the prefix of the file that removes everything that lower layers have in its directory.
const OPAQUE: &str = ".wh..opq";

/// Returns the files at or below the `wanted` paths after all `layers` are applied, lowest first.
///
/// # Errors
///
/// [`Error::UnsafePath`] for absolute paths, `..`, names that are not UTF-8, links that lead out of what is read,
/// devices, contradictory entries and misplaced whiteouts; [`Error::TooLarge`] and [`Error::TooMany`] beyond `limits`;
/// [`Error::Malformed`] if a layer is not a tar archive; [`Error::Mismatch`] if a layer does not match its descriptor.
pub fn extract(
    layers: &[Blob],
    wanted: &[String],
    limits: Limits,
) -> Result<BTreeMap<String, Vec<u8>>, Error> {
    let wanted = wanted.iter().map(|path| image_path(path)).collect::<Result<Vec<_>, _>>()?;
    let mut usage = Usage { limits, bytes: 0, files: 0, entries: 0, compressed: 0, unpacked: 0 };
    let mut tree = Tree::default();
    let mut seen = BTreeSet::new();
    for layer in layers {
        // Naming one layer many times must not raise the limits.
        if seen.insert(layer.digest().as_ref()) {
            usage.compressed = usage.compressed.saturating_add(layer.size());
        }
        let changes = Reader { wanted: &wanted, usage: &mut usage, lower: &mut tree }.read(layer)?;
        tree.apply(changes)?;
    }
    tree.into_files(
        |path| is_wanted(&wanted, path),
        |path, size| {
            check_path(path)?;
            usage.file(path)?;
            usage.bytes(path, size)
        },
    )
}

/// What was read so far.
struct Usage {
    limits: Limits,
    bytes: u64,
    files: u64,
    entries: u64,
    compressed: u64,
    unpacked: u64,
}

impl Usage {
    /// The limit of bytes that follows from the size of the layers.
    fn ratio_limit(&self) -> u64 {
        self.limits.ratio_floor.max(self.compressed.saturating_mul(self.limits.ratio))
    }

    fn max_unpacked(&self) -> u64 {
        self.limits.unpacked_bytes.min(self.ratio_limit())
    }

    fn entry(&mut self) -> Result<(), Error> {
        self.entries += 1;
        if self.entries > self.limits.entries {
            let what = "the number of entries in the layers".to_owned();
            return Err(Error::TooMany { what, limit: self.limits.entries });
        }
        Ok(())
    }

    fn file(&mut self, path: &str) -> Result<(), Error> {
        self.files += 1;
        if self.files > self.limits.files {
            let what = format!("the number of files up to {}", Quoted(path));
            return Err(Error::TooMany { what, limit: self.limits.files });
        }
        Ok(())
    }

    fn bytes(&mut self, path: &str, size: u64) -> Result<(), Error> {
        let too_large = |what, limit| Err(Error::TooLarge { what, limit });
        if size > self.limits.file_bytes {
            return too_large(format!("file {}", Quoted(path)), self.limits.file_bytes);
        }
        self.bytes = self.bytes.saturating_add(size);
        let limit = self.limits.total_bytes.min(self.ratio_limit());
        if self.bytes > limit {
            return too_large(format!("the total size of the files up to {}", Quoted(path)), limit);
        }
        Ok(())
    }
}

/// Reads one layer.
struct Reader<'a> {
    wanted: &'a [String],
    usage: &'a mut Usage,
    lower: &'a mut Tree,
}

impl Reader<'_> {
    fn read(mut self, layer: &Blob) -> Result<Changes, Error> {
        let limit = self.usage.max_unpacked();
        let budget = Budget { limit, left: limit.saturating_sub(self.usage.unpacked) };
        let mut changes = Changes::default();
        let left = entries::for_each(layer, budget, |entry, failed| {
            self.usage.entry()?;
            self.entry(&mut changes, entry, failed)
        })?;
        self.usage.unpacked = limit.saturating_sub(left);
        Ok(changes)
    }

    fn entry<R: Read>(
        &mut self,
        changes: &mut Changes,
        entry: &mut tar::Entry<'_, R>,
        failed: Failed<'_>,
    ) -> Result<(), Error> {
        let kind = entry.header().entry_type();
        if kind == EntryType::XGlobalHeader {
            return Ok(());
        }
        let path = match safe_path(&entry.path_bytes()) {
            Err(NotSafe::NotUtf8(path)) if !self.is_relevant(&path) => return Ok(()),
            Err(NotSafe::NotUtf8(path)) => return Err(Error::unsafe_path(&path, "it is not UTF-8")),
            Err(NotSafe::Path(error)) => return Err(error),
            Ok(path) => path,
        };
        if path.is_empty() && !kind.is_dir() {
            return Err(Error::unsafe_path(&path, "it has no name"));
        }
        let (directory, name) = path.rsplit_once('/').unwrap_or(("", &path));
        if let Some(hidden) = name.strip_prefix(WHITEOUT) {
            return self.whiteout(changes, &path, directory, hidden, kind);
        }
        if !self.is_relevant(&path) {
            return Ok(());
        }
        check_path(&path)?;
        if directory.split('/').any(|part| part.starts_with(WHITEOUT)) {
            return Err(Error::unsafe_path(&path, "it is inside of a whiteout"));
        }
        self.usage.file(&path)?;
        let target = || -> Result<String, Error> {
            let target = entry.link_name_bytes().unwrap_or_default();
            str::from_utf8(&target)
                .map(str::to_owned)
                .map_err(|_| Error::unsafe_path(&path, "its target is not UTF-8"))
        };
        let node = match kind {
            EntryType::Directory => Node::Directory,
            // A path that only leads to wanted ones needs no bytes.
            EntryType::Regular | EntryType::Continuous if !is_wanted(self.wanted, &path) => {
                Node::File(Rc::default())
            }
            EntryType::Regular | EntryType::Continuous => {
                let size = entry.size();
                self.usage.bytes(&path, size)?;
                // The size is a claim of the archive: memory is allocated as bytes arrive.
                let mut bytes = Vec::new();
                entry.read_to_end(&mut bytes).map_err(failed)?;
                if bytes.len() as u64 != size {
                    return Err(failed(io::ErrorKind::UnexpectedEof.into()));
                }
                Node::File(Rc::new(bytes))
            }
            EntryType::Link => {
                let Ok(target) = safe_path(target()?.as_bytes()) else {
                    return Err(Error::unsafe_path(&path, "it is a hard link out of the image"));
                };
                let bytes = changes.file(self.lower, &target).ok_or_else(|| {
                    let reason =
                        "it is a hard link to something that is missing or outside of the files that are read";
                    Error::unsafe_path(&path, reason)
                })?;
                self.usage.bytes(&path, bytes.len() as u64)?;
                Node::File(bytes)
            }
            EntryType::Symlink => {
                let target = target()?;
                let resolved = (!target.is_empty() && target.len() <= MAX_PATH_BYTES)
                    .then(|| resolve(directory, &target))
                    .flatten()
                    .ok_or_else(|| Error::unsafe_path(&path, "it is a symbolic link out of the image"))?;
                Node::Link(resolved)
            }
            _ => return Err(Error::unsafe_path(&path, "it is a device, a FIFO or of an unknown type")),
        };
        changes.add(self.lower, path, node)
    }

    /// Applies the whiteout `path`, which hides `hidden` in `directory`.
    fn whiteout(
        &mut self,
        changes: &mut Changes,
        path: &str,
        directory: &str,
        hidden: &str,
        kind: EntryType,
    ) -> Result<(), Error> {
        let target = if directory.is_empty() { hidden.to_owned() } else { format!("{directory}/{hidden}") };
        if matches!(hidden, "" | "." | "..") {
            return Err(Error::unsafe_path(path, "it is a whiteout of nothing"));
        }
        let opaque = hidden == OPAQUE;
        if !self.is_relevant(if opaque { directory } else { &target }) {
            return Ok(());
        }
        check_path(path)?;
        if !matches!(kind, EntryType::Regular | EntryType::Continuous) {
            return Err(Error::unsafe_path(path, "a whiteout must be a regular file"));
        }
        if directory.split('/').any(|part| part.starts_with(WHITEOUT)) {
            return Err(Error::unsafe_path(path, "it is inside of a whiteout"));
        }
        if opaque {
            self.lower.remove_below(directory);
            return Ok(());
        }
        if hidden.starts_with(WHITEOUT) {
            return Err(Error::unsafe_path(path, "it is a whiteout of a whiteout"));
        }
        self.usage.file(path)?;
        changes.whiteout(self.lower, target);
        Ok(())
    }

    /// Whether `path` is wanted or a parent directory of a wanted path.
    fn is_relevant(&self, path: &str) -> bool {
        is_wanted(self.wanted, path) || self.wanted.iter().any(|wanted| is_at_or_below(path, wanted))
    }
}

fn is_wanted(wanted: &[String], path: &str) -> bool {
    wanted.iter().any(|wanted| is_at_or_below(wanted, path))
}

fn is_at_or_below(directory: &str, path: &str) -> bool {
    directory.is_empty()
        || path.strip_prefix(directory).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Why a path of an archive is rejected.
enum NotSafe {
    /// The path with replacement characters.
    NotUtf8(String),
    Path(Error),
}

/// Returns a path of an archive, relative to the root of the image and without `.`.
fn safe_path(path: &[u8]) -> Result<String, NotSafe> {
    let error = |path: &str, reason| Err(NotSafe::Path(Error::unsafe_path(path, reason)));
    if path.len() > MAX_PATH_BYTES {
        return error(&String::from_utf8_lossy(path), "it is longer than 4096 bytes");
    }
    if path.starts_with(b"/") {
        return error(&String::from_utf8_lossy(path), "it is absolute");
    }
    let path_or_replaced = String::from_utf8_lossy(path);
    let path_in_image = image_path(&path_or_replaced).map_err(NotSafe::Path)?;
    if str::from_utf8(path).is_err() {
        return Err(NotSafe::NotUtf8(path_in_image));
    }
    Ok(path_in_image)
}

/// Checks the length and depth of a path that is kept.
fn check_path(path: &str) -> Result<(), Error> {
    let reason = if path.len() > MAX_PATH_BYTES {
        "it is longer than 4096 bytes"
    } else if path.split('/').count() > MAX_PATH_DEPTH {
        "it has more than 64 parts"
    } else if path.split('/').any(|part| part.len() > MAX_NAME_BYTES) {
        "a part of it is longer than 255 bytes"
    } else {
        return Ok(());
    };
    Err(Error::unsafe_path(path, reason))
}

/// Returns where a link in `directory` leads, from the root of the image; `None` if it leads out of the image.
fn resolve(directory: &str, target: &str) -> Option<String> {
    let mut parts: Vec<&str> = if target.starts_with('/') {
        Vec::new()
    } else {
        directory.split('/').filter(|part| !part.is_empty()).collect()
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

#[cfg(test)]
mod tests {
    use oci_spec::image::MediaType;
    use tar::{Builder, Header};
    use test_support::{LINEAR, growth};

    use super::*;

    /// An entry that is written as it is, however wrong: type, path, link target, bytes.
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
        let found = extract(layers, &["/manifests/".into(), "metadata".into()], Limits::bundle())?;
        Ok(found.into_iter().map(|(path, bytes)| (path, String::from_utf8(bytes).unwrap())).collect())
    }

    fn paths(layers: &[Blob]) -> Vec<String> {
        files(layers).unwrap().into_iter().map(|(path, _)| path).collect()
    }

    fn compressed(blob: &Blob) -> Blob {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        io::copy(&mut blob.open().unwrap(), &mut encoder).unwrap();
        Blob::from_bytes(MediaType::ImageLayerGzip, encoder.finish().unwrap())
    }

    fn symlink<'a>(path: &'a str, target: &'a str) -> Raw<'a> {
        (EntryType::Symlink, path, target, b"")
    }

    fn hard_link<'a>(path: &'a str, target: &'a str) -> Raw<'a> {
        (EntryType::Link, path, target, b"")
    }

    #[test]
    fn extraction_reads_only_wanted_files() {
        let layer = blob(&[
            file("./manifests/a", "1"),
            file("manifests-not/b", "2"),
            (EntryType::Char, "dev/null", "", b""),
            file("metadata/deep/c", "3"),
        ]);
        assert_eq!(paths(std::slice::from_ref(&layer)), ["manifests/a", "metadata/deep/c"]);
        assert_eq!(paths(&[compressed(&layer)]), ["manifests/a", "metadata/deep/c"]);
    }

    #[test]
    fn upper_layers_replace_and_hide() {
        let lower = blob(&[
            file("manifests/a", "1"),
            file("manifests/b", "1"),
            file("manifests/d/x", "1"),
            file("metadata/x/c", "1"),
        ]);
        let upper = blob(&[
            file("metadata/x/new", "2"),
            file("metadata/x/.wh..wh..opq", ""),
            file("manifests/b", "2"),
            file("manifests/.wh.a", ""),
            file("manifests/d", "2"),
        ]);
        let found = files(&[lower, upper]).unwrap();
        let found: Vec<_> = found.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        assert_eq!(found, [("manifests/b", "2"), ("manifests/d", "2"), ("metadata/x/new", "2")]);
    }

    #[test]
    fn links_inside_of_the_image_are_followed() {
        let layer = blob(&[
            file("manifests/a", "1"),
            symlink("manifests/b", "./a"),
            symlink("metadata/c", "/manifests/b"),
            hard_link("metadata/d", "manifests/a"),
            symlink("metadata/all", "../manifests"),
        ]);
        let expected =
            ["manifests/a", "manifests/b", "metadata/all/a", "metadata/all/b", "metadata/c", "metadata/d"];
        assert_eq!(paths(&[layer]), expected);
    }

    #[test]
    fn hostile_entries_are_rejected() {
        let hostile: &[&[Raw<'_>]] = &[
            &[file("/manifests/a", "x")],
            &[file("/other", "x")],
            &[file("manifests/../../etc/passwd", "x")],
            &[file("../manifests/a", "x")],
            &[file(".", "x")],
            &[symlink("manifests/a", "../../etc/passwd")],
            &[symlink("manifests/a", "/etc/passwd")],
            &[symlink("manifests/a", "")],
            &[symlink("manifests/a", "a")],
            &[symlink("manifests/a", "b"), symlink("manifests/b", "a")],
            &[symlink("manifests/d", ".")],
            &[symlink("manifests/d", "..")],
            &[symlink("manifests/d", "/")],
            &[hard_link("manifests/a", "/etc/passwd")],
            &[hard_link("manifests/a", "../etc/passwd")],
            &[hard_link("manifests/a", "manifests/a")],
            &[symlink("manifests/d", "/tmp"), file("manifests/d/a", "x")],
            &[file("manifests/d", "x"), file("manifests/d/a", "x")],
            &[file("manifests/d/a", "x"), file("manifests/d", "x")],
            &[file("manifests/a", "x"), file("manifests/a", "x")],
            &[file("manifests/a", "x"), hard_link("manifests/b", "manifests/a"), file("manifests/b", "x")],
            &[(EntryType::Char, "manifests/null", "", b"")],
            &[(EntryType::Block, "manifests/disk", "", b"")],
            &[(EntryType::Fifo, "manifests/fifo", "", b"")],
            &[(EntryType::new(b'Z'), "manifests/unknown", "", b"")],
        ];
        for entries in hostile {
            let error = files(&[blob(entries)]).unwrap_err();
            assert!(matches!(error, Error::UnsafePath { .. }), "{:?}: {error}", entries[0].1);
        }
    }

    #[test]
    fn misplaced_whiteouts_are_rejected() {
        let lower = blob(&[file("manifests/a", "1")]);
        let hostile: &[&[Raw<'_>]] = &[
            &[file("manifests/.wh...", "")],
            &[file("manifests/.wh.", "")],
            &[file("manifests/.wh..wh.a", "")],
            &[(EntryType::Directory, "manifests/.wh.a", "", b"")],
            &[symlink("manifests/.wh.a", "/")],
            &[file("manifests/.wh.d/a", "")],
            &[file("manifests/a", "2"), file("manifests/.wh.a", "")],
            &[file("manifests/.wh.d", ""), file("manifests/d/a", "")],
        ];
        for entries in hostile {
            let error = files(&[lower.clone(), blob(entries)]).unwrap_err();
            assert!(matches!(error, Error::UnsafePath { .. }), "{:?}: {error}", entries[0].1);
        }
        // What other programs put beside the files that are read does not matter.
        let elsewhere = blob(&[file(".wh..wh.plnk", ""), (EntryType::Directory, "usr/.wh.x", "", b"")]);
        assert_eq!(paths(&[lower, elsewhere]), ["manifests/a"]);
    }

    #[test]
    fn names_that_are_not_utf8_are_rejected_where_they_are_read() {
        let layer = |name: &[u8]| {
            let mut header = Header::new_gnu();
            header.as_gnu_mut().unwrap().name[..name.len()].copy_from_slice(name);
            header.set_size(0);
            header.set_cksum();
            let mut builder = Builder::new(Vec::new());
            builder.append(&header, io::empty()).unwrap();
            Blob::from_bytes(MediaType::ImageLayer, builder.into_inner().unwrap())
        };
        assert!(matches!(files(&[layer(b"manifests/\xff")]), Err(Error::UnsafePath { .. })));
        assert!(paths(&[layer(b"usr/\xff")]).is_empty());
    }

    #[test]
    fn long_and_deep_paths_are_rejected() {
        for path in [
            format!("manifests/{}", "n".repeat(256)),
            format!("manifests/{}x", "d/".repeat(64)),
            format!("manifests/{}x", "nnnnnnn/".repeat(512)),
        ] {
            let mut builder = Builder::new(Vec::new());
            let mut header = Header::new_gnu();
            header.set_size(0);
            builder.append_data(&mut header, &path, io::empty()).unwrap();
            let layer = Blob::from_bytes(MediaType::ImageLayer, builder.into_inner().unwrap());
            assert!(matches!(files(&[layer]), Err(Error::UnsafePath { .. })), "{}", path.len());
        }
    }

    fn small() -> Limits {
        Limits {
            file_bytes: 10,
            total_bytes: 25,
            files: 4,
            entries: 5,
            unpacked_bytes: 1 << 20,
            ratio: 50,
            ratio_floor: 1 << 20,
        }
    }

    /// Asserts that layers exceed the limit that `expected` names.
    fn rejected(layers: &[Blob], limits: Limits, expected: &str) {
        let error = extract(layers, &["manifests".to_owned()], limits).unwrap_err();
        assert!(matches!(error, Error::TooLarge { .. } | Error::TooMany { .. }), "{error}");
        assert!(error.to_string().contains(expected), "{error}");
    }

    /// What errors name.
    const FILE: &str = "exceeds the limit of 10 bytes";
    const TOTAL: &str = "exceeds the limit of 25 bytes";
    const FILES: &str = "the number of files up to";
    const ENTRIES: &str = "the number of entries in the layers";

    #[test]
    fn limits_are_enforced() {
        rejected(&[blob(&[file("manifests/a", "eleven byte")])], small(), FILE);
        let three = ["manifests/a", "manifests/b", "manifests/c"];
        rejected(&[blob(&three.map(|path| file(path, "ten bytes.")))], small(), TOTAL);
        rejected(&[blob(&["a", "b", "c", "d", "e", "f"].map(|path| file(path, "")))], small(), ENTRIES);
        let five = ["manifests/a", "manifests/b", "manifests/c", "manifests/d", "manifests/e"];
        rejected(&[blob(&five.map(|path| file(path, "")))], small(), FILES);
        let directories = five.map(|path| (EntryType::Directory, path, "", &b""[..]));
        rejected(&[blob(&directories)], small(), FILES);
        let unpacked = Limits { unpacked_bytes: 2000, ..small() };
        rejected(&[blob(&[file("other", &"x".repeat(2000))])], unpacked, "the limit of 2000 bytes");
        let layer = blob(&[file("other", "")]);
        assert_eq!(layer.size(), 2048 - 512);
        rejected(&[layer.clone(), layer], unpacked, "the limit of 2000 bytes");
    }

    #[test]
    fn every_link_counts_as_a_copy() {
        // No limit but that of the bytes is in reach.
        let limits = Limits { files: 100, entries: 100, ..small() };
        let file = file("manifests/a", "ten bytes.");
        let links = [hard_link("manifests/b", "manifests/a"), hard_link("manifests/c", "manifests/a")];
        rejected(&[blob(&[file, links[0], links[1]])], limits, TOTAL);
        rejected(&[blob(&[file, symlink("manifests/b", "a"), symlink("manifests/c", "a")])], limits, TOTAL);
        let directories = [
            (EntryType::Regular, "manifests/d/a", "", &b"ten bytes."[..]),
            symlink("manifests/e", "d"),
            symlink("manifests/f", "d"),
        ];
        rejected(&[blob(&directories)], limits, TOTAL);
        // Nor may links to directories multiply entries that have no bytes.
        let empty = [
            (EntryType::Directory, "manifests/d/a", "", &b""[..]),
            symlink("manifests/e", "d"),
            symlink("manifests/f", "d"),
        ];
        rejected(&[blob(&empty)], small(), FILES);
    }

    #[test]
    fn compression_bomb_reaches_the_ratio() {
        const RATIO: &str = "exceeds the limit of 1048576 bytes";
        let zeros = vec![0; (1 << 20) + 1];
        let limits = Limits { ratio_floor: 1 << 20, ..Limits::catalog() };
        let wanted = compressed(&blob(&[(EntryType::Regular, "manifests/a", "", &zeros)]));
        rejected(&[wanted], limits, RATIO);
        let unwanted = compressed(&blob(&[(EntryType::Regular, "other", "", &zeros)]));
        rejected(std::slice::from_ref(&unwanted), limits, RATIO);
        // Naming a layer again does not raise the limit.
        rejected(&[unwanted.clone(), unwanted], limits, RATIO);
        // What follows the archive is read too, to verify the digest, and counts.
        let mut bytes = Vec::new();
        blob(&[]).open().unwrap().read_to_end(&mut bytes).unwrap();
        bytes.extend(zeros);
        rejected(&[compressed(&Blob::from_bytes(MediaType::ImageLayer, bytes))], limits, RATIO);
    }

    #[test]
    fn long_headers_are_rejected() {
        let name = vec![b'n'; 2 << 20];
        let entries =
            [(EntryType::GNULongName, "././@LongLink", "", name.as_slice()), file("manifests/a", "x")];
        rejected(&[blob(&entries)], Limits::bundle(), "the header of an entry");
    }

    #[test]
    fn many_entries_whiteouts_and_links_take_no_quadratic_time() {
        let limits = Limits { files: 1 << 20, ..Limits::catalog() };
        let layers = |count: usize| {
            let names =
                |prefix: &str| (0..count).map(|n| format!("manifests/{prefix}{n}")).collect::<Vec<_>>();
            let (files, whiteouts, links) = (names("f"), names(".wh.g"), names("l"));
            let mut lower: Vec<Raw<'_>> = files.iter().map(|path| file(path, "x")).collect();
            lower.extend(links.iter().map(|path| symlink(path, "f0")));
            let mut upper: Vec<Raw<'_>> = whiteouts.iter().map(|path| file(path, "")).collect();
            upper.extend(files.iter().map(|path| file(path, "y")));
            upper.extend(files.iter().map(|_| file("manifests/.wh..wh..opq", "")));
            (count, blob(&lower), blob(&upper))
        };
        let wanted = ["manifests".to_owned()];
        let growth = growth(1_000, layers, |(count, lower, upper)| {
            assert_eq!(extract(std::slice::from_ref(&lower), &wanted, limits).unwrap().len(), 2 * count);
            assert_eq!(extract(&[lower, upper], &wanted, limits).unwrap().len(), count);
        });
        assert!(growth < LINEAR, "{growth}");
    }

    #[test]
    fn layer_that_differs_after_the_archive_is_rejected() {
        let right = blob(&[file("manifests/a", "1")]);
        let mut bytes = Vec::new();
        right.open().unwrap().read_to_end(&mut bytes).unwrap();
        // More than any buffer between the archive and the file.
        bytes.resize(1 << 20, 0);
        let promised = Blob::from_bytes(MediaType::ImageLayer, bytes.clone()).descriptor().clone();
        let dir = tempfile::tempdir().unwrap();
        *bytes.last_mut().unwrap() = 1;
        std::fs::write(dir.path().join("layer"), bytes).unwrap();
        let error =
            files(&[Blob::from_file(promised, dir.path().to_owned(), "layer".to_owned())]).unwrap_err();
        assert!(matches!(error, Error::Mismatch { .. }), "{error}");
    }

    #[test]
    fn garbage_after_a_compressed_layer_is_rejected() {
        let mut bytes = Vec::new();
        compressed(&blob(&[file("manifests/a", "1")])).open().unwrap().read_to_end(&mut bytes).unwrap();
        bytes.extend(b"garbage");
        let error = files(&[Blob::from_bytes(MediaType::ImageLayerGzip, bytes)]).unwrap_err();
        assert!(matches!(error, Error::Malformed { .. }), "{error}");
    }

    #[test]
    fn header_with_a_huge_size_allocates_no_memory() {
        let mut header = Header::new_gnu();
        header.set_path("manifests/a").unwrap();
        header.set_size(30 << 20);
        header.set_cksum();
        let mut bytes = header.as_bytes().to_vec();
        bytes.extend_from_slice(b"short");
        let error = files(&[Blob::from_bytes(MediaType::ImageLayer, bytes)]).unwrap_err();
        assert!(matches!(error, Error::Malformed { .. }), "{error}");
    }

    #[test]
    fn file_that_is_not_an_archive_is_named() {
        let zstd = Blob::from_bytes(MediaType::ImageLayerZstd, vec![0x28, 0xb5, 0x2f, 0xfd, 0, 0]);
        assert!(matches!(files(&[zstd]).unwrap_err(), Error::Malformed { .. }));
        let noise = Blob::from_bytes(MediaType::ImageLayer, vec![9; 1024]);
        assert!(matches!(files(&[noise]).unwrap_err(), Error::Malformed { .. }));
    }
}
