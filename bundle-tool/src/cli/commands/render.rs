//! `bundle-tool render`: renders bundles and catalogs as file-based catalog blobs.

mod manifests;

use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use clap::{Args, Subcommand, ValueEnum};
use rayon::prelude::*;

use super::catalog::load;
use crate::cli::exit::Exit;
use crate::cli::format::{Formats, OutputOption};
use crate::cli::images::{Location, RegistryArgs, catalog_image, image_name};
use crate::cli::rendering::Rendering;
use crate::cli::runtime::SharedRuntime;
use olm_model::catalog::Catalog;
use olm_model::disk;
use olm_model::read;
use olm_model::read::catalog as reader;
use olm_model::read::catalog::Limits;

#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES, args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct Render {
    #[command(subcommand)]
    command: Option<RenderCommand>,
    /// Bundles or catalogs: directories, `oci:DIR`, `oci-archive:FILE`, image names, or `-` for a catalog on standard input
    #[arg(required = true, value_name = "REF")]
    references: Vec<String>,
    /// Image reference to record for the bundle (single REF only). The bundle is then rendered with olm.csv.metadata
    /// instead of all its objects
    #[arg(long, value_name = "NAME", value_parser = catalog_image)]
    image: Option<String>,
    #[command(flatten)]
    format: OutputOption<Output>,
    #[command(flatten)]
    rendering: Rendering,
    #[command(flatten)]
    registries: RegistryArgs,
}

#[derive(Debug, Subcommand)]
enum RenderCommand {
    Manifests(manifests::RenderManifests),
}

/// The formats of catalogs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// Concatenated JSON documents
    Json,
    /// YAML documents
    Yaml,
}

impl Formats for Output {
    const DEFAULT: &'static str = "json";
}

impl Output {
    /// Writes a catalog in this format.
    pub(crate) fn write(self, catalog: &Catalog, out: impl Write) -> io::Result<()> {
        match self {
            Self::Json => catalog.write_json(out),
            Self::Yaml => catalog.write_yaml(out),
        }
    }
}

const EXAMPLES: &str = "\
Examples:
  # Render a bundle directory for a catalog that serves its image
  bundle-tool render ./bundle --output yaml \\
    --image quay.io/example/gizmo-bundle:v1.2.0

  # Render a bundle image
  bundle-tool render quay.io/example/gizmo-bundle:v1.2.0

  # Merge two catalogs into one file
  bundle-tool render ./catalog-a ./catalog-b > catalog.json

  # Make a published catalog smaller: only what consoles read
  bundle-tool render quay.io/example/catalog:latest --minimal > catalog.json";

impl Render {
    pub(crate) fn run(self) -> Result<Exit> {
        if let Some(RenderCommand::Manifests(command)) = self.command {
            return command.run();
        }
        if self.image.is_some() && self.references.len() > 1 {
            bail!(
                "--image requires a single REF, found {}: render each bundle with its own image",
                self.references.len()
            );
        }
        let runtime = SharedRuntime::default();
        let read = |reference: &String| {
            read(
                reference,
                self.image.as_deref(),
                &self.rendering,
                Invalid::Refused,
                &self.registries,
                &runtime,
            )
            .with_context(|| format!("failed to render {reference}"))
        };
        let rendered = match &*self.references {
            // Threads would take longer to start than most bundles take.
            [reference] => vec![read(reference)?],
            references => references.par_iter().map(read).collect::<Result<Vec<_>>>()?,
        };
        let mut all = Catalog::default();
        for catalog in rendered {
            all.merge(catalog);
        }
        self.rendering.apply(&mut all.bundles)?;
        let mut out = io::BufWriter::with_capacity(64 << 10, io::stdout().lock());
        self.format.output.write(&all, &mut out)?;
        out.flush()?;
        Ok(Exit::Success)
    }
}

/// What becomes of a bundle with manifests that are not valid YAML.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Invalid {
    /// It is an error.
    Refused,
    /// The manifests are omitted, as by opm.
    Omitted,
}

/// Returns the blobs of a bundle or a catalog.
pub(crate) fn read(
    reference: &str,
    image: Option<&str>,
    rendering: &Rendering,
    invalid: Invalid,
    registries: &RegistryArgs,
    runtime: &SharedRuntime,
) -> Result<Catalog> {
    if reference == "-" {
        check_image(image)?;
        return Ok(reader::blobs(load::sources(reference, registries)?, Limits::default())?);
    }
    let Some(location) = Location::of_image(reference)? else {
        return read_directory(Path::new(reference), image, rendering, invalid);
    };
    let contents = runtime.get()?.block_on(location.contents(registries))?;
    if contents.is_catalog() {
        check_image(image)?;
        return Ok(reader::blobs(reader::sources_in(contents.files)?, Limits::default())?);
    }
    let bundle = read::bundle::files(reference, &contents.into_bundle());
    if invalid == Invalid::Refused {
        bundle.complete()?;
    }
    // The image of a bundle in a registry is its own.
    let pulled = location.registry().is_some().then(|| image_name(reference));
    let blob = rendering.blob(&bundle, image.or(pulled))?;
    Ok(Catalog { bundles: vec![blob], ..Catalog::default() })
}

/// Checks that no image is given for a catalog, whose bundles name their images.
fn check_image(image: Option<&str>) -> Result<()> {
    if image.is_some() {
        bail!("--image requires a bundle, found a catalog");
    }
    Ok(())
}

/// The blobs of a bundle's or a catalog's directory.
fn read_directory(
    path: &Path,
    image: Option<&str>,
    rendering: &Rendering,
    invalid: Invalid,
) -> Result<Catalog> {
    if path.join("manifests").is_dir() && path.join("metadata").is_dir() {
        let bundle = disk::bundle::directory(path)?;
        if let Some((file, reason)) = bundle.unreadable() {
            bail!("failed to read {}: {reason}", path.join(&file.path).display());
        }
        if invalid == Invalid::Refused {
            bundle.complete()?;
        }
        let blob = rendering.blob(&bundle, image)?;
        return Ok(Catalog { bundles: vec![blob], ..Catalog::default() });
    }
    let catalog = disk::catalog::read(path)?;
    // opm prints nothing for a directory without blobs.
    if catalog == Catalog::default() && invalid == Invalid::Refused {
        bail!("expected a bundle (manifests/ and metadata/) or a catalog (at least one blob), found neither");
    }
    check_image(image)?;
    Ok(catalog)
}
