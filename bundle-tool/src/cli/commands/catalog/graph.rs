//! `bundle-tool catalog graph`.

use std::io::{self, Write as _};

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};

use super::load;
use crate::cli::exit::Exit;
use crate::cli::format::{Formats, OutputOption};
use crate::cli::images::RegistryArgs;
use olm_catalog::graph;
use olm_catalog::graph::{Drawing, Installed};
use olm_catalog::upgrade::Olm;
use olm_catalog::validate::{Packages, resolve};

/// Show the upgrade graph of a catalog
///
/// The catalog may be invalid: a graph with several heads or a cycle is shown as it is.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  # Show the channels of a package in the terminal, the newest bundle first
  bundle-tool catalog graph ./catalog --package my-operator

  # Write a page in which the upgrades from each bundle can be followed
  bundle-tool catalog graph ./catalog --output html > graph.html

  # Draw a package, and highlight the upgrades from version 1.0.0
  bundle-tool catalog graph ./catalog --package my-operator --output svg \\
    --installed 1.0.0 > graph.svg

  # Draw one channel with Graphviz
  bundle-tool catalog graph ./catalog --package my-operator --output dot |
    dot -Tsvg > graph.svg")]
pub(crate) struct Graph {
    /// Catalog: a directory, a file, `oci:DIR`, `oci-archive:FILE`, an image name, or `-` for standard input
    #[arg(value_name = "REF")]
    catalog: String,
    /// Package to show [default: all]
    #[arg(long, value_name = "NAME")]
    package: Option<String>,
    /// Channel to show [default: all]
    #[arg(long, value_name = "NAME")]
    channel: Option<String>,
    /// Highlight the upgrades from this installed bundle (name or version; svg only)
    #[arg(long, value_name = "BUNDLE|VERSION", alias = "from")]
    installed: Option<String>,
    /// Version of OLM whose upgrades are highlighted
    #[arg(long, value_name = "VERSION", default_value = "v0", requires = "installed")]
    olm: Resolver,
    #[command(flatten)]
    format: OutputOption<Output>,
    #[command(flatten)]
    registries: RegistryArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Output {
    /// One line for each entry of a channel
    Text,
    /// One JSON document
    Json,
    /// A Mermaid flowchart
    Mermaid,
    /// A Graphviz graph
    Dot,
    /// A drawing of one package
    Svg,
    /// A self-contained page for browsers, with zoom and search
    Html,
}

/// Which OLM resolves upgrades.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Resolver {
    /// Subscriptions
    V0,
    /// Cluster extensions
    V1,
}

impl Formats for Output {
    const DEFAULT: &'static str = "text";
}

impl Graph {
    pub(crate) fn run(self) -> Result<Exit> {
        let blobs = load::blobs(&self.catalog, &self.registries)?;
        if blobs.is_empty() {
            load::warn_of_empty(&self.catalog)?;
        }
        let (mut packages, _) = resolve(&blobs);
        load::select([&mut packages], self.package.as_deref())?;
        if let Some(channel) = self.channel.as_deref() {
            load::require_channel(&packages, channel)?;
            for linked in packages.values_mut() {
                linked.channels.retain(|name, _| *name == channel);
            }
            packages.retain(|_, linked| !linked.channels.is_empty());
        }
        if self.installed.is_some() && self.format.output != Output::Svg {
            bail!(
                "--installed requires --output svg; with --output html, select the bundle in the page instead"
            );
        }
        let text = match self.format.output {
            Output::Text => graph::text(&packages),
            Output::Json => graph::json(&packages)?,
            Output::Mermaid => graph::mermaid(&packages),
            Output::Dot => graph::dot(&packages),
            Output::Svg => self.svg(&packages)?,
            Output::Html => {
                // The page may be published: it does not say where the catalog was on this machine.
                let name = self.catalog.trim_end_matches('/');
                let is_path = std::path::Path::new(name).exists();
                graph::page(name.rsplit('/').next().filter(|_| is_path).unwrap_or(name), &packages)?
            }
        };
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes())?;
        out.flush()?;
        Ok(Exit::Success)
    }

    fn svg(&self, packages: &Packages<'_>) -> Result<String> {
        let mut all = packages.values();
        let (Some(linked), None) = (all.next(), all.next()) else {
            bail!(
                "a drawing shows one package, but the catalog has {}: select one with --package, or pass --output html",
                packages.len()
            );
        };
        let olm = match self.olm {
            Resolver::V0 => Olm::V0,
            Resolver::V1 => Olm::V1,
        };
        let from = self.installed.as_deref().map(|bundle| Installed { bundle, olm });
        Ok(graph::svg(linked, &Drawing { from })?)
    }
}
