//! `bundle-tool update`: merges this version's scaffold into a project.

use std::io::Write;

use anyhow::Result;
use clap::Args;

use crate::cli::exit::Exit;
use crate::cli::scaffold::{Common, Workspace, finish};
use crate::terminal::messages;
use operator_scaffold::merge::Existing;

#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  # Update the project in the current directory, and show what changed
  bundle-tool update && git diff")]
pub(crate) struct Update {
    #[command(flatten)]
    common: Common,
}

impl Update {
    pub(crate) fn run(self) -> Result<Exit> {
        let workspace = Workspace::open(&self.common.project_dir)?;
        let project = workspace.project.clone();
        let plan = workspace.apply(&project, Existing::Mark, &self.common)?;
        if plan.is_empty() {
            writeln!(messages(), "the scaffold is up to date")?;
        }
        finish(&plan)
    }
}
