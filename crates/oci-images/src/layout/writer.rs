//! Writing OCI layouts as directories: blobs first, the index last.

use std::collections::HashMap;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use atomic_files::{DirectoryLock, Pending};
use oci_spec::image::{Descriptor, ImageIndex, ImageIndexBuilder, MediaType, SCHEMA_VERSION};

use super::artifact::Artifact;
use super::blob::{Blob, INDEX_LIMIT};
use super::error::Error;
use super::image::document;
use super::oci_layout::{REF_NAME, blob_path, name};
use super::regular::{read_regular, type_name};

/// The file that marks a layout.
pub(crate) const MARKER_NAME: &str = "oci-layout";

/// The content of `oci-layout` (OCI image specification, image layout).
pub(crate) const MARKER: &[u8] = br#"{"imageLayoutVersion":"1.0.0"}"#;

/// How long a writer waits for another one.
const LOCK_TIMEOUT: Duration = Duration::from_secs(30);

/// How often the index is written while images are added.
const INDEX_INTERVAL: Duration = Duration::from_secs(1);

/// An OCI layout in a directory to which images and indexes are added.
///
/// Other images in the layout stay; one with the same name is replaced. The index is written last, so that the layout never
/// names a blob that it lacks. Without [`DirectoryWriter::finish`], files and directories that the writer created are
/// removed, and nothing else. Concurrent writers wait for each other.
#[derive(Debug)]
pub struct DirectoryWriter {
    path: PathBuf,
    index: Mutex<Index>,
    created: Mutex<Created>,
    /// Released last.
    _lock: DirectoryLock,
}

impl DirectoryWriter {
    /// Opens the layout in the directory `path`, which is created if it does not exist.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] if `path` is a directory with other content, or a layout that leads elsewhere through links;
    /// [`Error::Write`] if it cannot be written, is a dangling link, or another process writes to it for longer than 30
    /// seconds.
    pub fn open(path: &Path) -> Result<Self, Error> {
        if fs::metadata(path).is_ok_and(|metadata| !metadata.is_dir()) {
            let reason = "expected a directory; choose a new one".to_owned();
            return Err(Error::NotFound { path: path.to_owned(), reason });
        }
        let lock = DirectoryLock::acquire(path, LOCK_TIMEOUT, |_| {})?;
        let mut created = Created::default();
        let index_path = path.join("index.json");
        let index = if fs::symlink_metadata(&index_path).is_ok()
            && fs::symlink_metadata(path.join("oci-layout")).is_ok()
        {
            let bytes = read_regular(&index_path, INDEX_LIMIT)?;
            Some(serde_json::from_slice::<ImageIndex>(&bytes).map_err(|error| {
                Error::malformed_json(index_path.display().to_string(), "OCI image index", &error)
            })?)
        } else {
            require_unfinished(path)?;
            None
        };
        for file in ["oci-layout", "index.json"] {
            reject_link(&path.join(file))?;
        }
        for directory in ["blobs", "blobs/sha256"] {
            created.directory(&path.join(directory))?;
            reject_link(&path.join(directory))?;
        }
        if lock.is_exclusive() {
            remove_temporary(&path.join("blobs/sha256"))?;
        }
        let index = Mutex::new(Index { content: index, written: None });
        Ok(Self { path: path.to_owned(), index, created: Mutex::new(created), _lock: lock })
    }

    /// Keeps what was added even if the writer ends early, so that another one can continue.
    ///
    /// # Errors
    ///
    /// [`Error::Write`] if the directory cannot be marked as a layout.
    pub(crate) fn resumable(self) -> Result<Self, Error> {
        {
            let mut created = locked(&self.created);
            created.file(&self.path.join(MARKER_NAME), MARKER)?;
            created.paths.clear();
            created.is_kept = true;
        }
        Ok(self)
    }

    /// Returns the directory on whose disk blobs are stored.
    pub(crate) fn directory(&self) -> &Path {
        &self.path
    }

    /// Returns the blob of this layout.
    pub(crate) fn blob(&self, descriptor: Descriptor) -> Blob {
        let name = blob_path(descriptor.digest());
        Blob::from_file(descriptor, self.path.clone(), name)
    }

    /// Returns the descriptor of the image `image_name`.
    pub(crate) fn find(&self, image_name: &str) -> Option<Descriptor> {
        let index = locked(&self.index);
        let mut manifests = index.content.iter().flat_map(ImageIndex::manifests);
        manifests.find(|descriptor| name(descriptor) == Some(image_name)).cloned()
    }

    /// Returns whether the layout has a blob, with the right bytes.
    #[must_use]
    pub fn has(&self, blob: &Blob) -> bool {
        let present = self.blob(blob.descriptor().clone());
        present.open().is_ok_and(|mut reader| io::copy(&mut reader, &mut io::sink()).is_ok())
    }

