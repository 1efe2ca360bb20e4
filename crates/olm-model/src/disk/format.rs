//! What a directory or file is that a user names: a bundle, a repository of many, a file-based catalog, or a format that
//! OLM no longer reads.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use oci_images::compressed::is_compressed;

use super::directory::Directory;
use super::error::WalkError;
use super::file;
use super::walk::{Kind, Options, walk};
use crate::read::Unreadable;

/// The first bytes of an `SQLite` database.
const SQLITE: &[u8] = b"SQLite format 3\0";
/// The maximum number of files whose beginning is read to tell a catalog.
const MAX_FILES: usize = 100;
/// The number of bytes that tell a catalog: blobs begin with their schema.
const HEAD: usize = 64 << 10;
/// The maximum number of entries of one directory.
const MAX_ENTRIES: usize = 100_000;

/// What a path is.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// A bundle, or a directory that cannot be told from one.
    Bundle,
    /// A directory of a catalog repository.
    Repository {
        /// The bundles in `operators/NAME/VERSION`, sorted.
        bundles: Vec<PathBuf>,
        /// The file-based catalogs in `catalogs/VERSION`, one for each version of OpenShift, sorted.
        catalogs: Vec<PathBuf>,
    },
    /// A file-based catalog: a directory or one file.
    Catalog,
    /// The format before bundles, with a `*.package.yaml`.
    PackageManifests,
    /// An `SQLite` index, at this path.
    Sqlite(PathBuf),
    /// An image archive.
    Archive,
    /// A compressed file, whatever it contains.
    Compressed,
    /// The directory of an OCI layout.
    Layout,
    /// A file of another kind.
    Other,
}

/// A path with another format than the expected one.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FormatError {
    /// The path cannot be read.
    #[error(transparent)]
    Directory(#[from] WalkError),
    /// A catalog, read as a bundle.
    #[error(
        "{path} is a file-based catalog, expected a bundle: pass a bundle, or use a command for catalogs, such as `bundle-tool catalog validate {path}`"
    )]
    CatalogAsBundle {
        /// The path or the image.
        path: String,
    },
    /// A bundle, read as a catalog.
    #[error(
        "{path} is a bundle, expected a file-based catalog: pass a catalog, or add the bundle to one with `bundle-tool catalog add CATALOG {path}`"
    )]
    BundleAsCatalog {
        /// The path or the image.
        path: String,
    },
    /// An OCI layout, read as a directory of manifests.
    #[error("{path} is an OCI layout: use `oci:{path}`")]
    Layout {
        /// The directory.
        path: String,
    },
    /// An image archive, read as a file of manifests.
    #[error("{path} is an image archive: use `oci-archive:{path}`")]
    Archive {
        /// The file.
        path: String,
    },
    /// A compressed file.
    #[error("{path} is compressed: decompress it first")]
    Compressed {
        /// The file.
        path: String,
    },
    /// A repository, read as one bundle.
    #[error("{path} contains {count} bundles, expected one: pass the directory of one, such as {first}")]
    Repository {
        /// The path.
        path: String,
        /// The number of bundles.
        count: usize,
        /// The first one.
        first: String,
    },
    /// The format before bundles.
    #[error(
        "{path} is in the package manifests format, which OLM no longer reads: convert it with `operator-sdk pkgman-to-bundle {path}` of operator-sdk 1.42 or earlier"
    )]
    PackageManifests {
        /// The path.
        path: String,
    },
    /// An `SQLite` index.
    #[error(
        "{path} is an SQLite index, which OLM no longer reads: convert it with `opm migrate IMAGE catalog` of opm 1.72 or earlier, then use that"
    )]
    Sqlite {
        /// The database.
        path: String,
    },
}

/// Checks that a directory has no other format than a bundle. A directory of no known format counts as an incomplete bundle.
///
/// # Errors
/// The directory is of another format, or cannot be listed.
pub(crate) fn require_bundle(path: &Path) -> Result<(), FormatError> {
    let shown = || path.display().to_string();
    match detect(path)? {
        Format::Repository { bundles, .. } if !bundles.is_empty() => Err(FormatError::Repository {
            path: shown(),
            count: bundles.len(),
            first: bundles[0].display().to_string(),
        }),
        Format::Catalog | Format::Repository { .. } => Err(FormatError::CatalogAsBundle { path: shown() }),
        Format::PackageManifests => Err(FormatError::PackageManifests { path: shown() }),
        Format::Sqlite(database) => Err(FormatError::Sqlite { path: database.display().to_string() }),
        Format::Layout => Err(FormatError::Layout { path: shown() }),
        Format::Compressed => Err(FormatError::Compressed { path: shown() }),
        Format::Bundle | Format::Archive | Format::Other => Ok(()),
    }
}

