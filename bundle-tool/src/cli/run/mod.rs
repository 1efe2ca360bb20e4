//! `bundle-tool run`: installs a bundle on a cluster with OLM.

mod access;
mod bundle;
mod checked;
pub(super) mod content;
mod preview;
pub(super) mod request;
pub(super) mod source;
pub(super) mod state;
mod unfinished;
mod upgrade;
mod v0;
mod v1;

use anyhow::Result;
use clap::{Args, Subcommand};

use super::exit::Exit;

#[derive(Debug, Args)]
pub(super) struct Run {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Bundle(Box<bundle::RunBundle>),
    BundleUpgrade(Box<upgrade::RunUpgrade>),
}

impl Run {
    pub(super) fn run(self) -> Result<Exit> {
        match self.command {
            Command::Bundle(command) => command.run(),
            Command::BundleUpgrade(command) => command.run(),
        }
    }
}
