//! `bundle-tool validate`: judges bundles and prints the findings.

use std::io::{self, Write};
use std::path::Path;
use std::sync::{LazyLock, OnceLock};

use anyhow::{Context as _, Result, anyhow, bail};
use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};
use rayon::prelude::*;

use super::images::{Location, Registries};
use super::{Exit, print_error, runtime};
use crate::model::Bundle;
use crate::read;
use crate::report::{self, BundleReport, Suite, UnreadBundle};
use crate::rules::{self, Selection};

/// Judges bundles as the API server, OLM and the listings would.
///
/// Exit status: 0 where nothing of severity error was found, 1 where something was, 2 where a path could not be read.
#[derive(Debug, Args)]
pub(super) struct Validate {
    /// Bundles: folders with manifests/ and metadata/, `oci:DIR`, `oci-archive:FILE` or names of images
    #[arg(required = true, value_name = "REF")]
    bundles: Vec<String>,
    /// Suites beside `bundle`, separated by commas; `all` for every one
    #[arg(long, value_delimiter = ',', value_name = "SUITE")]
    suite: Vec<SuiteName>,
    /// A rule that is not asked; may be given several times
    #[arg(long, value_name = "RULE")]
    allow: Vec<String>,
    /// How findings are printed
    #[arg(long, short, value_enum, default_value_t = Output::Text)]
    output: Output,
    #[command(flatten)]
    registries: Registries,
}

/// What `--suite` takes: a suite, or all of them.
#[derive(Debug, Clone, Copy)]
enum SuiteName {
    All,
    One(Suite),
}

impl ValueEnum for SuiteName {
    fn value_variants<'a>() -> &'a [Self] {
        static NAMES: LazyLock<Vec<SuiteName>> = LazyLock::new(|| {
            let one = Suite::value_variants().iter().copied().map(SuiteName::One);
            one.chain([SuiteName::All]).collect()
        });
        &NAMES
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self {
            Self::All => Some(PossibleValue::new("all").help("Every one of them")),
            Self::One(suite) => suite.to_possible_value(),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Output {
    /// For people
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
        let selection = Selection { suites: self.suites(), allowed: self.allow.clone() };
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

    fn suites(&self) -> Vec<Suite> {
        let named = self.suite.iter().flat_map(|name| match name {
            SuiteName::All => Suite::value_variants().to_vec(),
            SuiteName::One(suite) => vec![*suite],
        });
        named.collect()
    }
}

/// The bundle in a directory; an error that says what else a reference may be.
fn read_directory(reference: &str) -> Result<Bundle> {
    let path = Path::new(reference);
    read::bundle::folder(path).map_err(|error| {
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

/// The bundle in an image. The threads that wait for the network are started with the first image.
fn read_image(
    reference: &str,
    location: &Location,
    registries: &Registries,
    network: &OnceLock<Option<tokio::runtime::Runtime>>,
) -> Result<Bundle> {
    let network = network.get_or_init(|| runtime().ok()).as_ref();
    let network = network.context("failed to start the threads that wait for the network")?;
    let contents = network
        .block_on(location.contents(registries))
        .with_context(|| format!("failed to read {reference}"))?;
    if contents.is_catalog() {
        bail!("{reference} is the image of a catalogue, not of a bundle");
    }
    Ok(read::bundle::files(reference, &contents.into_bundle()))
}
