//! Where an image is sent.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use clap::Args;
use jiff::Timestamp;
use oci_images::layout::{self, Artifact};
use oci_images::location::ImageLocation;
use oci_images::registry::{Attachment, Reference, Repository, Resolver, SigningKey};
use serde_json::json;

use super::annotations::{AnnotationArguments, Subject};
use super::base::Base;
use super::provenance::Inputs;
use crate::cli::exit::Exit;
use crate::cli::images::{ImageDestination, RegistryArgs, created};
use crate::cli::outputs;
use crate::cli::progress::progress;
use crate::cli::runtime::runtime;
use crate::sbom;
use olm_model::disk::file;

// Where an image is sent.
#[derive(Debug, Args)]
pub(crate) struct Destination {
    /// Write the image to an OCI layout or archive instead of pushing it
    #[arg(long, value_name = "oci:DIR|oci-archive:FILE|docker-archive:FILE")]
    to: Option<ImageDestination>,
    /// File to write the image's digest to
    #[arg(long, value_name = "FILE")]
    digest_file: Option<PathBuf>,
    /// File to write the image's name, digest, media type and size to, as JSON with the keys of docker buildx
    #[arg(long, value_name = "FILE")]
    metadata_file: Option<PathBuf>,
    #[expect(clippy::doc_markdown, reason = "a help text, in which a variable is shown as in a shell")]
    /// Sign the pushed image, and its provenance, with this private key, as cosign does; its password is read from $COSIGN_PASSWORD
    #[arg(long, value_name = "KEY", conflicts_with = "to")]
    sign: Option<PathBuf>,
    #[expect(clippy::doc_markdown, reason = "a help text, which shows a name as it is written")]
    /// Attach a software bill of materials to the pushed image: SPDX or CycloneDX in JSON, or a Cargo.lock, which becomes SPDX
    #[arg(long, value_name = "FILE", conflicts_with = "to")]
    sbom: Option<PathBuf>,
    /// Attach SLSA provenance to the pushed image: how it was built, with command, git revision, base image and files
    #[arg(long, conflicts_with = "to")]
    provenance: bool,
    #[command(flatten)]
    annotations: AnnotationArguments,
    #[command(flatten)]
    pub(crate) registries: RegistryArgs,
}

/// Fails if the directory and the name of the image were passed in the wrong order.
///
/// # Errors
/// There is no directory, but the name is one.
pub(crate) fn check_order(command: &str, directory: &Path, name: &str) -> Result<()> {
    if !directory.exists() && Path::new(name).is_dir() {
        bail!(
            "the directory comes first, and then the name of the image: `{command} {name} {}`",
            directory.display()
        );
    }
    Ok(())
}

impl Destination {
    /// Returns the inputs of `command`, such as `push bundle`, for sources in `directory`.
    pub(crate) fn inputs(&self, command: &str, directory: &Path) -> Inputs {
        Inputs::new(command, directory, self.provenance)
    }

    /// Returns the annotations of an image of `subject`, whose sources are in `directory`.
    pub(crate) fn annotations(
        &self,
        directory: &Path,
        subject: &Subject,
        base: Option<&Base>,
    ) -> Result<BTreeMap<String, String>> {
        if let Some(ImageDestination(place @ ImageLocation::DockerArchive(..))) = &self.to
            && self.annotations.is_used()
        {
            bail!(
                "{place} cannot contain annotations: write an oci-archive, or omit --annotate and --annotation"
            );
        }
        self.annotations.all(directory, subject, base.map(Base::annotations).unwrap_or_default())
    }

    /// Sends an image or an index that was built from `inputs` as `name`; layers without their bytes come from `base`.
    pub(crate) async fn send(
        &self,
        name: &str,
        artifact: impl Into<Artifact>,
        inputs: &Inputs,
        base: Option<&Repository>,
    ) -> Result<()> {
        let sent = self.send_artifact(name, artifact.into(), inputs, base).await;
        sent.with_context(|| format!("failed to push {name}"))
    }

