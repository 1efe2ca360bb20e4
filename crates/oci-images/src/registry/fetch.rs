//! Downloading blobs into temporary files, resumed where they broke.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Seek, Write};
use std::path::Path;

use futures::FutureExt;
use futures::stream::{self, StreamExt, TryStreamExt};
use oci_spec::image::{Descriptor, DigestAlgorithm};
use reqwest::header::{CONTENT_RANGE, HeaderValue, RANGE};
use reqwest::{Method, StatusCode};

use super::client::Repository;
use super::error::Error;
use super::failure::Failure;
use super::http::Request;
use super::progress::Progress;
use crate::blocking::blocking;
use crate::layout::{self, Artifact, Blob, Hashing};

/// Maximum number of bytes that are written to a file at a time.
const MAX_WRITE: usize = 1 << 20;

impl Repository {
    /// Returns the blob with its bytes in a temporary file; a blob that has its bytes is returned as it is.
    ///
    /// A download that breaks is resumed where it stopped if the registry supports that.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] if the registry returns other bytes than the descriptor promises, [`Error::Layout`] if the
    /// temporary directory is full.
    pub async fn fetch(&self, blob: &Blob, progress: &Progress) -> Result<Blob, Error> {
        self.fetch_in(blob, &std::env::temp_dir(), progress).await
    }

    /// As [`Repository::fetch`], with the temporary file in `directory`: on the disk where the blob is written next.
    pub(crate) async fn fetch_in(
        &self,
        blob: &Blob,
        directory: &Path,
        progress: &Progress,
    ) -> Result<Blob, Error> {
        if blob.is_present() {
            return Ok(blob.clone());
        }
        let what = format!("the blob {}", blob.digest());
        progress.expect(blob.size());
        let owned = directory.to_owned();
        let file = blocking(move || tempfile::tempfile_in(owned)).await;
        let file = file.map_err(|error| layout::Error::stored_in(directory, error))?;
        let fetched = self.download(blob.descriptor(), &file, directory, progress).await;
        fetched.map_err(|failure| self.session.error(failure, "return", &what))?;
        Ok(Blob::from_temporary(blob.descriptor().clone(), file))
    }

    /// Writes the bytes of a blob to an empty file in `directory`, which has them all if there is no error. `progress` never counts
    /// more bytes than the file has, and counts a restart before the file is emptied.
    pub(crate) async fn download(
        &self,
        descriptor: &Descriptor,
        handle: &File,
        directory: &Path,
        progress: &Progress,
    ) -> Result<(), Failure> {
        let not_stored = |error| Failure::Local(layout::Error::stored_in(directory, error));
        let digest = descriptor.digest();
        if *digest.algorithm() != DigestAlgorithm::Sha256 {
            return Err(Failure::Invalid(format!("unsupported digest algorithm `{}`", digest.algorithm())));
        }
        let mut file = Hashing::new(handle.try_clone().map_err(not_stored)?);
        let mut attempts = self.session.attempts();
        loop {
            match self.append(descriptor, handle, &mut file, &not_stored, progress).await {
                Ok(()) => break,
                // Everything arrived, whatever happened to the end of the response.
                Err(Failure::Broken(_)) if file.size() == descriptor.size() => break,
                Err(failure) => {
                    attempts.reached(file.size());
                    attempts.pause(failure).await?;
                }
            }
        }
        let (found, size, _) = file.finish();
        if size != descriptor.size() {
            return Err(Failure::Invalid(format!("expected {} bytes, got {size}", descriptor.size())));
        }
        if &found != digest {
            return Err(Failure::Invalid(format!("the content has the digest {found}")));
        }
        Ok(())
    }

