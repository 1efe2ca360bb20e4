//! `bundle-tool push`: files, bundles and catalogues as images, to a registry, a folder or an archive.

mod bundle;
mod catalog;
mod image;

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::{Args, Subcommand};

use super::images::{Registries, Target};
use super::{Exit, runtime};
use oci_images::layout::{self, Image};
use oci_images::registry::{Progress, Repository, Resolver};

/// Makes an image and pushes it, or writes it into an OCI layout.
///
/// The same input gives the same digest on every machine. The image by its digest is the one line on standard output.
#[derive(Debug, Args)]
pub(super) struct Push {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Image(image::PushImage),
    Bundle(bundle::PushBundle),
    Catalog(catalog::PushCatalog),
}

impl Push {
    pub(super) fn run(self) -> Result<Exit> {
        match self.command {
            Command::Image(command) => command.run(),
            Command::Bundle(command) => command.run(),
            Command::Catalog(command) => command.run(),
        }
    }
}

/// Where an image goes.
#[derive(Debug, Args)]
struct Destination {
    /// Write the image there instead of pushing it: oci:DIR or oci-archive:FILE
    #[arg(long, value_name = "oci:DIR|oci-archive:FILE")]
    to: Option<Target>,
    /// Also write the image's digest into this file
    #[arg(long, value_name = "FILE")]
    digest_file: Option<PathBuf>,
    #[command(flatten)]
    registries: Registries,
}

impl Destination {
    /// Sends `image` under `name`; layers that are only named come from `base`.
    async fn send(&self, name: &str, image: Image, base: Option<&Repository>) -> Result<()> {
        let reference = Repository::parse(name)?;
        let digest = image.digest().to_string();
        let progress = Progress::new(format!("pushing {name}"));
        let printed = match &self.to {
            None => {
                let repository =
                    Repository::for_writing(&reference, &self.registries.options(), &Resolver::from_env())
                        .await?;
                repository.push(&image, base, &progress).await?.reference
            }
            Some(target) => {
                let image = match base {
                    Some(base) => base.with_layers(image, &progress).await?,
                    None => image,
                };
                let whole = reference.whole();
                match target {
                    Target::Folder(path) => layout::write_directory(path, &image, &whole)?,
                    Target::Archive(path) => layout::write_archive(path, &image, &whole)?,
                }
                format!("{}/{}@{digest}", reference.registry(), reference.repository())
            }
        };
        drop(progress);
        if let Some(path) = &self.digest_file {
            atomic_files::file(path, digest.as_bytes())?;
        }
        let mut out = io::stdout().lock();
        writeln!(out, "{printed}")?;
        out.flush()?;
        Ok(())
    }

    /// [`Destination::send`] for an image that is whole.
    fn send_whole(&self, name: &str, image: Image) -> Result<Exit> {
        runtime()?
            .block_on(self.send(name, image, None))
            .with_context(|| format!("failed to push {name}"))?;
        Ok(Exit::Success)
    }
}