/// Checks that a path is neither a bundle nor an image.
///
/// # Errors
/// The directory has all parts of a bundle and no blob of a catalog, or cannot be listed, or the path is an OCI layout or an archive.
pub(crate) fn require_catalog(path: &Path) -> Result<(), FormatError> {
    if is_layout(path) {
        return Err(FormatError::Layout { path: path.display().to_string() });
    }
    if path.is_file() {
        let shown = || path.display().to_string();
        match of_file(path) {
            Format::Archive => return Err(FormatError::Archive { path: shown() }),
            Format::Compressed => return Err(FormatError::Compressed { path: shown() }),
            _ => {}
        }
    }
    let has_parts = path.join("manifests").is_dir() && path.join("metadata").is_dir();
    if has_parts && !is_catalog(path)? {
        return Err(FormatError::BundleAsCatalog { path: path.display().to_string() });
    }
    Ok(())
}

/// What a file belongs to: a bundle or a catalog, with its directory.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Root {
    /// The directory of a bundle.
    Bundle(PathBuf),
    /// The directory of a file-based catalog.
    Catalog(PathBuf),
}

impl Root {
    /// Returns the directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        match self {
            Self::Bundle(path) | Self::Catalog(path) => path,
        }
    }
}

/// Returns what a file belongs to, by the directories above it, up to the root of the git repository, if there is one:
/// the nearest one with `manifests/` and `metadata/`, or the highest one that contains a catalog's files alone; in a catalog
/// repository, the one of a version.
#[must_use]
pub fn root_of(file: &Path) -> Option<Root> {
    let is_repository = |directory: &Path| directory.join(".git").exists();
    for directory in file.ancestors().skip(1) {
        let is_version =
            directory.parent().and_then(Path::parent).is_some_and(|path| path.ends_with("operators"));
        let is_whole = directory.join("manifests").is_dir() && directory.join("metadata").is_dir();
        if is_whole || is_version && is_bundle(directory) {
            return Some(Root::Bundle(directory.to_owned()));
        }
        if is_repository(directory) {
            break;
        }
    }
    let mut catalog = None;
    for directory in file.ancestors().skip(1) {
        if is_repository(directory) || !is_catalog_only(directory) {
            break;
        }
        catalog = Some(Root::Catalog(directory.to_owned()));
        if is_catalog_of_version(directory) {
            break;
        }
    }
    catalog
}

/// Returns whether the files in a directory are those of a catalog and the directories in it contain catalogs. Hidden files
/// are those of editors.
fn is_catalog_only(directory: &Path) -> bool {
    let (Ok(opened), Ok(entries)) = (Directory::open(directory), fs::read_dir(directory)) else {
        return false;
    };
    let mut count = 0;
    for entry in entries.flatten().take(MAX_FILES) {
        if entry.file_name().to_string_lossy().starts_with('.') {
            continue;
        }
        let path = entry.path();
        count += 1;
        let is_catalog = if path.is_dir() {
            is_catalog(&path).unwrap_or(false)
        } else {
            has_blobs(&head(opened.file(entry.file_name())))
        };
        if !is_catalog {
            return false;
        }
    }
    count > 0
}

/// Returns what a path is.
///
/// # Errors
/// A directory cannot be listed.
pub fn detect(path: &Path) -> Result<Format, WalkError> {
    if path.is_file() {
        return Ok(of_file(path));
    }
    if is_bundle(path) {
        return Ok(Format::Bundle);
    }
    if is_layout(path) {
        return Ok(Format::Layout);
    }
    let below = |directory: &Path| {
        walk(directory, Options { max_depth: 1, max_entries: MAX_ENTRIES, ..Options::default() })
    };
    let entries = below(path)?;
    if entries.iter().any(|entry| is_package_manifest(&entry.name)) {
        return Ok(Format::PackageManifests);
    }
    let databases = entries.iter().filter(|entry| has_extension(&entry.below, &["db"]));
    let directory = Directory::open(path)?;
    if let Some(database) =
        databases.map(|entry| &entry.below).find(|name| head(directory.file(name)).starts_with(SQLITE))
    {
        return Ok(Format::Sqlite(path.join(database)));
    }
    let (operators, catalogs) = (path.join("operators"), path.join("catalogs"));
    let bundles = bundles_below(if operators.is_dir() { &operators } else { path })?;
    let catalogs = catalogs_below(if catalogs.is_dir() { &catalogs } else { path })?;
    Ok(if !bundles.is_empty() || !catalogs.is_empty() {
        Format::Repository { bundles, catalogs }
    } else if is_catalog(path)? {
        Format::Catalog
    } else {
        Format::Bundle
    })
}

