//! `bundle-tool catalog explain-upgrade`.

use std::io::{self, Write as _};

use anyhow::{Context as _, Result};
use clap::Args;

use super::load;
use crate::cli::exit::Exit;
use crate::cli::images::RegistryArgs;
use kube_yaml::text::printable;
use olm_catalog::upgrade::{Olm, Other, Reason, Upgrades};
use olm_catalog::validate::{heads, resolve};
use olm_model::version;

/// How many steps are explained, and how many other upgrades of each.
const MAX_EXPLAINED: usize = 10;

/// Show how OLM upgrades an installed bundle
///
/// Shows each upgrade by OLM v0 (subscriptions) and OLM v1 (cluster extensions) within a channel, the edge that permits it, and
/// why OLM does not perform the other upgrades that an edge permits.
///
/// Exit status: 0 if both versions of OLM reach the head of the channel, 1 if one does not, 2 if the catalog cannot be read.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  # Show the upgrades from version 1.0.0 in the default channel
  bundle-tool catalog explain-upgrade ./catalog \\
    --package my-operator --installed 1.0.0

  # Show the upgrades of a bundle that is no longer in the catalog
  bundle-tool catalog explain-upgrade ./catalog --package my-operator \\
    --installed my-operator.v0.9.0")]
pub(crate) struct ExplainUpgrade {
    /// Catalog: a directory, a file, `oci:DIR`, `oci-archive:FILE`, an image name, or `-` for standard input
    #[arg(value_name = "REF")]
    catalog: String,
    /// Package of the bundle
    #[arg(long, value_name = "NAME")]
    package: String,
    /// Channel to follow [default: the default channel of the package]
    #[arg(long, value_name = "NAME")]
    channel: Option<String>,
    /// Installed bundle: its name or version
    #[arg(long, value_name = "BUNDLE|VERSION", alias = "from")]
    installed: String,
    #[command(flatten)]
    registries: RegistryArgs,
}

impl ExplainUpgrade {
    pub(crate) fn run(self) -> Result<Exit> {
        let blobs = load::blobs(&self.catalog, &self.registries)?;
        let (mut packages, _) = resolve(&blobs);
        load::select([&mut packages], Some(&self.package))?;
        let linked = packages.get(self.package.as_str()).context("the package is not in the catalog")?;
        let name = self.channel.as_deref().unwrap_or(&linked.package.default_channel);
        let channel = linked.channel(name)?;
        // A name, or the version of a bundle, which tags of images and of git begin with `v`.
        let wanted = without_v(&self.installed);
        let by_version =
            linked.bundles.values().find(|bundle| bundle.version_and_release().as_deref() == Some(wanted));
        let (from, installed) = match (linked.bundles.get(self.installed.as_str()), by_version) {
            (Some(bundle), _) | (None, Some(bundle)) => (bundle.name.as_str(), bundle.version.clone()),
            // A bundle that the catalog does not have may be replaced or skipped nevertheless.
            (None, None) => {
                let version = self.installed.split_once(".v").map_or(wanted, |(_, version)| version);
                (self.installed.as_str(), version::strict(version).ok())
            }
        };
        let version_of = |name: &str| linked.bundles.get(name).and_then(|bundle| bundle.version.as_ref());
        let mut out = io::stdout().lock();
        let mut exit = Exit::Success;
        let head_names: Vec<&str> = heads(channel).iter().map(|head| head.name.as_str()).collect();
        for (label, olm) in [("OLM v0", Olm::V0), ("OLM v1", Olm::V1)] {
            let upgrades = Upgrades::new(linked, channel, olm);
            let steps = upgrades.path(linked, from, installed.as_ref());
            write!(out, "{label}: {}", printable(from))?;
            for step in &steps {
                write!(out, " → {} ({})", printable(&step.to), printable(&step.by.to_string()))?;
            }
            let last = steps.last().map_or(from, |step| step.to.as_str());
            if head_names.contains(&last) {
                writeln!(
                    out,
                    ": {}",
                    if steps.is_empty() {
                        "is the head of the channel"
                    } else {
                        "reaches the head of the channel"
                    }
                )?;
            } else {
                exit = Exit::Findings;
                let version = if steps.is_empty() { installed.as_ref() } else { version_of(last) };
                match upgrades.next(last, version) {
                    // The path ends where a bundle would be installed again.
                    Some(again) => writeln!(
                        out,
                        ": is upgraded to {} ({}) again: the upgrades never reach the head of the channel",
                        printable(&again.to),
                        printable(&again.by.to_string())
                    )?,
                    None if upgrades.is_kept(last, version) => {
                        writeln!(out, ": stays installed")?;
                    }
                    None => {
                        writeln!(out, ": no entry of channel {} replaces or skips it", printable(name))?;
                    }
                }
            }
            let mut at = (from, installed.as_ref());
            for made in steps.iter().map(Some).chain([None]).take(MAX_EXPLAINED) {
                for other in upgrades.others(at.0, at.1, MAX_EXPLAINED) {
                    explain(at.0, &other, made.map(|step| step.to.as_str()), &mut out)?;
                }
                let Some(step) = made else { break };
                at = (step.to.as_str(), version_of(&step.to));
            }
        }
        out.flush()?;
        Ok(exit)
    }
}

/// Returns a version without the `v` before it.
fn without_v(version: &str) -> &str {
    version.strip_prefix('v').filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit())).unwrap_or(version)
}

/// Writes why another upgrade is not made.
fn explain(from: &str, other: &Other, made: Option<&str>, out: &mut impl io::Write) -> io::Result<()> {
    let reason = match (other.reason, made) {
        (Reason::Skipped, _) => "another entry skips it".to_owned(),
        (Reason::Unreached | Reason::Farther | Reason::Lower, None) | (Reason::Unreached, _) => {
            "`replaces` does not lead to it from the head of the channel".to_owned()
        }
        (Reason::Farther, Some(made)) => format!("{} is nearer to the head of the channel", printable(made)),
        (Reason::Lower, Some(made)) => format!("{} has a higher version", printable(made)),
        (Reason::Deprecated, Some(made)) => format!("it is deprecated, and {} is not", printable(made)),
        (Reason::Deprecated, None) => "it is deprecated, and the installed version is not".to_owned(),
        (Reason::InstalledPreferred, _) => {
            "the installed version stays a candidate and is preferred".to_owned()
        }
    };
    let (to, by) = (printable(&other.step.to), other.step.by.to_string());
    writeln!(out, "    not {} → {to} ({}): {reason}", printable(from), printable(&by))
}
