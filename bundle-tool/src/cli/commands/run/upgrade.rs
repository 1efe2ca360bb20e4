//! `bundle-tool run bundle-upgrade`: upgrades an operator that `run bundle` installed.

use anyhow::Result;
use clap::Args;

use super::bundle::{Olm, RunBundle};
use super::request::Common;
use crate::cli::exit::Exit;

/// Upgrade an operator that `run bundle` installed to another bundle
///
/// The bundle becomes the direct successor of the installed version, whichever that is, in a catalog of its own. What
/// the upgrade changes and breaks is printed first; an upgrade that breaks existing objects requires --force. With OLM
/// v1, the configuration of the cluster extension is kept, and CRDs are compared as OLM v1 compares them; --force
/// disables that check of OLM v1.
///
/// Exit status: 0 if the operator is upgraded, 2 otherwise.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  # Upgrade from a directory
  bundle-tool run bundle-upgrade ./bundle --namespace gizmos

  # Upgrade to a bundle image
  bundle-tool run bundle-upgrade quay.io/example/gizmo-bundle:v1.3.0 \\
    --namespace gizmos

  # Upgrade an operator that was installed with OLM v1
  bundle-tool run bundle-upgrade ./bundle --olm v1 --namespace gizmos \\
    --push-to registry.example.com/gizmo-bundle")]
pub(crate) struct RunUpgrade {
    /// Version of OLM that the operator was installed with; v1 requires --push-to
    #[arg(long, value_name = "VERSION", value_enum, default_value_t = Olm::V0)]
    olm: Olm,
    #[command(flatten)]
    common: Common,
}

impl RunUpgrade {
    pub(crate) fn run(self) -> Result<Exit> {
        RunBundle::upgrade(self.common, self.olm).run()
    }
}
