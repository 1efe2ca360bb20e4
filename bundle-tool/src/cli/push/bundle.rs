//! `bundle-tool push bundle`: a bundle directory as an image.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::thread;

use anyhow::{Context as _, Result, bail};
use clap::Args;

use super::annotations::Subject;
use super::destination::Destination;
use crate::cli::exit::Exit;
use crate::cli::images::{created, created_by};
use crate::cli::report::check_bundle;
use crate::model::file::{MANIFESTS, METADATA};
use crate::model::{Annotations, Bundle, Content};
use crate::read;
use oci_images::layout::{FileMap, Image, Layer, Recipe, layer};

/// Build and push the image of a bundle
///
/// The image is built FROM scratch, with one layer each for manifests/, metadata/ and tests/. Its labels are the annotations
/// in metadata/annotations.yaml.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  # Validate a bundle and push it
  bundle-tool push bundle bundle quay.io/example/operator-bundle:v1.0.0

  # Push to a registry on this machine, and keep the digest
  bundle-tool push bundle bundle localhost:5000/operator-bundle:v1.0.0 \\
    --plain-http --digest-file digest

  # Annotate the image with repository, commit, license and version
  bundle-tool push bundle bundle quay.io/example/operator-bundle:v1.0.0 \\
    --annotate

  # Write the image to an OCI archive
  bundle-tool push bundle bundle quay.io/example/operator-bundle:v1.0.0 \\
    --to oci-archive:bundle.tar")]
pub(super) struct PushBundle {
    /// Bundle directory
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Name of the image, such as registry.example.com/name-bundle:v1.2.3
    #[arg(value_name = "IMAGE")]
    name: String,
    /// Push the bundle even if it is invalid
    #[arg(long)]
    no_validate: bool,
    #[command(flatten)]
    destination: Destination,
}

/// Validates the bundle with the suite that is always enabled; prints what is wrong with it.
fn is_valid(bundle: &Bundle) -> Result<bool> {
    if check_bundle(bundle)? {
        return Ok(true);
    }
    writeln!(
        io::stderr(),
        "error: the bundle is invalid and was not pushed; use --no-validate to push it anyway"
    )?;
    Ok(false)
}

impl PushBundle {
    pub(super) fn run(self) -> Result<Exit> {
        let directory = &self.directory;
        let bundle = read::bundle::directory(directory)?;
        let labels = labels(&bundle)
            .with_context(|| format!("{} cannot be pushed as a bundle", directory.display()))?;
        // Compressing a large bundle takes as long as validating it. What is invalid does not wait for it.
        let (directory_of_layers, labels_of_layers) = (directory.clone(), labels.clone());
        let building = thread::Builder::new()
            .name("layers".to_owned())
            .spawn(move || layers(&directory_of_layers, &labels_of_layers));
        if !self.no_validate && !is_valid(&bundle)? {
            return Ok(Exit::Findings);
        }
        let layers = match building {
            Ok(building) => building.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            // The system permits no more threads.
            Err(_) => layers(directory, &labels),
        };
        let version = bundle.csv().and_then(|csv| csv.root.dig(&["spec", "version"])?.as_str());
        let subject = Subject::Bundle(version.map(str::to_owned));
        let annotations = self.destination.annotations(directory, &subject, None)?;
        let inputs = self.destination.inputs("push bundle", directory).whole_directory();
        let inputs = inputs.annotations(&annotations);
        let image = build(layers?, labels, annotations)?;
        self.destination.send_whole(&self.name, image, &inputs)
    }
}

/// Returns the labels of the bundle's image.
///
/// # Errors
///
/// The bundle has no annotations, or a file that is not valid YAML.
fn labels(bundle: &Bundle) -> Result<BTreeMap<String, String>> {
    for file in &bundle.files {
        match &file.content {
            Content::Documents { error: Some(error), .. } if file.is_manifest() || file.is_metadata() => {
                bail!("{}:{}:{}: {}", file.path, error.position.line, error.position.column, error.message);
            }
            Content::Unreadable(reason) => bail!("{}: {reason}", file.path),
            Content::Documents { .. } | Content::Other => {}
        }
    }
    let annotations = bundle.annotations().context(
        "metadata/annotations.yaml is missing or contains no annotations; `bundle-tool generate bundle` writes it",
    )?;
    Ok(annotations.labels())
}

/// Returns the image of a bundle that was read from `directory`.
pub(in crate::cli) fn image(directory: &Path, bundle: &Bundle) -> Result<Image> {
    let labels =
        labels(bundle).with_context(|| format!("{} cannot be pushed as a bundle", directory.display()))?;
    build(layers(directory, &labels)?, labels, BTreeMap::new())
}

/// The layers of an image, and the time in seconds since 1970 of their files.
struct Layers {
    layers: Vec<Layer>,
    created: u64,
}

/// Returns the layers of the bundle in `directory`.
fn layers(directory: &Path, labels: &BTreeMap<String, String>) -> Result<Layers> {
    let created = created()?;
    let place = |label: &str, usual: &str| labels.get(label).cloned().unwrap_or_else(|| usual.to_owned());
    let mut layers: Vec<Layer> = Vec::new();
    for (part, required) in [
        (place(Annotations::MANIFESTS, MANIFESTS), true),
        (place(Annotations::METADATA, METADATA), true),
        ("tests/".to_owned(), false),
    ] {
        let path = directory.join(part.trim_matches('/'));
        if !required && !path.exists() {
            continue;
        }
        let mut files = FileMap::new();
        files.collect(&path, &part)?;
        layers.push(layer(&files, created)?);
    }
    Ok(Layers { layers, created })
}

/// Returns the image of a bundle with these layers.
fn build(
    Layers { layers, created }: Layers,
    labels: BTreeMap<String, String>,
    annotations: BTreeMap<String, String>,
) -> Result<Image> {
    Ok(Recipe { layers, labels, annotations, created, created_by: created_by(), ..Recipe::default() }
        .build()?)
}
