//! `bundle-tool catalog explain-upgrade`.

use std::io::{self, Write as _};
use std::iter;

use anyhow::{Context as _, Result};
use clap::Args;
use serde_json::{Value as Json, json};

use super::load;
use crate::cli::exit::Exit;
use crate::cli::format::{Format, OutputOption};
use crate::cli::images::RegistryArgs;
use kube_yaml::text::{printable, write_json};
use olm_catalog::upgrade::{Olm, Other, Reason, Step, Upgrades};
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
    format: OutputOption<Format>,
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
        let head_names: Vec<&str> = heads(channel).iter().map(|head| head.name.as_str()).collect();
        let mut explained = Vec::new();
        for (label, olm) in [("v0", Olm::V0), ("v1", Olm::V1)] {
            let upgrades = Upgrades::new(linked, channel, olm);
            let steps = upgrades.path(linked, from, installed.as_ref());
            let last = steps.last().map_or(from, |step| step.to.as_str());
            let version = if steps.is_empty() { installed.as_ref() } else { version_of(last) };
            let end = if head_names.contains(&last) {
                End::Head
            } else {
                match upgrades.next(last, version) {
                    // The path ends where a bundle would be installed again.
                    Some(again) => End::Again(again),
                    None if upgrades.is_kept(last, version) => End::Kept,
                    None => End::NoEntry,
                }
            };
            let mut others = Vec::new();
            let mut at = (from, installed.as_ref());
            for made in steps.iter().map(Some).chain([None]).take(MAX_EXPLAINED) {
                let to = made.map(|step| step.to.as_str());
                let reasons = upgrades.others(at.0, at.1, MAX_EXPLAINED).into_iter().map(|other| {
                    let reason = reason(&other, to);
                    NotMade { from: at.0.to_owned(), step: other.step, reason }
                });
                others.extend(reasons);
                let Some(step) = made else { break };
                at = (step.to.as_str(), version_of(&step.to));
            }
            explained.push(Explained { olm: label, steps, end, others });
        }
        let mut out = io::stdout().lock();
        match self.format.output {
            Format::Text => {
                for one in &explained {
                    one.write(from, name, &mut out)?;
                }
            }
            Format::Json => {
                let document = json!({
                    "version": 1,
                    "package": self.package,
                    "channel": name,
                    "installed": from,
                    "upgrades": explained.iter().map(|one| one.to_json(from)).collect::<Vec<_>>(),
                });
                write_json(&document, &mut out)?;
            }
        }
        out.flush()?;
        let is_complete = explained.iter().all(|one| one.end == End::Head);
        Ok(if is_complete { Exit::Success } else { Exit::Findings })
    }
}

/// The upgrades of an installed bundle by one version of OLM.
struct Explained {
    olm: &'static str,
    steps: Vec<Step>,
    end: End,
    others: Vec<NotMade>,
}

/// Where upgrades end.
#[derive(Debug, PartialEq, Eq)]
enum End {
    /// At the head of the channel.
    Head,
    /// Nowhere: this upgrade leads to a bundle that was installed before.
    Again(Step),
    /// At a bundle that stays installed although it is not the head.
    Kept,
    /// At a bundle that no entry of the channel replaces or skips.
    NoEntry,
}

/// An upgrade that an edge permits, but that is not made, and why.
struct NotMade {
    from: String,
    step: Step,
    reason: String,
}

impl Explained {
    fn write(&self, from: &str, channel: &str, out: &mut impl io::Write) -> io::Result<()> {
        write!(out, "OLM {}: {}", self.olm, printable(from))?;
        for step in &self.steps {
            write!(out, " → {} ({})", printable(&step.to), printable(&step.by.to_string()))?;
        }
        match &self.end {
            End::Head if self.steps.is_empty() => writeln!(out, ": is the head of the channel")?,
            End::Head => writeln!(out, ": reaches the head of the channel")?,
            End::Again(again) => writeln!(
                out,
                ": is upgraded to {} ({}) again: the upgrades never reach the head of the channel",
                printable(&again.to),
                printable(&again.by.to_string())
            )?,
            End::Kept => writeln!(out, ": stays installed")?,
            End::NoEntry => {
                writeln!(out, ": no entry of channel {} replaces or skips it", printable(channel))?;
            }
        }
        for NotMade { from, step, reason } in &self.others {
            let (to, by) = (printable(&step.to), step.by.to_string());
            writeln!(out, "    not {} → {to} ({}): {reason}", printable(from), printable(&by))?;
        }
        Ok(())
    }

    fn to_json(&self, from: &str) -> Json {
        let step =
            |from: &str, step: &Step| json!({ "from": from, "to": step.to, "edge": step.by.to_string() });
        let sources = iter::once(from).chain(self.steps.iter().map(|step| step.to.as_str()));
        let others = self.others.iter().map(|other| {
            let mut json = step(&other.from, &other.step);
            json["reason"] = other.reason.as_str().into();
            json
        });
        let (end, again) = match &self.end {
            End::Head => ("head", None),
            End::Again(again) => ("cycle", Some(again.to.as_str())),
            End::Kept => ("kept", None),
            End::NoEntry => ("no-entry", None),
        };
        json!({
            "olm": self.olm,
            "reachesHead": self.end == End::Head,
            "end": end,
            "again": again,
            "steps": sources.zip(&self.steps).map(|(from, made)| step(from, made)).collect::<Vec<_>>(),
            "notMade": others.collect::<Vec<_>>(),
        })
    }
}

/// Returns a version without the `v` before it.
fn without_v(version: &str) -> &str {
    version.strip_prefix('v').filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit())).unwrap_or(version)
}

/// Returns why another upgrade is not made. The text quotes `made`, the upgrade that is made instead.
fn reason(other: &Other, made: Option<&str>) -> String {
    match (other.reason, made) {
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
    }
}
