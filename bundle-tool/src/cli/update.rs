//! `bundle-tool update`: merges this version's scaffold into a project.

use std::io::{self, Write};

use anyhow::Result;
use clap::Args;

use super::exit::Exit;
use super::scaffold::{Common, Workspace, finish};
use crate::scaffold::merge::Existing;

/// Merge the scaffold of this version of bundle-tool into a project
///
/// Compares what was last scaffolded (.scaffold.yaml) with what this version would write, and merges the difference into
/// the project's files. What you have edited or deleted is preserved. The copy of operator-runtime is not merged: files that you have not
/// edited are replaced, or written again if you have deleted them. Where both changed the same lines, the file holds both
/// between conflict markers. In a git work tree, all changes must be committed.
///
/// Exit status: 0 on success, 1 if a file was merged with conflicts or an edited file of the copy is outdated, 2 on an error, with nothing written.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  # Update the project in the current directory, and show what changed
  bundle-tool update && git diff")]
pub(super) struct Update {
    #[command(flatten)]
    common: Common,
}

impl Update {
    pub(super) fn run(self) -> Result<Exit> {
        let workspace = Workspace::open(&self.common.project_dir)?;
        let project = workspace.project.clone();
        let plan = workspace.apply(&project, Existing::Mark, &self.common)?;
        if plan.is_empty() && !self.common.quiet {
            writeln!(io::stderr(), "the scaffold is up to date")?;
        }
        finish(&plan)
    }
}
