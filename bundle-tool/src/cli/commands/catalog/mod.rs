//! `bundle-tool catalog`: file-based catalogs in directories.

mod add;
pub(crate) mod contents;
pub(crate) mod convert_template;
mod deprecate;
mod diff;
pub(crate) mod edges;
mod explain_upgrade;
mod fix;
mod graph;
pub(crate) mod list;
pub(crate) mod load;
mod migrate;
pub(crate) mod prune;
mod size;
mod store;
mod template;
pub(crate) mod validate;

use anyhow::Result;
use clap::{Args, Subcommand};

use crate::cli::exit::Exit;

pub(crate) use fix::fix_catalog;
pub(crate) use validate::{Next, check};

#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  # Add a bundle to a catalog, which is created if it does not exist
  bundle-tool catalog add catalog ./bundle \\
    --image quay.io/example/gizmo-bundle:v1.2.0

  # Validate the catalog
  bundle-tool catalog validate catalog

  # Show how OLM upgrades an installed version
  bundle-tool catalog explain-upgrade catalog --package gizmo-operator \\
    --installed 1.1.0")]
pub(crate) struct Catalog {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Add(add::Add),
    /// Convert a catalog to a template
    ConvertTemplate(convert_template::ConvertTemplate),
    Deprecate(deprecate::Deprecate),
    Diff(diff::Diff),
    ExplainUpgrade(explain_upgrade::ExplainUpgrade),
    Graph(graph::Graph),
    /// List the packages, channels, bundles or images of a catalog
    List(list::List),
    Migrate(migrate::Migrate),
    #[command(visible_alias = "filter")]
    Prune(prune::Prune),
    Size(size::Size),
    Template(template::TemplateCommand),
    Validate(validate::Validate),
}

impl Catalog {
    pub(crate) fn run(self) -> Result<Exit> {
        match self.command {
            Command::Add(command) => command.run(),
            Command::ConvertTemplate(command) => command.run(),
            Command::Deprecate(command) => command.run(),
            Command::Diff(command) => command.run(),
            Command::ExplainUpgrade(command) => command.run(),
            Command::Graph(command) => command.run(),
            Command::List(command) => command.run(),
            Command::Migrate(command) => command.run(),
            Command::Size(command) => command.run(),
            Command::Prune(command) => command.run(),
            Command::Template(command) => command.run(),
            Command::Validate(command) => command.run(),
        }
    }
}
