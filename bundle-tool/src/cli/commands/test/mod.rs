//! `bundle-tool test`: tests operators on a cluster.

mod edges;
mod examples;
mod report;
mod upgrade;

use anyhow::Result;
use clap::{Args, Subcommand};

use crate::cli::exit::Exit;

#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  # Test the upgrade between two bundle directories, without a registry
  bundle-tool test upgrade bundle-1.2.0 bundle-1.3.0")]
pub(crate) struct Test {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Upgrade(Box<upgrade::TestUpgrade>),
}

impl Test {
    pub(crate) fn run(self) -> Result<Exit> {
        match self.command {
            Command::Upgrade(command) => command.run(),
        }
    }
}
