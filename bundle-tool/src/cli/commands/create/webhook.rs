//! `bundle-tool create webhook`: adds webhooks to a kind.

use anyhow::{Result, bail};
use clap::Args;

use crate::cli::exit::Exit;
use crate::cli::scaffold::{Common, Workspace, finish};
use operator_scaffold::Webhooks;
use operator_scaffold::merge::Existing;

/// Add webhooks to a kind of a project
///
/// Webhooks belong to the storage version of the kind. A conversion webhook requires a second version; OLM supports it only in
/// operators that watch all namespaces. Your edits are kept.
///
/// Exit status: 0 on success, 1 if a file was merged with conflicts, 2 on an error, with nothing written.
#[derive(Debug, Args)]
#[command(
    disable_version_flag = true,
    after_long_help = "\
Examples:
  # Add a webhook that sets defaults and one that validates
  bundle-tool create webhook --group travel --version v1 --kind FlightTicket \\
    --defaulting --programmatic-validation

  # Convert between the versions of a kind
  bundle-tool create webhook --group travel --version v1 --kind FlightTicket \\
    --conversion"
)]
pub(crate) struct Webhook {
    /// API group without the domain, such as `cache` for cache.example.com [default: the domain itself]
    #[arg(long, value_name = "GROUP", default_value = "", hide_default_value = true)]
    group: String,
    /// Storage version of the kind
    #[arg(long, value_name = "VERSION")]
    version: String,
    /// Kind
    #[arg(long, value_name = "KIND")]
    kind: String,
    /// Add a webhook that sets defaults
    #[arg(long)]
    defaulting: bool,
    /// Add a webhook that validates
    #[arg(long)]
    programmatic_validation: bool,
    /// Add a webhook that converts between the versions of the kind
    #[arg(long)]
    conversion: bool,
    #[command(flatten)]
    common: Common,
}

impl Webhook {
    pub(crate) fn run(self) -> Result<Exit> {
        let webhooks = Webhooks {
            defaulting: self.defaulting,
            validation: self.programmatic_validation,
            conversion: self.conversion,
        };
        if !webhooks.any() {
            bail!("no webhook specified: pass --defaulting, --programmatic-validation or --conversion");
        }
        let version = self.version.parse()?;
        let workspace = Workspace::open(&self.common.project_dir)?;
        let mut project = workspace.project.clone();
        project.add_webhooks(&self.group, version, &self.kind, webhooks)?;
        finish(&workspace.apply(&project, Existing::Reject, &self.common)?)
    }
}
