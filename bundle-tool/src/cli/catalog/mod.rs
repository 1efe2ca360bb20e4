//! `bundle-tool catalog`: file-based catalogs in directories.

mod add;
mod validate;

use anyhow::Result;
use clap::{Args, Subcommand};

use super::Exit;

pub(super) use validate::check;

/// Work with file-based catalogs
#[derive(Debug, Args)]
pub(super) struct Catalog {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Add(add::Add),
    Validate(validate::Validate),
}

impl Catalog {
    pub(super) fn run(self) -> Result<Exit> {
        match self.command {
            Command::Add(command) => command.run(),
            Command::Validate(command) => command.run(),
        }
    }
}
