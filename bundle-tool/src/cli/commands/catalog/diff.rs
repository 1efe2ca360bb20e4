//! `bundle-tool catalog diff`.

use std::io::{self, Write};

use anyhow::{Result, bail};
use clap::Args;
use serde_json::json;

use super::load;
use crate::cli::exit::Exit;
use crate::cli::format::{Format, OutputOption};
use crate::cli::images::RegistryArgs;
use kube_yaml::text::{printable, write_json};
use olm_catalog::diff::{Difference, Kind, diff};
use olm_catalog::validate::resolve;

/// Compare two catalogs
///
/// Shows the packages, channels, bundles, upgrade edges and deprecations that are added, removed or changed, and the bundles
/// that no longer reach the head of their channel.
///
/// Exit status: 0 if no bundle loses its upgrade path and no package or channel is removed, 1 otherwise, 2 if a catalog
/// cannot be read, or if the package is in neither of them.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  # Compare the published catalog with the next one
  bundle-tool catalog diff quay.io/example/catalog:latest catalog

  # Also show which upgrades of a package change
  bundle-tool catalog diff quay.io/example/catalog:latest catalog \\
    --package my-operator --upgrades")]
pub(crate) struct Diff {
    /// Catalog before the change: a directory, a file, `oci:DIR`, `oci-archive:FILE`, an image name, or `-` for standard input
    #[arg(value_name = "OLD")]
    old: String,
    /// Catalog after the change
    #[arg(value_name = "NEW")]
    new: String,
    /// Package to compare [default: all]
    #[arg(long, value_name = "NAME")]
    package: Option<String>,
    /// Also show which installed versions would now upgrade to a different version
    #[arg(long)]
    upgrades: bool,
    #[command(flatten)]
    format: OutputOption<Format>,
    #[command(flatten)]
    registries: RegistryArgs,
}

impl Diff {
    pub(crate) fn run(self) -> Result<Exit> {
        if self.old == "-" && self.new == "-" {
            bail!("only one of the catalogs can be read from standard input");
        }
        let old = load::blobs(&self.old, &self.registries)?;
        let new = load::blobs(&self.new, &self.registries)?;
        let ((mut old, _), (mut new, _)) = (resolve(&old), resolve(&new));
        load::select([&mut old, &mut new], self.package.as_deref())?;
        let differences = diff(&old, &new, self.upgrades);
        let mut out = io::BufWriter::new(io::stdout().lock());
        match self.format.output {
            Format::Text => write_text(&differences, &mut out)?,
            Format::Json => {
                write_json(&json!({ "version": 1, "differences": differences }), &mut out)?;
            }
        }
        out.flush()?;
        let is_broken = differences.iter().any(|difference| match difference.kind {
            Kind::Stranded => true,
            Kind::Removed => difference.subject.is_empty() || difference.subject.starts_with("channel "),
            Kind::Added | Kind::Changed => false,
        });
        Ok(if is_broken { Exit::Findings } else { Exit::Success })
    }
}

fn write_text(differences: &[Difference], out: &mut impl Write) -> io::Result<()> {
    let mut package = None;
    for difference in differences {
        let is_package = difference.subject.is_empty();
        let mark = match difference.kind {
            Kind::Added => "+",
            Kind::Removed => "-",
            Kind::Changed => "~",
            Kind::Stranded => "!",
        };
        if is_package {
            writeln!(out, "{mark} package {}", printable(&difference.package))?;
            continue;
        }
        if package != Some(&difference.package) {
            package = Some(&difference.package);
            writeln!(out, "  package {}", printable(&difference.package))?;
        }
        write!(out, "{mark}   {}", printable(&difference.subject))?;
        let (old, new) = (printable(&difference.old), printable(&difference.new));
        match difference.kind {
            Kind::Stranded if new.is_empty() => {
                writeln!(out, ": was upgraded to {old}, is no longer upgraded")?;
            }
            Kind::Stranded => writeln!(out, ": was upgraded to {old}, is now upgraded only to {new}")?,
            Kind::Changed => writeln!(out, ": {} → {}", or_none(&old), or_none(&new))?,
            Kind::Added | Kind::Removed if new.is_empty() => writeln!(out)?,
            Kind::Added | Kind::Removed => writeln!(out, ": {new}")?,
        }
    }
    if differences.is_empty() {
        writeln!(out, "no differences")?;
    }
    Ok(())
}

fn or_none(text: &str) -> &str {
    if text.is_empty() { "(none)" } else { text }
}
