//! `bundle-tool push`: files, bundles and catalogs as images, to a registry, a directory or an archive.

mod bundle;
mod catalog;
mod image;

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use atomic_files::Pending;
use clap::{Args, Subcommand};

use super::images::{Registries, Target};
use super::{Exit, runtime};
pub(super) use bundle::image as bundle_image;
use oci_images::layout::{self, Image};
use oci_images::registry::{Progress, Repository, Resolver};

/// Build an image and push it to a registry, or write it to an OCI layout
///
/// The same input gives the same digest on every machine. Prints the image's name by digest.
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

/// Where an image is sent.
#[derive(Debug, Args)]
struct Destination {
    /// Write the image to an OCI layout or archive instead of pushing it
    #[arg(long, value_name = "oci:DIR|oci-archive:FILE")]
    to: Option<Target>,
    /// File to write the image's digest to
    #[arg(long, value_name = "FILE")]
    digest_file: Option<PathBuf>,
    #[command(flatten)]
    registries: Registries,
}

impl Destination {
    /// Sends `image` as `name`; layers without their bytes come from `base`.
    async fn send(&self, name: &str, image: Image, base: Option<&Repository>) -> Result<()> {
        let reference = Repository::parse(name)?;
        let digest = image.digest().to_string();
        // Opened first: an image is not pushed if its digest cannot be written.
        let digest_file = self.digest_file.as_deref().map(Pending::new).transpose()?;
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
                    Target::Directory(path) => layout::write_directory(path, &image, &whole)?,
                    Target::Archive(path) => layout::write_archive(path, &image, &whole)?,
                }
                format!("{}/{}@{digest}", reference.registry(), reference.repository())
            }
        };
        drop(progress);
        if let Some(mut file) = digest_file {
            file.append(digest.as_bytes())?;
            file.commit()?;
        }
        let mut out = io::stdout().lock();
        writeln!(out, "{printed}")?;
        out.flush()?;
        Ok(())
    }

    /// [`Destination::send`] for an image that has all of its layers.
    fn send_whole(&self, name: &str, image: Image) -> Result<Exit> {
        runtime()?
            .block_on(self.send(name, image, None))
            .with_context(|| format!("failed to push {name}"))?;
        Ok(Exit::Success)
    }
}
