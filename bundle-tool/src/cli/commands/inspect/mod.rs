//! `bundle-tool inspect`: what an image is, and whether its parts agree.

mod compare;
mod description;
mod print;

use std::io;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::{Args, ValueEnum};
use serde_json::Value;

use crate::cli::exit::Exit;
use crate::cli::format::{Formats, OutputOption};
use crate::cli::images::{Location, RegistryArgs, image_source};
use crate::cli::progress::progress;
use crate::cli::runtime::runtime;
use crate::{provenance, sbom};
use description::{Description, Details, FileDetails, LayerDetails, Listing, Referrer};
use oci_images::labels;
use oci_images::layout::{self, Artifact, Blob, Contents, Image, Platform, Wanted};
use oci_images::location::{self, ImageLocation};
use oci_images::registry::{self, Repository, Resolver};

/// The most bytes of layers that are fetched to compare the labels of a bundle image with its annotations.
const MAX_BUNDLE: u64 = 32 << 20;

#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  # Describe a bundle image, and compare its labels with its annotations
  bundle-tool inspect quay.io/example/operator-bundle:v1.0.0

  # Compare it with the directory that it was built from
  bundle-tool inspect quay.io/example/operator-bundle:v1.0.0 --against bundle

  # List the files of every layer as a tree
  bundle-tool inspect oci:images --output tree

  # Print the labels for a script
  bundle-tool inspect oci-archive:bundle.tar --output json | jq .labels")]
pub(crate) struct Inspect {
    /// Image: a name, oci:DIR, oci-archive:FILE or docker-archive:FILE
    #[arg(value_name = "REF", value_parser = image_source)]
    reference: ImageLocation,
    /// Platform to describe [default: linux/amd64, or the first]
    #[arg(long, value_name = "OS/ARCH")]
    platform: Option<Platform>,
    /// Download the layers and list their files (implied by --output tree)
    #[arg(long)]
    files: bool,
    /// Bundle directory to compare a bundle image with
    #[arg(long, value_name = "DIR")]
    against: Option<PathBuf>,
    #[command(flatten)]
    format: OutputOption<Output>,
    #[command(flatten)]
    registries: RegistryArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Output {
    /// Human-readable text
    Text,
    /// The files of every layer as a tree
    Tree,
    /// One JSON document
    Json,
}

impl Formats for Output {
    const DEFAULT: &'static str = "text";
}

/// The tags under which cosign stores what belongs to an image, after `sha256-HEX`.
const COSIGN_TAGS: [(&str, &str); 3] =
    [(".sig", "cosign signatures"), (".att", "cosign attestations"), (".sbom", "cosign SBOM")];

impl Inspect {
    pub(crate) fn run(self) -> Result<Exit> {
        let description = runtime()?
            .block_on(self.describe())
            .with_context(|| format!("failed to inspect {}", self.reference))?;
        let mut out = io::BufWriter::new(io::stdout().lock());
        match self.format.output {
            Output::Text => print::write_text(&description, &mut out)?,
            Output::Tree => print::tree(&description, &mut out)?,
            Output::Json => print::write_json_document(&description, &mut out)?,
        }
        Ok(if description.problems.is_empty() { Exit::Success } else { Exit::Findings })
    }

