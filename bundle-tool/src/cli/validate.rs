//! `bundle-tool validate`: validates bundles and prints the findings.

use std::io::{self, Write};

use anyhow::{Result, bail};
use clap::Args;
use rayon::prelude::*;

use super::bundles;
use super::exit::{Exit, print_error};
use super::format::{Format, OutputOption};
use super::images::Registries;
use super::runtime::SharedRuntime;
use super::suites::{SuiteName, unknown_rule};
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
    #[command(flatten)]
    format: OutputOption<Format>,
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

/// The rules that report input which could not be read, and which no other rule looks at then.
const UNREAD_INPUT: [&str; 3] = ["csv-undecodable", "object-undecodable", "yaml-syntax"];

impl Validate {
    pub(super) fn run(self) -> Result<Exit> {
        for id in &self.allow {
            if rules::find(id).is_none() {
                bail!(unknown_rule(id));
            }
            if UNREAD_INPUT.contains(&id.as_str()) {
                bail!("rule `{id}` cannot be ignored: input that cannot be read is not validated");
            }
        }
        let selection = Selection { suites: SuiteName::suites(&self.suite), allowed: self.allow.clone() };
        // Each bundle is read, validated and dropped by itself, so that memory does not grow with their number.
        let runtime = SharedRuntime::default();
        let validate = |reference: &String| {
            let bundle = bundles::read(reference, &self.registries, &runtime)?;
            Ok(rules::validate(&bundle, &selection))
        };
        let results: Vec<Result<BundleReport>> = self.bundles.par_iter().map(validate).collect();
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
        match self.format.output {
            Format::Text => report::text(&reports, &unreadable, &mut out)?,
            Format::Json => report::json(&reports, &unreadable, &mut out)?,
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
}
