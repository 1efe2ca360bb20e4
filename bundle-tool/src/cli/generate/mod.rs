//! `bundle-tool generate`: bundles and what goes into them, from plain manifests.

mod bundle;
mod listing;
mod manifests;
mod output;
mod pins;
mod project;

use anyhow::Result;
use clap::{Args, Subcommand};

use super::Exit;

/// Makes a bundle, or a part of one, from plain manifests.
#[derive(Debug, Args)]
pub(super) struct Generate {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Bundle(Box<bundle::Bundle>),
    Listing(listing::Listing),
    Manifests(manifests::Manifests),
}

impl Generate {
    pub(super) fn run(self) -> Result<Exit> {
        match self.what {
            What::Bundle(bundle) => bundle.run(),
            What::Listing(listing) => listing.run(),
            What::Manifests(manifests) => manifests.run(),
        }
    }
}
