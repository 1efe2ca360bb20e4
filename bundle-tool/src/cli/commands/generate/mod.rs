//! `bundle-tool generate`: bundles and what belongs to them, from plain manifests.

mod bundle;
mod description;
mod files;
mod input;
mod manifests;
mod output;
mod pins;
mod project;
mod submission;

use anyhow::Result;
use clap::{Args, Subcommand};

pub(crate) use bundle::{OperatorSdk, SdkBundle, is_virtual};
pub(crate) use manifests::{new_base, project};
pub(crate) use output::notes;
pub(crate) use project::{parse_project, read_project};

use crate::cli::exit::Exit;

#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  # Create the base CSV of a project
  bundle-tool generate manifests

  # Generate a bundle from the manifests of a kustomize project
  kustomize build config/manifests |
    bundle-tool generate bundle --version 1.2.0")]
pub(crate) struct Generate {
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
    pub(crate) fn run(self) -> Result<Exit> {
        match self.what {
            What::Bundle(bundle) => bundle.run(),
            What::Manifests(manifests) => manifests.run(),
            What::Submission(submission) => submission.run(),
        }
    }
}

/// Runs `generate bundle` with flags, as operator-sdk does.
pub(crate) fn bundle_as_operator_sdk(flags: Vec<String>, sdk: OperatorSdk) -> Result<SdkBundle> {
    use clap::FromArgMatches as _;
    let command = bundle::Bundle::augment_args(clap::Command::new("bundle").no_binary_name(true));
    let matches = command.try_get_matches_from(flags)?;
    bundle::Bundle::from_arg_matches(&matches)?.run_as_operator_sdk(sdk)
}
