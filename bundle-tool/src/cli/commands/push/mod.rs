//! `bundle-tool push`: files, bundles and catalogs as images, to a registry, a directory or an archive.

mod annotations;
mod base;
mod bundle;
mod catalog;
mod destination;
mod dockerfile;
mod image;
mod index_image;
mod pair;
mod platforms;
mod provenance;
mod revision;

use anyhow::Result;
use clap::{Args, Subcommand};

use crate::cli::exit::Exit;
pub(crate) use bundle::image as bundle_image;
pub(crate) use destination::{lock_as_spdx, signing_key};
pub(crate) use index_image::{can_serve_itself, index_image};
pub(crate) use provenance::{file_digest, source_revision};

#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  # Build and push the image of a bundle
  bundle-tool push bundle ./bundle quay.io/example/gizmo-bundle:v1.2.0

  # Build and push the index image of a catalog
  bundle-tool push catalog ./catalog quay.io/example/catalog:latest")]
pub(crate) struct Push {
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
    pub(crate) fn run(self) -> Result<Exit> {
        match self.command {
            Command::Image(command) => command.run(),
            Command::Bundle(command) => command.run(),
            Command::Catalog(command) => command.run(),
        }
    }
}
