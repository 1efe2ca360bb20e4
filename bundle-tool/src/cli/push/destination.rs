//! Where an image is sent.

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use atomic_files::Pending;
use clap::Args;
use oci_images::layout::{self, Image};
use oci_images::registry::{Progress, Repository, Resolver};

use crate::cli::exit::Exit;
use crate::cli::images::{Registries, Target};
use crate::cli::runtime::runtime;

/// Where an image is sent.
#[derive(Debug, Args)]
pub(super) struct Destination {
    /// Write the image to an OCI layout or archive instead of pushing it
    #[arg(long, value_name = "oci:DIR|oci-archive:FILE")]
    to: Option<Target>,
    /// File to write the image's digest to
    #[arg(long, value_name = "FILE")]
    digest_file: Option<PathBuf>,
    #[command(flatten)]
    pub(super) registries: Registries,
}

impl Destination {
    /// Sends `image` as `name`; layers without their bytes come from `base`.
    pub(super) async fn send(&self, name: &str, image: Image, base: Option<&Repository>) -> Result<()> {
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
    pub(super) fn send_whole(&self, name: &str, image: Image) -> Result<Exit> {
        runtime()?
            .block_on(self.send(name, image, None))
            .with_context(|| format!("failed to push {name}"))?;
        Ok(Exit::Success)
    }
}
