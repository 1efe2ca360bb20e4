//! `bundle-tool push bundle`: a bundle directory as an image.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::thread;

use anyhow::{Context as _, Result, bail};
use clap::Args;

use super::annotations::Subject;
use super::base::Base;
use super::destination::{Destination, check_order};
use super::dockerfile::Additions;
use crate::cli::bundles;
use crate::cli::exit::Exit;
use crate::cli::images::{created, created_by};
use crate::cli::report::check_bundle;
use crate::cli::runtime::runtime;
use crate::terminal::{ERROR, stderr};
use oci_images::layout::{self, FileMap, Image, ImageBuilder, Layer, Platform, is_executable, layer};
use olm_model::disk;
use olm_model::disk::Directory;
use olm_model::disk::overlay::Overlay;
use olm_model::file::{MANIFESTS, METADATA};
use olm_model::read::MAX_FILE_SIZE;
use olm_model::{Annotations, Bundle, Content};
use olm_rules::Selection;

/// Build and push the image of a bundle
///
/// The image has one layer each for manifests/, metadata/ and tests/. Its labels are the annotations in
/// metadata/annotations.yaml. A Dockerfile of the bundle adds labels, further directories such as /licenses, the user and
/// the base image; instructions that would run in a container are reported and not run.
///
/// Exit status: 0 on success, 1 if the bundle is invalid, 2 on an error.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  # Validate a bundle and push it
  bundle-tool push bundle ./bundle quay.io/example/operator-bundle:v1.0.0

  # Push to a registry on this machine, and keep the digest
  bundle-tool push bundle ./bundle localhost:5000/operator-bundle:v1.0.0 \\
    --plain-http --digest-file digest

  # Annotate the image with repository, commit, license and version
  bundle-tool push bundle ./bundle quay.io/example/operator-bundle:v1.0.0 \\
    --annotate

  # Write the image to an OCI archive
  bundle-tool push bundle ./bundle quay.io/example/operator-bundle:v1.0.0 \\
    --to oci-archive:bundle.tar")]
pub(crate) struct PushBundle {
    /// Bundle directory
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Name of the image, such as registry.example.com/name-bundle:v1.2.3
    #[arg(value_name = "IMAGE")]
    name: String,
    /// Dockerfile of the bundle [default: bundle.Dockerfile in or beside DIR]
    #[arg(long, value_name = "FILE")]
    dockerfile: Option<PathBuf>,
    /// Push the bundle even if it is invalid
    #[arg(long)]
    no_validate: bool,
    #[command(flatten)]
    destination: Destination,
}

/// Validates the bundle with the suite that is always enabled; prints what is wrong with it.
fn is_valid(bundle: &Bundle) -> Result<bool> {
    if check_bundle(bundle, &Selection::default())? {
        return Ok(true);
    }
    writeln!(
        stderr(),
        "{ERROR} the bundle is invalid and was not pushed; pass --no-validate to push it anyway"
    )?;
    Ok(false)
}