/// How deep below a directory bundles are looked for: `REPOSITORY/operators/NAME/VERSION`.
const MAX_DEPTH: usize = 3;

/// Returns the bundles in a directory, which is one itself or contains them at most three levels below.
///
/// # Errors
/// A directory cannot be listed.
pub fn bundles_in(path: &Path) -> Result<Vec<PathBuf>, WalkError> {
    if is_bundle(path) {
        return Ok(vec![path.to_owned()]);
    }
    let mut found = Vec::new();
    let mut level = directories(path)?;
    for depth in 1..=MAX_DEPTH {
        let (bundles, others): (Vec<_>, Vec<_>) = level.into_iter().partition(|path| is_bundle(path));
        found.extend(bundles);
        level = Vec::new();
        for directory in others.iter().filter(|_| depth < MAX_DEPTH) {
            level.extend(directories(directory)?);
        }
    }
    found.sort();
    Ok(found)
}

/// Returns whether a directory is an OCI layout.
fn is_layout(path: &Path) -> bool {
    path.join("oci-layout").is_file() && path.join("index.json").is_file()
}

/// Returns whether a directory has the directories of a bundle.
fn is_bundle(path: &Path) -> bool {
    path.join("manifests").is_dir() || path.join("metadata").is_dir()
}

fn is_package_manifest(name: &str) -> bool {
    name.ends_with(".package.yaml") || name.ends_with(".package.yml")
}

fn has_extension(path: &Path, extensions: &[&str]) -> bool {
    path.extension().and_then(|extension| extension.to_str()).is_some_and(|own| extensions.contains(&own))
}

