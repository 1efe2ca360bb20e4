//! `bundle-tool run bundle-upgrade`: upgrades an operator that `run bundle` installed.

use anyhow::Result;
use clap::Args;

use super::super::exit::Exit;
use super::bundle::{Common, RunBundle};

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
    #[command(flatten)]
    common: Common,
}

impl RunUpgrade {
    pub(in super::super) fn run(self) -> Result<Exit> {
        RunBundle::upgrade(self.common).run()
    }
}