impl PushBundle {
    pub(crate) fn run(self) -> Result<Exit> {
        let directory = &self.directory;
        check_order("push bundle", directory, &self.name)?;
        let selection = Selection::default();
        let bundle = bundles::whole(directory, &Overlay::default(), &selection)?;
        let labels = labels(&bundle)
            .with_context(|| format!("{} cannot be pushed as a bundle", directory.display()))?;
        let Additions { labels: more_labels, files: more_files, user, base } =
            Additions::read(directory, self.dockerfile.as_deref())?;
        let labels: BTreeMap<String, String> = more_labels.into_iter().chain(labels).collect();
        // Compressing a large bundle takes as long as validating it. What is invalid does not wait for it.
        let mut files = files(directory, &bundle, &labels)?;
        files.extend(more_files);
        let files_of_layers = files.clone();
        let building =
            thread::Builder::new().name("layers".to_owned()).spawn(move || layers(&files_of_layers));
        if !self.no_validate && !is_valid(&bundle)? {
            return Ok(Exit::Findings);
        }
        let layers = match building {
            Ok(building) => building.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            // The system permits no more threads.
            Err(_) => layers(&files),
        };
        let version = bundle.csv().and_then(|csv| csv.root.dig(&["spec", "version"])?.as_str());
        let subject = Subject::Bundle(version.map(str::to_owned));
        let inputs = self.destination.inputs("push bundle", directory).whole_directory();
        let Layers { layers, created } = layers?;
        let mut recipe = recipe(layers, created, labels);
        recipe.user = user;
        let Some(base) = base else {
            recipe.annotations = self.destination.annotations(directory, &subject, None)?;
            let inputs = inputs.annotations(&recipe.annotations);
            return self.destination.send_whole(&self.name, recipe.build()?, &inputs);
        };
        runtime()?.block_on(async {
            let base = Base::open(&base, &[Platform::default()], &self.destination.registries).await?;
            recipe.annotations = self.destination.annotations(directory, &subject, Some(&base))?;
            let inputs = inputs.annotations(&recipe.annotations).base(&base);
            recipe.base = base.chosen.images.into_iter().next();
            self.destination.send(&self.name, recipe.build()?, &inputs, base.chosen.repository.as_ref()).await
        })?;
        Ok(Exit::Success)
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
                bail!(
                    "{}:{}:{}: invalid YAML: {}",
                    file.path,
                    error.position.line,
                    error.position.column,
                    error.with_help()
                );
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
pub(crate) fn image(directory: &Path, bundle: &Bundle) -> Result<Image> {
    let labels =
        labels(bundle).with_context(|| format!("{} cannot be pushed as a bundle", directory.display()))?;
    let Layers { layers, created } = layers(&files(directory, bundle, &labels)?)?;
    Ok(recipe(layers, created, labels).build()?)
}

/// The layers of an image, and the time in seconds since 1970 of their files.
struct Layers {
    layers: Vec<Layer>,
    created: u64,
}

/// Returns the files of each layer, with the bytes that were validated: nothing is read again. What no rule looks at, such as a
/// script in tests/, is read now.
fn files(directory: &Path, bundle: &Bundle, labels: &BTreeMap<String, String>) -> Result<Vec<FileMap>> {
    let place = |label: &str, usual: &str| labels.get(label).cloned().unwrap_or_else(|| usual.to_owned());
    let root = Directory::open(directory)?;
    let mut layers = Vec::new();
    for (part, required) in [
        (place(Annotations::MANIFESTS, MANIFESTS), true),
        (place(Annotations::METADATA, METADATA), true),
        ("tests/".to_owned(), false),
    ] {
        let below = format!("{}/", part.trim_matches('/'));
        let is_there = bundle.directories.contains(&below);
        if !required && !is_there {
            continue;
        }
        if !is_there {
            bail!("failed to read {}: no such file or directory", directory.join(&below).display());
        }
        let mut files = FileMap::new();
        for file in bundle.files.iter().filter(|file| file.path.starts_with(&below)) {
            let failed = || format!("failed to read {}", directory.join(&file.path).display());
            let (opened, metadata) = root.file(&file.path).with_context(failed)?;
            let bytes = match file.content {
                Content::Other => disk::file::read_open(opened, MAX_FILE_SIZE).with_context(failed)?,
                _ => file.bytes.clone(),
            };
            let executable = is_executable(&directory.join(&file.path), &metadata).with_context(failed)?;
            files.add(&file.path, layout::File { source: layout::Source::Bytes(bytes), executable })?;
        }
        layers.push(files);
    }
    Ok(layers)
}

/// Returns the layers of a bundle.
fn layers(files: &[FileMap]) -> Result<Layers> {
    let created = created()?;
    let layers = files.iter().map(|files| layer(files, created)).collect::<Result<_, _>>()?;
    Ok(Layers { layers, created })
}

/// Returns the recipe of a bundle's image FROM scratch.
fn recipe(layers: Vec<Layer>, created: u64, labels: BTreeMap<String, String>) -> ImageBuilder {
    ImageBuilder { layers, labels, created, created_by: created_by(), ..ImageBuilder::default() }
}
