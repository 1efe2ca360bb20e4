//! `bundle-tool push catalog`: a file-based catalog as an index image.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use clap::Args;

use super::destination::Destination;
use crate::cli::catalog::check;
use crate::cli::exit::Exit;
use crate::cli::images::{Location, created};
use crate::cli::runtime::runtime;
use crate::cli::serve::INDEX_FILE;
use crate::read;
use crate::serve::load::{self, LoadError};
use oci_images::labels;
use oci_images::layout::{File, FileMap, Platform, Recipe, Source, architectures, is_static, layer};

/// Where the catalog is in an image.
const CONFIGS: &str = "/configs";

/// Where the index of the catalog is in an image that serves it.
const CACHE: &str = "/cache";

/// The program in an image that serves its catalog.
const PROGRAM: &str = "/bin/bundle-tool";

/// The names under which catalog pods call the program: OLM's probes, and commands that were written for opm.
const LINKS: [&str; 2] = ["/bin/grpc_health_probe", "/bin/opm"];

/// The user of the program, if a pod does not set one. It needs no rights.
const USER: &str = "65532:65532";

/// Build and push the index image of a file-based catalog
///
/// The image is built FROM scratch and serves the catalog: it contains the catalog in /configs, an index of it and this
/// program, which a `CatalogSource` of type grpc starts. It runs with the restricted security context, any user and a
/// read-only root file system.
///
/// With --base, opm in that image serves the catalog, and builds its cache when it starts. With --data-only, the image contains
/// the catalog alone, for clusters that extract it (spec.grpcPodConfig.extractContent) and for OLM v1, which read the other
/// images too.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  # Push a catalog that serves itself
  bundle-tool push catalog catalog quay.io/example/operator-catalog:latest

  # For another architecture, with the program for it
  bundle-tool push catalog catalog quay.io/example/operator-catalog:latest-arm64 --server-binary arm64/bundle-tool

  # Push a catalog that opm serves
  bundle-tool push catalog catalog quay.io/example/operator-catalog:latest \\
    --base quay.io/operator-framework/opm:latest")]
pub(super) struct PushCatalog {
    /// Catalog directory
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Name of the image, such as registry.example.com/name-catalog:latest
    #[arg(value_name = "IMAGE")]
    name: String,
    /// Base image with opm: a name, oci:DIR or oci-archive:FILE
    #[arg(long, value_name = "IMAGE", conflicts_with_all = ["data_only", "server_binary"])]
    base: Option<String>,
    /// Push the catalog without a program that serves it
    #[arg(long, conflicts_with = "server_binary")]
    data_only: bool,
    /// Static bundle-tool binary that serves the catalog [default: the running program]
    #[arg(long, value_name = "FILE")]
    server_binary: Option<PathBuf>,
    /// Platform of the base image or of the program [default: linux/amd64, or the program's]
    #[arg(long, value_name = "OS/ARCH", conflicts_with = "data_only")]
    platform: Option<Platform>,
    /// Push the catalog even if it is invalid
    #[arg(long)]
    no_validate: bool,
    #[command(flatten)]
    destination: Destination,
}

impl PushCatalog {
    pub(super) fn run(self) -> Result<Exit> {
        let created = created()?;
        let sources = read::catalog::sources(&self.directory)?;
        if sources.is_empty() {
            bail!("{} is not a catalog: it contains no file", self.directory.display());
        }
        if !self.no_validate && !check(&self.directory.display().to_string(), sources)? {
            return Ok(Exit::Findings);
        }
        let mut files = FileMap::new();
        files.collect(&self.directory, CONFIGS)?;
        let mut recipe = Recipe {
            labels: [(labels::CONFIGS.to_owned(), CONFIGS.to_owned())].into(),
            created,
            ..Recipe::default()
        };
        if self.data_only {
            recipe.layers.push(layer(&files, created)?);
            return self.destination.send_whole(&self.name, recipe.build()?);
        }
        let Some(base) = &self.base else {
            self.add_server(&mut recipe, files)?;
            return self.destination.send_whole(&self.name, recipe.build()?);
        };
        // opm's cache is below /tmp, which an image with nothing but programs may lack.
        files.add_scratch_directory("/tmp")?;
        recipe.layers.push(layer(&files, created)?);
        // Without --cache-dir, opm builds a new cache at every start, so none can be stale.
        recipe.command = Some(vec!["serve".into(), CONFIGS.into()]);
        let platform = self.platform.clone().unwrap_or_default();
        runtime()?.block_on(async {
            let (image, repository) = Location::parse(base)?
                .open(&platform, &self.destination.registries)
                .await
                .with_context(|| format!("failed to read the base image {base}"))?;
            recipe.base = Some(image);
            self.destination
                .send(&self.name, recipe.build()?, repository.as_ref())
                .await
                .with_context(|| format!("failed to push {}", self.name))
        })?;
        Ok(Exit::Success)
    }

    /// Adds the program that serves the catalog, the catalog and its index.
    fn add_server(&self, recipe: &mut Recipe, mut files: FileMap) -> Result<()> {
        let path = match &self.server_binary {
            Some(path) => path.clone(),
            None => std::env::current_exe()
                .context("failed to find the running program; name it with --server-binary")?,
        };
        let mut program = FileMap::new();
        program.add(PROGRAM, File { source: Source::Disk(path.clone()), executable: true })?;
        recipe.platform = self.program_platform(&path, &program)?;
        for link in LINKS {
            let target = Source::Link(PROGRAM.rsplit('/').next().unwrap_or_default().to_owned());
            program.add(link, File { source: target, executable: false })?;
        }
        match load::build(&self.directory) {
            Ok(index) => {
                let source = Source::Bytes(index);
                files.add(&format!("{CACHE}/{INDEX_FILE}"), File { source, executable: false })?;
            }
            // What is pushed on request cannot be served either; it says so when it starts.
            Err(LoadError::Invalid(_)) if self.no_validate => {
                writeln!(io::stderr(), "warning: the catalog is invalid: the image cannot serve it")?;
            }
            Err(error) => return Err(error).context("failed to build the index of the catalog"),
        }
        // The program's layer comes first: registries and nodes have it already when the catalog changes.
        recipe.layers.push(layer(&program, recipe.created)?);
        recipe.layers.push(layer(&files, recipe.created)?);
        recipe.entrypoint = Some(vec![PROGRAM.into()]);
        recipe.command = Some(["serve", CONFIGS, "--cache-dir", CACHE].map(str::to_owned).into());
        recipe.user = Some(USER.to_owned());
        recipe.env.insert("PATH".to_owned(), "/bin".to_owned());
        Ok(())
    }

    /// Returns the platform of the program, which must run without any other file.
    fn program_platform(&self, path: &Path, program: &FileMap) -> Result<Platform> {
        let shown = path.display();
        let Some(architecture) = architectures(program)?.into_iter().next() else {
            bail!(
                "{shown} is not a Linux program: name the static bundle-tool for Linux with --server-binary, or use --base or --data-only"
            );
        };
        if !is_static(path)? {
            bail!(
                "{shown} is dynamically linked and does not start in an image FROM scratch: name a static bundle-tool (built for a musl target) with --server-binary, or use --base or --data-only"
            );
        }
        let found = Platform { architecture: architecture.to_owned(), ..Platform::default() };
        match &self.platform {
            Some(wanted) if wanted.os != found.os || wanted.architecture != found.architecture => {
                bail!(
                    "requested platform {wanted}, but {shown} targets {found}: name the program for {wanted} with --server-binary"
                )
            }
            Some(wanted) => Ok(wanted.clone()),
            None => Ok(found),
        }
    }
}
