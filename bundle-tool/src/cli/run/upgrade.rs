//! `bundle-tool run bundle-upgrade`: upgrades an operator that `run bundle` installed.

use std::time::Duration;

use anyhow::Result;
use clap::Args;

use super::super::cluster::Connection;
use super::super::exit::Exit;
use super::super::images::duration;
use super::bundle::{Access, Pods, RunBundle};

/// Upgrade an operator that `run bundle` installed to another bundle
///
/// The installed version may be any: the bundle becomes its direct successor in a catalog of its own. What the upgrade changes
/// and breaks is printed first; an upgrade that breaks existing objects needs --force.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  # Upgrade from a directory
  bundle-tool run bundle-upgrade ./bundle --namespace gizmos

  # Upgrade to a bundle image
  bundle-tool run bundle-upgrade quay.io/example/gizmo-bundle:v1.3.0 --namespace gizmos")]
pub(in super::super) struct RunUpgrade {
    /// Bundle: a directory, `oci:DIR`, `oci-archive:FILE` or an image
    #[arg(value_name = "REF")]
    reference: String,
    /// Channel of the subscription [default: the bundle's default channel]
    #[arg(long, value_name = "NAME")]
    channel: Option<String>,
    /// Push the bundle to this repository, and an index image beside it
    #[arg(long, value_name = "REGISTRY/REPO[:TAG]")]
    push_to: Option<String>,
    /// Upgrade even if a check fails, or if the upgrade breaks existing objects
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    pods: Pods,
    /// Maximum time for everything
    #[arg(long, value_name = "DURATION", default_value = "10m", value_parser = duration)]
    timeout: Duration,
    #[command(flatten)]
    connection: Connection,
    #[command(flatten)]
    access: Access,
}

impl RunUpgrade {
    pub(in super::super) fn run(self) -> Result<Exit> {
        RunBundle::upgrade(
            self.reference,
            self.channel,
            self.push_to,
            self.force,
            self.timeout,
            (self.pods, self.connection, self.access),
        )
        .run()
    }
}
