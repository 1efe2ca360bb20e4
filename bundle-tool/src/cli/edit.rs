//! `bundle-tool edit`: changes what holds for a whole project.

use std::io::{self, Write};

use anyhow::{Result, bail};
use clap::Args;

use super::exit::Exit;
use super::scaffold::{Common, Workspace, finish};
use crate::scaffold::merge::Existing;

#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  # Allow several API groups
  bundle-tool edit --multigroup")]
pub(super) struct Edit {
    /// Allow several API groups
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true", action = clap::ArgAction::Set)]
    multigroup: Option<bool>,
    #[command(flatten)]
    common: Common,
}

impl Edit {
    pub(super) fn run(self) -> Result<Exit> {
        let Some(multigroup) = self.multigroup else { bail!("nothing to change: set --multigroup") };
        let workspace = Workspace::open(&self.common.project_dir)?;
        let mut project = workspace.project.clone();
        if project.multigroup == multigroup {
            writeln!(
                io::stderr(),
                "note: the project is already {}multi-group",
                if multigroup { "" } else { "not " }
            )?;
            return Ok(Exit::Success);
        }
        project.set_multigroup(multigroup)?;
        finish(&workspace.apply(&project, Existing::Reject, &self.common)?)
    }
}
