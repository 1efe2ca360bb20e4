//! Sending an image to a registry.

use std::collections::BTreeMap;
use std::io::Read;
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Bytes;
use axum::http::HeaderValue;
use futures::stream::{self, StreamExt, TryStreamExt};
use oci_client::errors::OciDistributionError;

use super::error::{Kind, kind};
use super::pull::PARALLEL;
use super::{Error, Progress, Repository};
use crate::layout::{self, Blob, Image};

/// How much of a layer is held in memory at a time.
const CHUNK: usize = 1 << 20;

/// What a push did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pushed {
    /// The image by its digest: `registry.example.com/name@sha256:…`.
    pub reference: String,
    /// How many blobs were sent.
    pub sent: usize,
    /// How many blobs the registry had.
    pub present: usize,
}

impl Repository {
    /// Sends `image` under this repository's tag: the blobs that the registry lacks, in parallel, then the manifest.
    ///
    /// Layers that are only named are fetched from `base` where the registry lacks them. What the registry then says
    /// of the tag is compared with the image's digest.
    ///
    /// # Errors
    ///
    /// [`Error::Unreachable`], [`Error::Refused`], [`Error::Answer`]; [`Error::Mismatch`] where the registry has
    /// something else under the tag afterwards; [`Error::Layout`] where a blob cannot be read.
    pub async fn push(
        &self,
        image: &Image,
        base: Option<&Repository>,
        progress: &Progress,
    ) -> Result<Pushed, Error> {
        // By digest: an image may have the same layer twice.
        let blobs: BTreeMap<&str, &Blob> = image.blobs().map(|blob| (blob.digest().as_ref(), blob)).collect();
        let sent: Vec<bool> = stream::iter(blobs.into_values())
            .map(|blob| self.push_blob(blob, base, progress))
            .buffer_unordered(PARALLEL)
            .try_collect()
            .await?;
        let expected = image.digest().as_ref();
        self.push_manifest(image.manifest()).await?;
        let head = || self.client.fetch_manifest_digest(&self.reference, &self.credentials.auth);
        let name = self.reference.whole();
        let found = self.backoff.run(head).await.map_err(|error| self.error(&error, "show", &name))?;
        if found != expected {
            return Err(Error::Mismatch {
                registry: self.registry(),
                what: name,
                reason: format!("it has {found} there, {expected} was pushed"),
            });
        }
        let present = sent.iter().filter(|sent| !**sent).count();
        Ok(Pushed {
            reference: format!("{}/{}@{expected}", self.reference.registry(), self.reference.repository()),
            sent: sent.len() - present,
            present,
        })
    }

    /// Sends a blob unless the registry has it; says whether it was sent.
    async fn push_blob(
        &self,
        blob: &Blob,
        base: Option<&Repository>,
        progress: &Progress,
    ) -> Result<bool, Error> {
        let digest = blob.digest().to_string();
        let what = format!("the blob {digest}");
        let head = || self.client.blob_exists(&self.reference, &digest);
        if self.backoff.run(head).await.map_err(|error| self.error(&error, "look for", &what))? {
            return Ok(false);
        }
        let blob = match base {
            Some(base) => base.fetch(blob, progress).await?,
            None => blob.clone(),
        };
        progress.expect(blob.size());
        let failed = Arc::new(Mutex::new(None));
        let attempt = || {
            let failed = Arc::clone(&failed);
            let blob = blob.clone();
            let digest = digest.as_str();
            async move {
                let reader = match blob.open() {
                    Ok(reader) => reader,
                    Err(error) => return Err(keep(&failed, error)),
                };
                let size = blob.size();
                let chunks = chunks(reader, blob, Arc::clone(&failed));
                let result = self.client.push_blob_stream(&self.reference, chunks, digest, Some(size)).await;
                match result {
                    // AWS ECR leaves the location out although the blob is there; any registry may.
                    Ok(_) | Err(OciDistributionError::RegistryNoLocationError) => Ok(()),
                    // The request broke off because there was nothing to send: no reason to try again.
                    Err(error) if failed.lock().unwrap_or_else(PoisonError::into_inner).is_some() => {
                        Err(OciDistributionError::GenericError(Some(error.to_string())))
                    }
                    Err(error) => Err(error),
                }
            }
        };
        let result = self.backoff.run(attempt).await;
        // Where reading the blob failed, that is the reason, and not the request that broke off.
        if let Some(error) = failed.lock().unwrap_or_else(PoisonError::into_inner).take() {
            return Err(Error::Layout(error));
        }
        result.map_err(|error| self.error(&error, "take", &what))?;
        progress.advance(blob.size());
        Ok(true)
    }

    async fn push_manifest(&self, manifest: &Blob) -> Result<(), Error> {
        let bytes = Bytes::from(manifest.document()?);
        let name = self.reference.whole();
        let media_type = HeaderValue::from_str(manifest.descriptor().media_type().as_ref())
            .map_err(|error| layout::Error::malformed(name.clone(), "media type", &error))?;
        let put = || self.client.push_manifest_raw(&self.reference, bytes.clone(), media_type.clone());
        match self.backoff.run(put).await {
            Ok(_) | Err(OciDistributionError::RegistryNoLocationError) => Ok(()),
            Err(error) if kind(&error) == Kind::Missing => Err(self.error(
                &OciDistributionError::GenericError(Some(super::error::reason(&error))),
                "take",
                &name,
            )),
            Err(error) => Err(self.error(&error, "take", &name)),
        }
    }
}

/// The bytes of a blob in pieces, read on a thread that may block.
fn chunks(
    reader: Box<dyn Read + Send>,
    blob: Blob,
    failed: Arc<Mutex<Option<layout::Error>>>,
) -> impl futures::Stream<Item = Result<Bytes, OciDistributionError>> + Send + 'static {
    stream::unfold(Some((reader, blob, failed)), |state| async move {
        let (mut reader, blob, failed) = state?;
        let read = tokio::task::spawn_blocking(move || {
            let mut chunk = Vec::with_capacity(CHUNK);
            let result = (&mut reader).take(CHUNK as u64).read_to_end(&mut chunk);
            (reader, result.map(|_| chunk))
        });
        match read.await {
            Ok((_, Ok(chunk))) if chunk.is_empty() => None,
            Ok((reader, Ok(chunk))) => Some((Ok(Bytes::from(chunk)), Some((reader, blob, failed)))),
            Ok((_, Err(error))) => Some((Err(keep(&failed, blob.error(error))), None)),
            Err(error) => Some((Err(OciDistributionError::GenericError(Some(error.to_string()))), None)),
        }
    })
}

/// Keeps the error for [`Repository::push_blob`] and gives the library one that is not tried again.
fn keep(failed: &Mutex<Option<layout::Error>>, error: layout::Error) -> OciDistributionError {
    let text = error.to_string();
    *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
    OciDistributionError::GenericError(Some(text))
}
