//! `bundle-tool run`: installs a bundle on a cluster with OLM.

mod access;
mod bundle;
mod checked;
pub(crate) mod content;
mod dry_run;
mod leftovers;
pub(crate) mod request;
pub(crate) mod source;
pub(crate) mod state;
mod upgrade;
mod v0;
mod v1;

use anyhow::Result;
use clap::{Args, Subcommand};

use crate::cli::exit::Exit;

#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  # Install a bundle directory, without a registry
  bundle-tool run bundle ./bundle --namespace gizmos --create-namespace

  # Upgrade it to the next version
  bundle-tool run bundle-upgrade ./bundle-1.3.0 --namespace gizmos")]
pub(crate) struct Run {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Bundle(Box<bundle::RunBundle>),
    BundleUpgrade(Box<upgrade::RunUpgrade>),
}

impl Run {
    pub(crate) fn run(self) -> Result<Exit> {
        match self.command {
            Command::Bundle(command) => command.run(),
            Command::BundleUpgrade(command) => command.run(),
        }
    }
}
