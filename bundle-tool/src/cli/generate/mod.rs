//! `bundle-tool generate`: bundles and what belongs to them, from plain manifests.

mod bundle;
mod files;
mod input;
mod manifests;
mod output;
mod pins;
mod project;
mod submission;

use anyhow::Result;
use clap::{Args, Subcommand};

pub(super) use bundle::is_virtual;
pub(super) use manifests::{project, write_base};

use super::exit::Exit;

#[derive(Debug, Args)]
pub(super) struct Generate {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Bundle(Box<bundle::Bundle>),
    Manifests(manifests::Manifests),
    Submission(submission::Submission),
}

impl Generate {
    pub(super) fn run(self) -> Result<Exit> {
        match self.what {
            What::Bundle(bundle) => bundle.run(),
            What::Manifests(manifests) => manifests.run(),
            What::Submission(submission) => submission.run(),
        }
    }
}
