//! `bundle-tool catalog`: file-based catalogs in directories.

mod add;
mod diff;
mod explain_upgrade;
mod graph;
mod load;
mod validate;

use anyhow::Result;
use clap::{Args, Subcommand};

use super::exit::Exit;

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
    Diff(diff::Diff),
    ExplainUpgrade(explain_upgrade::ExplainUpgrade),
    Graph(graph::Graph),
    Validate(validate::Validate),
}

impl Catalog {
    pub(super) fn run(self) -> Result<Exit> {
        match self.command {
            Command::Add(command) => command.run(),
            Command::Diff(command) => command.run(),
            Command::ExplainUpgrade(command) => command.run(),
            Command::Graph(command) => command.run(),
            Command::Validate(command) => command.run(),
        }
    }
}
