//! `bundle-tool edit`: changes what holds for a whole project.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;

use crate::cli::exit::Exit;
use crate::cli::scaffold::{Common, Workspace, finish, runtime_in};
use crate::terminal::{NOTE, messages};
use operator_scaffold::Runtime;
use operator_scaffold::merge::Existing;

#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  # Allow several API groups
  bundle-tool edit --multigroup

  # Build with a checkout of operator-runtime in place of the copy
  bundle-tool edit --runtime-path ../operator-runtime")]
pub(crate) struct Edit {
    /// Allow several API groups
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true", action = clap::ArgAction::Set)]
    multigroup: Option<bool>,
    /// Use the operator-runtime crate in this directory
    #[arg(long, value_name = "DIR")]
    runtime_path: Option<PathBuf>,
    /// Use a copy of the operator-runtime crate in the project's runtime directory
    #[arg(long, conflicts_with = "runtime_path")]
    vendor_runtime: bool,
    #[command(flatten)]
    common: Common,
}

impl Edit {
    pub(crate) fn run(self) -> Result<Exit> {
        if self.multigroup.is_none() && self.runtime_path.is_none() && !self.vendor_runtime {
            bail!("nothing to change: pass --multigroup, --runtime-path or --vendor-runtime");
        }
        let workspace = Workspace::open(&self.common.project_dir)?;
        let mut project = workspace.project.clone();
        if let Some(path) = &self.runtime_path {
            project.runtime = runtime_in(path, &self.common.project_dir)?;
        } else if self.vendor_runtime {
            project.runtime = Runtime::Vendored;
        }
        if let Some(multigroup) = self.multigroup {
            project.set_multigroup(multigroup)?;
        }
        if project == workspace.project {
            writeln!(messages(), "{NOTE} the project already has these settings")?;
            return Ok(Exit::Success);
        }
        finish(&workspace.apply(&project, Existing::Reject, &self.common)?)
    }
}
