//! `bundle-tool validate`: validates bundles and prints the findings.

use std::io::{self, Write};
use std::path::Path;
use std::sync::OnceLock;

use anyhow::{Context as _, Result, anyhow, bail};
use clap::{Args, ValueEnum};
use rayon::prelude::*;

use super::images::{Location, Registries};
use super::suites::SuiteName;
use super::{Exit, print_error, runtime};
use crate::model::Bundle;
use crate::read;
use crate::report::{self, BundleReport, UnreadBundle};
use crate::rules::{self, Selection};

/// Validate bundles against the API server's and OLM's rules
///
/// Errors reproduce rejections by the API server, OLM or operator-sdk. Warnings are not rejected, but likely to cause
/// problems. Exit status: 0 if no finding is an error, 1 if one is, 2 if a bundle could not be read.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct Validate {
    /// Bundles: directories with manifests/ and metadata/, `oci:DIR`, `oci-archive:FILE` or image names
    #[arg(required = true, value_name = "REF")]
    bundles: Vec<String>,
    /// Suites to enable in addition to `bundle`, separated by commas
    #[arg(long, value_delimiter = ',', value_name = "SUITE")]
    suite: Vec<SuiteName>,
    /// Rule to ignore (repeatable)
    #[arg(long, value_name = "RULE")]
    allow: Vec<String>,
    /// Output format
    #[arg(long, short, value_enum, default_value_t = Output::Text)]
    output: Output,
    #[command(flatten)]
    registries: Registries,
}

const EXAMPLES: &str = "\
Examples:
  # Validate the bundle in a directory
  bundle-tool validate ./bundle

  # Validate a bundle image against all suites and print JSON
  bundle-tool validate quay.io/example/gizmo-bundle:v1.2.0 --suite all --output json

  # Validate all bundles of a community catalog, ignoring one rule
  bundle-tool validate operators/*/*/ --suite operatorhubv2 --allow channel-unconventional";

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Output {
    /// One line and its help for each finding
    Text,
    /// One JSON document
    Json,
}

/// The rules that report input which could not be read, and which no other rule looks at then.
const UNREAD_INPUT: [&str; 3] = ["csv-undecodable", "object-undecodable", "yaml-syntax"];

impl Validate {
    pub(super) fn run(self) -> Result<Exit> {
        for id in &self.allow {
            if rules::find(id).is_none() {
                bail!(super::unknown_rule(id));
            }
            if UNREAD_INPUT.contains(&id.as_str()) {
                bail!("rule `{id}` cannot be ignored: input that cannot be read is not validated");
            }
        }
        let selection = Selection { suites: SuiteName::suites(&self.suite), allowed: self.allow.clone() };
        // Each bundle is read, validated and dropped by itself, so that memory does not grow with their number.
        let network = OnceLock::new();
        let results: Vec<_> =
            self.bundles.par_iter().map(|reference| self.validate(reference, &selection, &network)).collect();
        let mut reports = Vec::new();
        let mut unreadable = Vec::new();
        for (reference, result) in self.bundles.iter().zip(results) {
            match result {
                Ok(report) => reports.push(report),
                Err(error) => {
                    print_error(&error)?;
                    unreadable.push(UnreadBundle { path: reference.clone(), message: format!("{error:#}") });
                }
            }
        }
        let mut out = io::BufWriter::new(io::stdout().lock());
        match self.output {
            Output::Text => report::text(&reports, &unreadable, &mut out)?,
            Output::Json => report::json(&reports, &unreadable, &mut out)?,
        }
        out.flush()?;
        Ok(if !unreadable.is_empty() {
            Exit::Failure
        } else if reports.iter().all(BundleReport::passed) {
            Exit::Success
        } else {
            Exit::Findings
        })
    }

    fn validate(
        &self,
        reference: &str,
        selection: &Selection,
        network: &OnceLock<Option<tokio::runtime::Runtime>>,
    ) -> Result<BundleReport> {
        let bundle = match Location::of_image(reference)? {
            None => read_directory(reference)?,
            Some(location) => read_image(reference, &location, &self.registries, network)?,
        };
        Ok(rules::validate(&bundle, selection))
    }
}

/// The bundle in a directory; an error that says what else a reference may be.
fn read_directory(reference: &str) -> Result<Bundle> {
    if reference.is_empty() {
        bail!("empty REF: expected a bundle directory, `oci:DIR`, `oci-archive:FILE` or an image name");
    }
    let path = Path::new(reference);
    read::bundle::directory(path).map_err(|error| {
        let help = if path.is_file() {
            "expected a bundle directory, or `oci-archive:FILE` for an image archive"
        } else if path.exists() {
            return error.into();
        } else {
            "expected a bundle directory, `oci:DIR`, `oci-archive:FILE` or an image name with its registry"
        };
        anyhow!("{:#}; {help}", anyhow::Error::from(error))
    })
}

/// The bundle in an image. The network runtime is started with the first image.
fn read_image(
    reference: &str,
    location: &Location,
    registries: &Registries,
    network: &OnceLock<Option<tokio::runtime::Runtime>>,
) -> Result<Bundle> {
    let network = network.get_or_init(|| runtime().ok()).as_ref();
    let network = network.context("failed to start the network runtime")?;
    let contents = network
        .block_on(location.contents(registries))
        .with_context(|| format!("failed to read {reference}"))?;
    if contents.is_catalog() {
        bail!("{reference} is a catalog image, expected a bundle image");
    }
    Ok(read::bundle::files(reference, &contents.into_bundle()))
}