    /// Adds a blob unless the layout has it.
    ///
    /// # Errors
    ///
    /// [`Error::Write`] if it cannot be written; [`Error::Mismatch`] if the blob does not match its descriptor;
    /// [`Error::NotRegular`] if something else has its name.
    pub fn add(&self, blob: &Blob) -> Result<(), Error> {
        let path = self.path.join(blob_path(blob.digest()));
        let exists = match fs::symlink_metadata(&path) {
            Ok(metadata) if metadata.is_file() => {
                if self.has(blob) {
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
            locked(&self.created).paths.push((path, false));
        }
        Ok(())
    }

    /// Adds the manifests of `artifact`, whose blobs were added before, and names it `image_name`.
    ///
    /// # Errors
    ///
    /// As [`DirectoryWriter::add`].
    pub fn finish(self, artifact: &Artifact, image_name: &str) -> Result<(), Error> {
        self.add_image(artifact, image_name)?;
        self.close()
    }

    /// Adds the manifests of `artifact`, whose blobs were added before, and names it `image_name`. The index on disk names it within a
    /// second or with [`DirectoryWriter::close`].
    ///
    /// # Errors
    ///
    /// As [`DirectoryWriter::add`].
    pub(crate) fn add_image(&self, artifact: &Artifact, image_name: &str) -> Result<(), Error> {
        for manifest in artifact.all_manifests() {
            self.add(manifest)?;
        }
        let mut index = locked(&self.index);
        index.content = Some(index_with(index.content.take(), artifact, image_name)?);
        if index.written.is_some_and(|written| written.elapsed() >= INDEX_INTERVAL) {
            self.write_index(&mut index)?;
        }
        if index.written.is_none() {
            index.written = Some(Instant::now());
        }
        Ok(())
    }

    /// Writes the index.
    ///
    /// # Errors
    ///
    /// [`Error::Write`].
    pub(crate) fn close(&self) -> Result<(), Error> {
        self.write_index(&mut locked(&self.index))
    }

    /// Removes the layout: nothing but what a layout consists of.
    ///
    /// # Errors
    ///
    /// [`Error::Write`], for example if the directory has other files.
    pub(crate) fn remove(&self) -> Result<(), Error> {
        let remove = || {
            fs::remove_dir_all(self.path.join("blobs"))?;
            for file in ["index.json", MARKER_NAME] {
                fs::remove_file(self.path.join(file))?;
            }
            fs::remove_dir(&self.path)
        };
        remove().map_err(|error| atomic_files::Error::new("remove", &self.path, error).into())
    }

    fn write_index(&self, index: &mut Index) -> Result<(), Error> {
        let Some(content) = &index.content else { return Ok(()) };
        let bytes = document(content)?;
        let mut created = locked(&self.created);
        created.file(&self.path.join(MARKER_NAME), MARKER)?;
        created.file(&self.path.join("index.json"), &bytes)?;
        created.paths.clear();
        index.written = Some(Instant::now());
        Ok(())
    }
}

/// The index of a layout.
#[derive(Debug)]
struct Index {
    content: Option<ImageIndex>,
    /// When it was written, or an image was first added.
    written: Option<Instant>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns an index that contains `artifact` as `image_name` in addition to what `index` contains.
pub(crate) fn index_with(
    index: Option<ImageIndex>,
    artifact: &Artifact,
    image_name: &str,
) -> Result<ImageIndex, Error> {
    let mut descriptor: Descriptor = artifact.manifest().descriptor().clone();
    descriptor.set_annotations(Some(HashMap::from([(REF_NAME.to_owned(), image_name.to_owned())])));
    let mut manifests = index.map(|index| index.manifests().clone()).unwrap_or_default();
    manifests.retain(|other| name(other) != Some(image_name));
    manifests.push(descriptor);
    index_of(manifests)
}

/// Returns the index of a layout with `manifests`.
pub(crate) fn index_of(mut manifests: Vec<Descriptor>) -> Result<ImageIndex, Error> {
    manifests.sort_by(|a, b| (name(a), a.digest().as_ref()).cmp(&(name(b), b.digest().as_ref())));
    ImageIndexBuilder::default()
        .schema_version(SCHEMA_VERSION)
        .media_type(MediaType::ImageIndex)
        .manifests(manifests)
        .build()
        .map_err(|error| Error::malformed("the new layout", "image index", &error))
}

/// What a call created on disk: removed on drop, unless it is kept.
#[derive(Debug, Default)]
struct Created {
    is_kept: bool,
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
}

impl Drop for Created {
    fn drop(&mut self) {
        if self.is_kept {
            return;
        }
        for (path, is_directory) in self.paths.drain(..).rev() {
            // The error that led here matters more than one of these. A directory that others put something into stays.
            let _ = if is_directory { fs::remove_dir(&path) } else { fs::remove_file(&path) };
        }
    }
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

/// Accepts a directory that is empty, or that a killed writer left without an index.
fn require_unfinished(path: &Path) -> Result<(), Error> {
    let directory = |name: &str, expected: &[&str]| -> Result<bool, Error> {
        let path = path.join(name);
        let entries = match fs::read_dir(&path) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => return Ok(false),
            Err(error) => return Err(Error::read(&path)(error)),
        };
        for entry in entries {
            let name = entry.map_err(Error::read(&path))?.file_name();
            if !expected.iter().any(|expected| name == *expected) {
                return Ok(false);
            }
        }
        Ok(true)
    };
    if directory("", &["blobs", "oci-layout"])? && directory("blobs", &["sha256"])? {
        return Ok(());
    }
    let reason = "the directory is neither empty nor an OCI layout; choose a new directory".to_owned();
    Err(Error::NotFound { path: path.to_owned(), reason })
}

/// Removes the temporary files of killed writers.
fn remove_temporary(directory: &Path) -> Result<(), Error> {
    for entry in fs::read_dir(directory).map_err(Error::read(directory))? {
        let entry = entry.map_err(Error::read(directory))?;
        if atomic_files::is_temporary(entry.file_name()) {
            // What cannot be removed is in nobody's way.
            let _ = fs::remove_file(entry.path());
        }
    }
    Ok(())
}

/// Rejects a symbolic link inside a layout, through which files elsewhere would be written.
fn reject_link(path: &Path) -> Result<(), Error> {
    if fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink()) {
        let reason = "the layout contains a symbolic link; nothing is written through it".to_owned();
        return Err(Error::NotFound { path: path.to_owned(), reason });
    }
    Ok(())
}