    async fn describe(&self) -> Result<Description> {
        let location = Location(self.reference.clone());
        // RegistryArgs and layouts may lack images of an index that nobody needs, such as attestations.
        let (artifact, repository) = self
            .reference
            .artifact(&Wanted::Available, &self.registries.options(), &Resolver::from_env())
            .await?;
        let images = listings(&artifact);
        let mut description = Description {
            version: 1,
            name: self.reference.to_string(),
            digest: artifact.digest().to_string(),
            media_type: artifact.manifest().descriptor().media_type().to_string(),
            kind: "artifact",
            images,
            image: None,
            referrers: referrers(&artifact, repository.as_ref()).await?,
            problems: Vec::new(),
        };
        if !is_image(&artifact) {
            return Ok(description);
        }
        let platform = self.platform.clone().unwrap_or_default();
        if let Some(wanted) = &self.platform
            && artifact.for_platform(wanted).is_none()
        {
            let found = description.images.iter().map(|image| image.platform.as_str()).collect::<Vec<_>>();
            anyhow::bail!("the index contains no image for {wanted}; found: {}", found.join(", "));
        }
        let (mut image, _) = location.open(&platform, &self.registries).await?;
        if let Some(wanted) = &self.platform
            && !artifact.is_index()
        {
            location::require_platform(&image.config().document()?, wanted, &self.reference)?;
        }
        let is_bundle = image.labels().contains_key(labels::PACKAGE);
        let is_catalog = image.labels().contains_key(labels::CONFIGS);
        description.kind = match (is_bundle, is_catalog) {
            (true, _) => "OLM bundle image",
            (_, true) => "OLM catalog image",
            _ => "image",
        };
        let size = image.layers().iter().map(Blob::size).fold(0, u64::saturating_add);
        let files = self.files || self.format.output == Output::Tree;
        if files || self.against.is_some() || (is_bundle && size <= MAX_BUNDLE) {
            if let Some(repository) = &repository {
                image = repository.with_layers(image, &progress("pulling layers")).await?;
            }
            if is_bundle || self.against.is_some() {
                let contents = Contents::read(&image)?;
                if is_bundle {
                    description.problems.extend(compare::labels(&contents));
                }
                if let Some(directory) = &self.against {
                    description.problems.extend(compare::directory(contents, directory)?);
                }
            }
        }
        description.image = Some(details(&image, files)?);
        Ok(description)
    }
}

/// Returns whether the artifact is an image or an index of images, and not a signature or a chart.
fn is_image(artifact: &Artifact) -> bool {
    artifact.children().iter().any(is_image)
        || artifact
            .blobs()
            .last()
            .is_some_and(|config| layout::is_image_config(config.descriptor().media_type()))
}

fn listings(artifact: &Artifact) -> Vec<Listing> {
    let children = artifact.children().iter();
    children
        .flat_map(|child| {
            if child.is_index() {
                return listings(child);
            }
            let platform = child.platform().map_or_else(|| "unknown".to_owned(), |found| found.to_string());
            let size = child.blobs().iter().map(Blob::size).fold(0, u64::saturating_add);
            let size = child.is_read().then_some(size);
            vec![Listing { platform, digest: child.digest().to_string(), size }]
        })
        .collect()
}

async fn referrers(artifact: &Artifact, repository: Option<&Repository>) -> Result<Vec<Referrer>> {
    let Some(repository) = repository else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for registry::Referrer { digest, artifact_type, annotations, .. } in
        repository.referrers(artifact.digest()).await?
    {
        let kind = kind_of_referrer(&artifact_type, annotations.get(provenance::PREDICATE_ANNOTATION));
        let artifact_type = Some(artifact_type).filter(|artifact_type| !artifact_type.is_empty());
        found.push(Referrer { digest, kind, artifact_type, tag: None });
    }
    for (suffix, kind) in COSIGN_TAGS {
        let tag = format!("{}{suffix}", artifact.digest().as_ref().replace(':', "-"));
        if let Some(digest) = repository.find(&tag).await? {
            found.push(Referrer { digest, kind: kind.to_owned(), artifact_type: None, tag: Some(tag) });
        }
    }
    Ok(found)
}

/// Returns what people call a referrer; its type if it has no other name.
fn kind_of_referrer(artifact_type: &str, predicate: Option<&String>) -> String {
    let kind = match artifact_type {
        "" => "unknown",
        sbom::SPDX => "SBOM (SPDX)",
        sbom::CYCLONE_DX => "SBOM (CycloneDX)",
        provenance::MEDIA_TYPE => match predicate.map(String::as_str) {
            Some(provenance::PREDICATE_TYPE) => "SLSA provenance",
            _ => "in-toto statement",
        },
        "application/vnd.dev.cosign.artifact.sig.v1+json" => "cosign signature",
        "application/vnd.cncf.notary.signature" => "Notary Project signature",
        other if other.starts_with("application/vnd.dev.sigstore.bundle") => "sigstore bundle",
        other => other,
    };
    kind.to_owned()
}

fn details(image: &Image, files: bool) -> Result<Details> {
    let config: Value = serde_json::from_slice(&image.config().document()?)?;
    let manifest: Value = serde_json::from_slice(&image.manifest().document()?)?;
    let text = |name: &str| config[name].as_str().map(str::to_owned);
    let platform = ["os", "architecture", "variant"].into_iter().filter_map(text).collect::<Vec<_>>();
    let settings = [
        ("user", "User"),
        ("entrypoint", "Entrypoint"),
        ("args", "Cmd"),
        ("env", "Env"),
        ("workingDir", "WorkingDir"),
        ("exposedPorts", "ExposedPorts"),
    ];
    let settings = settings.into_iter().map(|(name, key)| (name, config["config"][key].clone()));
    let annotations = manifest["annotations"].as_object().into_iter().flatten();
    let mut layers = Vec::new();
    for layer in image.layers() {
        layers.push(LayerDetails {
            digest: layer.digest().to_string(),
            media_type: layer.descriptor().media_type().to_string(),
            size: layer.size(),
            files: files
                .then(|| layout::list(layer))
                .transpose()?
                .map(|files| files.into_iter().map(FileDetails::from).collect()),
        });
    }
    Ok(Details {
        image_digest: image.digest().to_string(),
        platform: platform.join("/"),
        created: text("created"),
        config: settings.filter(|(_, value)| !value.is_null() && value != "").collect(),
        labels: image.labels().clone(),
        annotations: annotations
            .map(|(key, value)| (key.clone(), value.as_str().unwrap_or_default().to_owned()))
            .collect(),
        layers,
    })
}