    /// Appends the rest of a blob to `file`, or all of it to an empty file if the registry does not resume. `handle` is
    /// the same file.
    async fn append(
        &self,
        descriptor: &Descriptor,
        handle: &File,
        file: &mut Hashing<File>,
        not_stored: &(dyn Fn(std::io::Error) -> Failure + Sync),
        progress: &Progress,
    ) -> Result<(), Failure> {
        let mut request =
            Request::new(Method::GET, self.session.url(&format!("blobs/{}", descriptor.digest()))?);
        let mut statuses = vec![StatusCode::OK];
        if file.size() > 0 {
            let range = HeaderValue::from_str(&format!("bytes={}-", file.size()))
                .map_err(|error| Failure::Invalid(error.to_string()))?;
            request = request.header(RANGE, range);
            statuses.push(StatusCode::PARTIAL_CONTENT);
        }
        let mut response = self.session.expect(&request, &statuses).await?;
        if response.status() == StatusCode::PARTIAL_CONTENT {
            let start = response.header(&CONTENT_RANGE).unwrap_or_default();
            if !start.starts_with(&format!("bytes {}-", file.size())) {
                return Err(Failure::Invalid(
                    "the registry returned a different range than requested".into(),
                ));
            }
        } else if file.size() > 0 {
            progress.take_back(file.size());
            *file = restarted(handle).map_err(not_stored)?;
        }
        while let Some(first) = response.chunk().await? {
            // What has arrived meanwhile is written with it.
            let (mut chunks, mut bytes, mut end) = (vec![first], 0, Ok(()));
            while end.is_ok() && bytes < MAX_WRITE {
                match response.chunk().now_or_never() {
                    Some(Ok(Some(chunk))) => {
                        bytes += chunk.len();
                        chunks.push(chunk);
                    }
                    Some(Err(failure)) => end = Err(failure),
                    Some(Ok(None)) | None => break,
                }
            }
            let length = chunks.iter().map(|chunk| chunk.len() as u64).sum();
            if file.size() + length > descriptor.size() {
                return Err(Failure::Invalid(format!("more than the {} bytes expected", descriptor.size())));
            }
            let mut writing = std::mem::replace(file, Hashing::new(handle.try_clone().map_err(not_stored)?));
            let written = blocking(move || {
                let written = chunks.iter().try_for_each(|chunk| writing.write_all(chunk));
                (writing, written)
            });
            let (writing, written) = written.await;
            *file = writing;
            written.map_err(not_stored)?;
            progress.advance(length);
            end?;
        }
        Ok(())
    }

    /// Returns the artifact with the bytes of every blob, fetched into temporary files if it has only their descriptors.
    ///
    /// # Errors
    ///
    /// As [`Repository::fetch`].
    pub async fn with_blobs(&self, artifact: Artifact, progress: &Progress) -> Result<Artifact, Error> {
        self.with_blobs_in(artifact, &std::env::temp_dir(), progress).await
    }

    /// As [`Repository::with_blobs`], with the temporary files in `directory`: on the disk where the artifact is written next, see
    /// [`ImageLocation::scratch_directory`](crate::location::ImageLocation::scratch_directory).
    ///
    /// # Errors
    ///
    /// As [`Repository::fetch`].
    pub async fn with_blobs_in(
        &self,
        artifact: Artifact,
        directory: &Path,
        progress: &Progress,
    ) -> Result<Artifact, Error> {
        let missing: Vec<Blob> =
            artifact.all_blobs().into_values().filter(|blob| !blob.is_present()).cloned().collect();
        let fetched: BTreeMap<String, Blob> = stream::iter(missing)
            .map(|blob| async move {
                Ok::<_, Error>((blob.digest().to_string(), self.fetch_in(&blob, directory, progress).await?))
            })
            .buffer_unordered(self.session.parallel)
            .try_collect()
            .await?;
        Ok(artifact.with_blobs(&fetched))
    }
}

/// Returns the same file, empty and with nothing counted.
fn restarted(handle: &File) -> std::io::Result<Hashing<File>> {
    let mut file = handle.try_clone()?;
    file.set_len(0)?;
    file.rewind()?;
    Ok(Hashing::new(file))
}
