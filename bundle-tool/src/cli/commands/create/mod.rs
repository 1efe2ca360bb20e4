//! `bundle-tool create`: adds to a project.

mod api;
mod webhook;

use anyhow::Result;
use clap::{Args, Subcommand};

use crate::cli::exit::Exit;

#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  # Add a kind with its controller
  bundle-tool create api --group travel --version v1alpha1 --kind FlightTicket

  # Add a webhook
  bundle-tool create webhook --group travel --version v1alpha1 \\
    --kind FlightTicket --programmatic-validation")]
pub(crate) struct Create {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Api(Box<api::Api>),
    Webhook(webhook::Webhook),
}

impl Create {
    pub(crate) fn run(self) -> Result<Exit> {
        match self.command {
            Command::Api(command) => command.run(),
            Command::Webhook(command) => command.run(),
        }
    }
}
