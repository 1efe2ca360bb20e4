//! `bundle-tool catalog graph`.

use std::io::{self, Write as _};

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};

use super::load;
use crate::catalog::graph;
use crate::catalog::validate::link;
use crate::cli::exit::Exit;
use crate::cli::format::{Formats, OutputOption};
use crate::cli::images::Registries;

/// Show the upgrade graph of a catalog
///
/// The catalog may be invalid: a graph with several heads or a cycle is shown as it is.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  # Show the channels of a package in the terminal, the newest bundle first
  bundle-tool catalog graph catalog --package my-operator

  # Draw one channel with Graphviz
  bundle-tool catalog graph catalog --package my-operator --channel stable --output dot | dot -Tsvg > graph.svg")]
pub(super) struct Graph {
    /// Catalog: a directory, a file, `oci:DIR`, `oci-archive:FILE`, an image name, or `-` for standard input
    #[arg(value_name = "REF")]
    catalog: String,
    /// Package to show [default: all]
    #[arg(long, value_name = "NAME")]
    package: Option<String>,
    /// Channel to show [default: all]
    #[arg(long, value_name = "NAME")]
    channel: Option<String>,
    #[command(flatten)]
    format: OutputOption<Output>,
    #[command(flatten)]
    registries: Registries,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Output {
    /// One line for each entry of a channel
    Text,
    /// A Mermaid flowchart
    Mermaid,
    /// A Graphviz graph
    Dot,
}

impl Formats for Output {
    const DEFAULT: &'static str = "text";
}

impl Graph {
    pub(super) fn run(self) -> Result<Exit> {
        let blobs = load::blobs(&self.catalog, &self.registries)?;
        let (mut packages, _) = link(&blobs);
        load::select(&mut packages, self.package.as_deref())?;
        if let Some(channel) = self.channel.as_deref() {
            for linked in packages.values_mut() {
                linked.channels.retain(|name, _| *name == channel);
            }
            packages.retain(|_, linked| !linked.channels.is_empty());
            if packages.is_empty() {
                bail!("channel `{channel}` is not in the catalog");
            }
        }
        let text = match self.format.output {
            Output::Text => graph::text(&packages),
            Output::Mermaid => graph::mermaid(&packages),
            Output::Dot => graph::dot(&packages),
        };
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes())?;
        out.flush()?;
        Ok(Exit::Success)
    }
}
