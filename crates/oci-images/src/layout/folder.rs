//! OCI layouts as folders.

use std::collections::HashMap;
use std::fs;
use std::io::{self, Read};
use std::path::Path;

use oci_spec::image::{Descriptor, ImageIndex, ImageIndexBuilder, MediaType, SCHEMA_VERSION};

use super::blob::DOCUMENT_LIMIT;
use super::image::document;
use super::oci_layout::{OciLayout, Places, REF_NAME, blob_path, name};
use super::{Blob, Error, Image};
use atomic_files::Pending;

/// The content of `oci-layout` (OCI image specification, image layout).
pub(crate) const MARKER: &[u8] = br#"{"imageLayoutVersion":"1.0.0"}"#;

/// Opens the OCI layout in the folder `path`.
///
/// # Errors
///
/// [`Error::Read`] where `index.json` cannot be read, [`Error::Malformed`] where it is none.
pub fn open_folder(path: &Path) -> Result<OciLayout, Error> {
    OciLayout::new(path, &read_document(&path.join("index.json"))?, Places::Folder)
}

/// Writes `image` into the OCI layout in the folder `path` under `image_name`, making the folder where there is none.
///
/// Images that are there stay, but for one of the same name. Blobs come first and the index last, so that the layout
/// never names what it does not have.
///
/// # Errors
///
/// [`Error::NotFound`] where `path` is a folder with other things in it, [`Error::Write`] where it cannot be written,
/// [`Error::Mismatch`] where a blob is not what it should be.
pub fn write_folder(path: &Path, image: &Image, image_name: &str) -> Result<(), Error> {
    let index = if path.join("oci-layout").exists() {
        let bytes = read_document(&path.join("index.json"))?;
        Some(serde_json::from_slice::<ImageIndex>(&bytes).map_err(|error| {
            Error::malformed(path.join("index.json").display().to_string(), "OCI image index", &error)
        })?)
    } else {
        refuse_other_things(path)?;
        None
    };
    let fresh = !path.exists();
    let written = write_parts(path, index, image, image_name);
    if written.is_err() && fresh {
        // Nothing was there before, so nothing is lost; the error that is on its way matters more than this one.
        let _ = fs::remove_dir_all(path);
    }
    written
}

fn write_parts(path: &Path, index: Option<ImageIndex>, image: &Image, image_name: &str) -> Result<(), Error> {
    for blob in image.blobs().chain([image.manifest()]) {
        write_blob(path, blob)?;
    }
    let index = index_with(index, image, image_name)?;
    atomic_files::file(&path.join("oci-layout"), MARKER)?;
    atomic_files::file(&path.join("index.json"), &index)?;
    Ok(())
}

/// The bytes of an index that has `image` under `image_name` beside what `index` had.
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

fn write_blob(folder: &Path, blob: &Blob) -> Result<(), Error> {
    let path = folder.join(blob_path(blob.digest()));
    if fs::metadata(&path).is_ok_and(|metadata| metadata.is_file() && metadata.len() == blob.size()) {
        return Ok(());
    }
    let mut reader = blob.open()?;
    let mut pending = Pending::new(&path)?;
    copy(&mut reader, &mut pending, blob)?;
    pending.commit()?;
    Ok(())
}

/// Copies a blob into a file, telling which of the two failed.
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

fn refuse_other_things(path: &Path) -> Result<(), Error> {
    let empty = match fs::read_dir(path) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => true,
        Err(error) => return Err(Error::read(path)(error)),
    };
    if empty {
        return Ok(());
    }
    let reason = "is a folder with other things in it, and no OCI layout: name a new folder".to_owned();
    Err(Error::NotFound { path: path.to_owned(), reason })
}

fn read_document(path: &Path) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    fs::File::open(path)
        .and_then(|file| file.take(DOCUMENT_LIMIT + 1).read_to_end(&mut bytes))
        .map_err(Error::read(path))?;
    if bytes.len() as u64 > DOCUMENT_LIMIT {
        return Err(Error::TooLarge { what: path.display().to_string(), limit: DOCUMENT_LIMIT });
    }
    Ok(bytes)
}