/// Returns the bundles one or two levels below a directory of a catalog repository, `operators` or `operators/NAME`, and the
/// directories in the format before bundles.
///
/// In a catalog repository every version is a bundle, however incomplete. Elsewhere, a directory is read as the bundle that
/// it was named as.
fn bundles_below(root: &Path) -> Result<Vec<PathBuf>, WalkError> {
    let of_repository = |path: Option<&Path>| path.is_some_and(|path| path.ends_with("operators"));
    if !of_repository(Some(root)) && !of_repository(root.parent()) {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for operator in directories(root)? {
        if is_bundle(&operator) {
            found.push(operator);
            continue;
        }
        let versions = directories(&operator)?;
        let has_package = versions.iter().any(|version| !is_bundle(version))
            && fs::read_dir(&operator).is_ok_and(|entries| {
                entries.flatten().any(|entry| is_package_manifest(&entry.file_name().to_string_lossy()))
            });
        if has_package {
            found.push(operator);
        } else {
            found.extend(versions.into_iter().filter(|version| is_bundle(version)));
        }
    }
    Ok(found)
}

/// Returns the catalogs in the directory `catalogs` of a catalog repository: one for each version of OpenShift.
fn catalogs_below(root: &Path) -> Result<Vec<PathBuf>, WalkError> {
    let mut found = Vec::new();
    if root.ends_with("catalogs") {
        for directory in directories(root)? {
            if is_catalog_of_version(&directory) && is_catalog(&directory)? {
                found.push(directory);
            }
        }
    }
    Ok(found)
}

/// Returns whether a directory has the place of a catalog in a catalog repository: `catalogs/v4.20`.
fn is_catalog_of_version(path: &Path) -> bool {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let version = name.strip_prefix('v').and_then(|version| version.split_once('.'));
    version.is_some_and(|(major, minor)| is_number(major) && is_number(minor))
        && path.parent().is_some_and(|parent| parent.ends_with("catalogs"))
}

/// Returns the directories in a directory, without hidden ones, sorted.
fn directories(path: &Path) -> Result<Vec<PathBuf>, WalkError> {
    let io = |source| WalkError::Io { path: path.to_owned(), source };
    let mut found = Vec::new();
    for (count, entry) in fs::read_dir(path).map_err(io)?.enumerate() {
        if count >= MAX_ENTRIES {
            return Err(WalkError::TooManyEntries { path: path.to_owned(), limit: MAX_ENTRIES });
        }
        let entry = entry.map_err(io)?;
        let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
        if !is_hidden && entry.file_type().map_err(io)?.is_dir() {
            found.push(entry.path());
        }
    }
    found.sort();
    Ok(found)
}

fn is_catalog(path: &Path) -> Result<bool, WalkError> {
    let directory = Directory::open(path)?;
    let files = directory.walk(Options { skip_hidden_directories: true, ..Options::default() })?;
    let files = files.iter().filter(|entry| has_extension(&entry.below, &["yaml", "yml", "json"]));
    let (files, links): (Vec<_>, Vec<_>) = files
        .filter(|entry| matches!(entry.kind, Kind::File(_) | Kind::Unreadable(Unreadable::LeavesDirectory)))
        .partition(|entry| matches!(entry.kind, Kind::File(_)));
    // Of links that lead out of it, a bundle has more.
    Ok(files.is_empty() && !links.is_empty()
        || files.iter().take(MAX_FILES).any(|entry| has_blobs(&head(directory.file(&entry.below)))))
}

fn of_file(path: &Path) -> Format {
    let head = head(file::open_in_project(path));
    if head.starts_with(SQLITE) {
        return Format::Sqlite(path.to_owned());
    }
    of_bytes(&head)
}

/// Returns what the beginning of a file is: [`Format::Compressed`], [`Format::Archive`], [`Format::Catalog`] or [`Format::Other`].
#[must_use]
pub fn of_bytes(head: &[u8]) -> Format {
    if is_compressed(head) {
        Format::Compressed
    } else if head.get(257..262) == Some(b"ustar") {
        Format::Archive
    } else if has_blobs(&head[..head.len().min(HEAD)]) {
        Format::Catalog
    } else {
        Format::Other
    }
}

/// Returns whether a text has a field `schema` whose value is one of a catalog's.
fn has_blobs(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(head);
    text.match_indices("schema").any(|(at, word)| {
        let rest = text[at + word.len()..].trim_start_matches('"').trim_start();
        let value = rest.strip_prefix(':').unwrap_or_default();
        value.trim_start().trim_start_matches(['"', '\'']).starts_with("olm.")
    })
}

/// Returns the beginning of a file; nothing if it cannot be read.
fn head(file: Result<(fs::File, fs::Metadata), Unreadable>) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Ok((file, _)) = file {
        // What cannot be read is reported by whoever reads the file.
        let _ = file.take(HEAD as u64).read_to_end(&mut bytes);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_belongs_to_the_bundle_or_the_catalog_around_it() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("p/.git/HEAD", "");
        write("p/bundle/manifests/a.yaml", "");
        write("p/bundle/metadata/annotations.yaml", "");
        write("p/bundle/tests/scorecard/config.yaml", "");
        write("p/config/manifests/kustomization.yaml", "");
        write("p/catalog/.indexignore", "");
        write("p/catalog/a/package.yaml", "schema: olm.package");
        write("p/catalog/a/channels/a.yaml", "schema: olm.channel");
        write("p/catalog/b/catalog.json", "{\"schema\": \"olm.package\"}");
        write("p/other/a.yaml", "a: b");
        write("p/mixed/a.yaml", "schema: olm.package");
        write("p/mixed/b.yaml", "kind: Kustomization");
        write("r/operators/a/1.0.0/manifests/a.yaml", "");
        write("r/operators/a/ci.yaml", "");
        write("r/catalogs/v4.19/a/catalog.yaml", "schema: olm.package");
        write("r/catalogs/v4.20/a/catalog.yaml", "schema: olm.package");
        let of = |name: &str| root_of(&dir.path().join(name));
        let bundle = |name: &str| Some(Root::Bundle(dir.path().join(name)));
        let catalog = Some(Root::Catalog(dir.path().join("p/catalog")));
        assert_eq!(of("p/bundle/manifests/a.yaml"), bundle("p/bundle"));
        assert_eq!(of("p/bundle/manifests/new.yaml"), bundle("p/bundle"));
        assert_eq!(of("p/bundle/tests/scorecard/config.yaml"), bundle("p/bundle"));
        assert_eq!(of("p/config/manifests/kustomization.yaml"), None);
        assert_eq!(of("p/catalog/a/channels/a.yaml"), catalog);
        assert_eq!(of("p/catalog/b/new.yaml"), catalog);
        assert_eq!(of("p/other/a.yaml"), None);
        assert_eq!(of("p/mixed/a.yaml"), None);
        assert_eq!(of("r/operators/a/1.0.0/manifests/a.yaml"), bundle("r/operators/a/1.0.0"));
        assert_eq!(of("r/operators/a/ci.yaml"), None);
        let version = Some(Root::Catalog(dir.path().join("r/catalogs/v4.20")));
        assert_eq!(of("r/catalogs/v4.20/a/catalog.yaml"), version);
    }

    #[test]
    fn formats_are_told_by_what_is_there() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &[u8]| {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("bundle/manifests/a.yaml", b"");
        write("repository/operators/b/1.0.0/manifests/a.yaml", b"");
        write("repository/operators/a/2.0.0/metadata/annotations.yaml", b"");
        write("repository/operators/a/1.0.0/manifests/a.yaml", b"");
        write("repository/operators/a/ci.yaml", b"");
        write("repository/operators/.hidden/1/manifests/a.yaml", b"");
        write("repository/operators/old/old.package.yaml", b"");
        write("repository/operators/old/1.0.0/x.yaml", b"");
        write("repository/catalogs/v4.20/a/catalog.yaml", b"schema: olm.package");
        write("repository/catalogs/v4.9/a/catalog.yaml", b"schema: olm.package");
        write("repository/catalogs/v4.8/README.md", b"");
        write("repository/catalogs/templates/a.yaml", b"schema: olm.package");
        write("other/catalogs/a/catalog.yaml", b"schema: olm.package");
        write("catalog/a/catalog.json", b"{\n  \"schema\": \"olm.package\"}");
        write("index/index.db", b"SQLite format 3\0...");
        write("index.db", b"SQLite format 3\0...");
        write("catalog.yaml", b"---\nschema: olm.package\n");
        write("image.tar.gz", &[0x1f, 0x8b, 8]);
        write("empty/x.txt", b"");
        write("project/bundle/manifests/a.yaml", b"");
        write("project/bundle/metadata/annotations.yaml", b"");
        let of = |name: &str| detect(&dir.path().join(name)).unwrap();
        assert_eq!(of("bundle"), Format::Bundle);
        assert_eq!(of("empty"), Format::Bundle);
        assert_eq!(of("project"), Format::Bundle);
        let operators = dir.path().join("repository/operators");
        let names = ["a/1.0.0", "a/2.0.0", "b/1.0.0", "old"];
        let all: Vec<_> = names.iter().map(|name| operators.join(name)).collect();
        let versions = ["v4.20", "v4.9"].map(|name| dir.path().join("repository/catalogs").join(name));
        let (bundles, catalogs) = (all.clone(), versions.to_vec());
        assert_eq!(of("repository"), Format::Repository { bundles, catalogs: catalogs.clone() });
        assert_eq!(of("repository/catalogs"), Format::Repository { bundles: Vec::new(), catalogs });
        assert_eq!(of("repository/catalogs/v4.20"), Format::Catalog);
        assert_eq!(of("other/catalogs"), Format::Catalog);
        let of_bundles =
            |bundles: &[PathBuf]| Format::Repository { bundles: bundles.to_vec(), catalogs: Vec::new() };
        assert_eq!(of("repository/operators"), of_bundles(&all));
        assert_eq!(of("repository/operators/a"), of_bundles(&all[..2]));
        assert_eq!(of("repository/operators/old"), Format::PackageManifests);
        assert_eq!(of("catalog"), Format::Catalog);
        assert_eq!(of("catalog.yaml"), Format::Catalog);
        assert_eq!(of("index"), Format::Sqlite(dir.path().join("index/index.db")));
        assert_eq!(of("index.db"), Format::Sqlite(dir.path().join("index.db")));
        assert_eq!(of("image.tar.gz"), Format::Compressed);
        assert_eq!(of("empty/x.txt"), Format::Other);
    }
}
