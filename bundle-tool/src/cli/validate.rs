//! `bundle-tool validate`: judges bundles and prints the findings.

use std::io::{self, Write};
use std::path::Path;
use std::sync::{LazyLock, OnceLock};

use anyhow::{Context as _, Result, bail};
use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};
use rayon::prelude::*;

use super::images::{Location, Registries};
use super::{Exit, runtime};
use crate::model::Bundle;
use crate::read;
use crate::report::{self, BundleReport, Suite};
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

impl Validate {
    pub(super) fn run(self) -> Result<Exit> {
        if let Some(unknown) = self.allow.iter().find(|id| rules::find(id).is_none()) {
            bail!("there is no rule '{unknown}'; `bundle-tool rules` lists them all");
        }
        let selection = Selection { suites: self.suites(), allowed: self.allow.clone() };
        // Each bundle is read, judged and dropped by itself, so that memory does not grow with their number.
        let network = OnceLock::new();
        let answers: Vec<_> = self
            .bundles
            .par_iter()
            .map(|reference| {
                let bundle = match Location::of_image(reference)? {
                    None => read::bundle::folder(Path::new(reference))?,
                    Some(location) => read_image(reference, &location, &self.registries, &network)?,
                };
                Ok(rules::validate(&bundle, &selection))
            })
            .collect::<Vec<Result<BundleReport>>>();
        let mut exit = Exit::Success;
        let mut judged = Vec::new();
        for answer in answers {
            match answer {
                Ok(answer) => judged.push(answer),
                Err(error) => {
                    exit = Exit::Failure;
                    writeln!(io::stderr(), "error: {error:#}")?;
                }
            }
        }
        let mut out = io::BufWriter::new(io::stdout().lock());
        match self.output {
            Output::Text => report::text(&judged, &mut out)?,
            Output::Json => report::json(&judged, &mut out)?,
        }
        out.flush()?;
        let failed = judged.iter().any(|bundle| !bundle.passed());
        Ok(if exit == Exit::Success && failed { Exit::Findings } else { exit })
    }

    fn suites(&self) -> Vec<Suite> {
        let named = self.suite.iter().flat_map(|name| match name {
            SuiteName::All => Suite::value_variants().to_vec(),
            SuiteName::One(suite) => vec![*suite],
        });
        named.collect()
    }
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