    async fn send_artifact(
        &self,
        name: &str,
        artifact: Artifact,
        inputs: &Inputs,
        base: Option<&Repository>,
    ) -> Result<()> {
        let reference = named(name)?;
        let digest = artifact.digest().to_string();
        let descriptor = artifact.manifest().descriptor().clone();
        // Opened first: an image is not pushed if its digest cannot be written, or if it cannot be signed.
        let files = [
            ("--digest-file", self.digest_file.as_deref()),
            ("--metadata-file", self.metadata_file.as_deref()),
        ];
        if let Some(to) = &self.to {
            outputs::require_parent_of_archive(&to.0)?;
        }
        let [digest_file, metadata_file] =
            outputs::open(files, &self.to.iter().map(|target| &target.0).collect::<Vec<_>>())?;
        let key = self.sign.as_deref().map(signing_key).transpose()?;
        let sbom = self.sbom.as_deref().map(|path| bill_of_materials(path, name)).transpose()?;
        let provenance = self.provenance.then(|| inputs.attachment(&reference, &artifact)).transpose()?;
        let progress = progress(format!("pushing {name}"));
        let printed = match &self.to {
            None => {
                let options = self.registries.options();
                let source = base.map(Repository::reference);
                let resolver = Resolver::from_env();
                let repository = Repository::for_writing_on(&reference, source, &options, &resolver).await?;
                let pushed = repository.push(&artifact, base, &progress).await?;
                if let Some(key) = &key {
                    repository.sign(artifact.digest(), key).await.context("failed to sign the image")?;
                }
                if let Some(sbom) = sbom {
                    repository.attach(&descriptor, sbom).await.context("failed to attach the SBOM")?;
                }
                if let Some(provenance) = provenance {
                    if let Some(key) = &key {
                        let signed = repository.attest(&descriptor, &provenance.bytes, key).await;
                        signed.context("failed to attach the signed provenance")?;
                    }
                    let attached = repository.attach(&descriptor, provenance).await;
                    attached.context("failed to attach the provenance")?;
                }
                pushed.reference
            }
            Some(target) => {
                let artifact = match base {
                    Some(base) => {
                        base.with_blobs_in(artifact, &target.0.scratch_directory(), &progress).await?
                    }
                    None => artifact,
                };
                write(&target.0, artifact, &reference.to_string())?;
                format!("{}/{}@{digest}", reference.registry(), reference.repository())
            }
        };
        drop(progress);
        let metadata = json!({
            "containerimage.descriptor": descriptor,
            "containerimage.digest": digest,
            "image.name": reference.to_string(),
        });
        for (file, text) in [(digest_file, digest.clone()), (metadata_file, format!("{metadata:#}\n"))] {
            let Some(mut file) = file else { continue };
            let written = file.append(text.as_bytes()).and_then(|()| file.commit());
            written.with_context(|| {
                format!("{printed} is complete, but its digest or metadata could not be written")
            })?;
        }
        let mut out = io::stdout().lock();
        writeln!(out, "{printed}")?;
        out.flush()?;
        Ok(())
    }

    /// [`Destination::send`] for an image that has all of its layers.
    pub(crate) fn send_whole(
        &self,
        name: &str,
        artifact: impl Into<Artifact>,
        inputs: &Inputs,
    ) -> Result<Exit> {
        runtime()?.block_on(self.send(name, artifact, inputs, None))?;
        Ok(Exit::Success)
    }
}

/// Parses the name of an image to push.
fn named(name: &str) -> Result<Reference> {
    if let Ok(
        place
        @ (ImageLocation::Directory(..) | ImageLocation::Archive(..) | ImageLocation::DockerArchive(..)),
    ) = name.parse()
    {
        bail!(
            "`{place}` is not the name of an image: pass a name such as registry.example.com/name:tag, and --to {place}"
        );
    }
    Ok(Repository::parse(name)?)
}

/// Reads a private key, which an environment variable decrypts.
pub(crate) fn signing_key(path: &Path) -> Result<SigningKey> {
    let password = std::env::var("COSIGN_PASSWORD").unwrap_or_default();
    Ok(SigningKey::read(path, &password)?)
}

/// Maximum size of a bill of materials in bytes.
const MAX_SBOM: u64 = 64 << 20;

/// What some editors put in front of UTF-8. JSON and TOML do not allow it.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Reads what is attached to the image `name`.
fn bill_of_materials(path: &Path, name: &str) -> Result<Attachment> {
    let (media_type, bytes) = if path.extension().is_some_and(|extension| extension == "lock") {
        (sbom::SPDX, lock_as_spdx(path, name)?)
    } else {
        let bytes = read_sbom(path)?;
        let Some(media_type) = sbom::media_type(&bytes) else {
            bail!("{} is not an SBOM: expected SPDX or CycloneDX in JSON, or a Cargo.lock", path.display());
        };
        (media_type, bytes)
    };
    Ok(Attachment { media_type: media_type.to_owned(), bytes, annotations: BTreeMap::new() })
}

/// Returns the packages of a `Cargo.lock` as SPDX. `name` is what the document is about.
pub(crate) fn lock_as_spdx(path: &Path, name: &str) -> Result<Vec<u8>> {
    let failed = || format!("failed to read {}", path.display());
    let bytes = read_sbom(path)?;
    let text = str::from_utf8(&bytes).context("invalid UTF-8").with_context(failed)?;
    let created = Timestamp::from_second(created()?.cast_signed()).context("invalid SOURCE_DATE_EPOCH")?;
    sbom::from_cargo_lock(text, name, &created.to_string()).with_context(failed)
}

/// Reads a bill of materials, without a byte order mark.
fn read_sbom(path: &Path) -> Result<Vec<u8>> {
    let mut bytes =
        file::read(path, MAX_SBOM).with_context(|| format!("failed to read {}", path.display()))?;
    if bytes.starts_with(BYTE_ORDER_MARK) {
        bytes.drain(..BYTE_ORDER_MARK.len());
    }
    Ok(bytes)
}

/// Writes an image to a layout or an archive, as `name` if the place has no other name for it.
fn write(place: &ImageLocation, image: Artifact, name: &str) -> Result<()> {
    match place {
        ImageLocation::Directory(path, own) => {
            layout::write_directory(path, image, own.as_deref().unwrap_or(name))?;
        }
        ImageLocation::Archive(path, own) => {
            layout::write_archive(path, image, own.as_deref().unwrap_or(name))?;
        }
        ImageLocation::DockerArchive(path, own) => {
            layout::write_docker_archive(path, image, own.as_deref().unwrap_or(name))?;
        }
        place => bail!("{place} is not a layout or an archive"),
    }
    Ok(())
}
