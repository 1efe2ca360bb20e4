//! `bundle-tool scorecard`: operator-sdk's stock tests, without a cluster.

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::{Args, ValueEnum};

use super::bundles;
use super::exit::Exit;
use super::format::{Formats, OutputOption};
use super::images::Registries;
use super::runtime::SharedRuntime;
use crate::model::Bundle;
use crate::read;
use crate::scorecard::{self, Config, Selector, State, Test, TestResult, TestSpec};

/// Run the stock tests of operator-sdk's scorecard on a bundle, without a cluster
///
/// Reads the configuration in tests/scorecard/config.yaml of the bundle, with the stages, labels and output formats of
/// operator-sdk. A bundle without a configuration is tested with all six stock tests. Tests in other images end in state
/// `error`, because they require a cluster: deselect them with --selector. Exit status: 0 if all tests pass, 1 if one does
/// not, 2 if the bundle or the configuration cannot be read.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  # Run all tests of the bundle's configuration
  bundle-tool scorecard ./bundle

  # Run the tests of one suite, and print JSON
  bundle-tool scorecard ./bundle --selector suite=olm --output json

  # List the tests
  bundle-tool scorecard ./bundle --list")]
pub(super) struct Scorecard {
    /// Bundle: a directory, `oci:DIR`, `oci-archive:FILE` or an image
    #[arg(value_name = "REF")]
    reference: String,
    /// Configuration file [default: tests/scorecard/config.yaml in the bundle]
    #[arg(long, short, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Label selector of the tests to run, such as suite=olm
    #[arg(long, short = 'l', value_name = "SELECTOR", default_value = "", hide_default_value = true)]
    selector: Selector,
    /// List the selected tests without running them
    #[arg(long, short = 'L')]
    list: bool,
    #[command(flatten)]
    format: OutputOption<Output>,
    #[command(flatten)]
    registries: Registries,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Output {
    /// Human-readable text
    Text,
    /// A `TestList`
    Json,
    /// `JUnit` XML
    Xunit,
}

impl Formats for Output {
    const DEFAULT: &'static str = "text";
}

impl Scorecard {
    pub(super) fn run(self) -> Result<Exit> {
        let bundle = bundles::read(&self.reference, &self.registries, &SharedRuntime::default())?;
        let config = match &self.config {
            Some(path) => {
                let name = path.display().to_string();
                let documents = read::manifests::files(path, vec![path.clone()])?;
                let document = documents.first().with_context(|| format!("{name} is empty"))?;
                Config::parse(&name, document.tree.root().to_json())?
            }
            None => scorecard::config(&bundle)?.unwrap_or_else(Config::stock),
        };
        let tests: Vec<Test> = config
            .tests(&self.selector)
            .map(|spec| Test {
                results: if self.list { Vec::new() } else { vec![result(spec, &bundle)] },
                spec: spec.clone(),
            })
            .collect();
        let mut out = io::BufWriter::new(io::stdout().lock());
        match self.format.output {
            Output::Text => scorecard::text(&tests, &mut out)?,
            Output::Json => {
                serde_json::to_writer_pretty(&mut out, &scorecard::json(&tests))?;
                writeln!(out)?;
            }
            Output::Xunit => scorecard::xunit(&tests, &mut out)?,
        }
        out.flush()?;
        let passed = tests.iter().flat_map(|test| &test.results).all(|result| result.state == State::Pass);
        Ok(if passed { Exit::Success } else { Exit::Findings })
    }
}

/// Runs a test, if it is a stock one.
fn result(spec: &TestSpec, bundle: &Bundle) -> TestResult {
    let last = spec.image.rsplit('/').next().unwrap_or_default();
    let is_stock = last.split([':', '@']).next() == Some("scorecard-test");
    let name = spec.entrypoint.last().map_or("", String::as_str);
    let stock = if is_stock { scorecard::stock_test(name, bundle) } else { None };
    stock.unwrap_or_else(|| TestResult {
        name: name.to_owned(),
        log: String::new(),
        state: State::Error,
        errors: vec![if is_stock {
            format!("unknown stock test `{name}`: expected one of {}", scorecard::STOCK.join(", "))
        } else {
            format!("image `{}` is not one of the stock tests and requires a cluster", spec.image)
        }],
        suggestions: Vec::new(),
    })
}
